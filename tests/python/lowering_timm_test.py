"""What lower() makes of timm's transforms."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import timm
import torch
from lowered import ops, refusal
from stoker import transforms as own
from stoker.lowering import lower
from torchvision import transforms as v1  # type: ignore[import-untyped]

MEAN, STD = own.IMAGENET_MEAN, own.IMAGENET_STD
data: Any = importlib.import_module("timm.data")  # in part without types


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_timms_transform_of_every_model_is_lowered_or_names_the_border_mode(training: bool) -> None:
    lowered = bordered = 0
    for name in timm.list_pretrained():
        cfg: Any = timm.get_pretrained_cfg(name)
        config = data.resolve_data_config(pretrained_cfg=cfg.to_dict())
        transform = data.create_transform(**config, is_training=training)
        if config["crop_mode"] == "border" and not training:
            assert "ResizeKeepRatio: size=" in refusal(transform)
            bordered += 1
            continue
        result = lower(transform)
        height, width = config["input_size"][1:]
        assert result.dtype == "float32"
        assert isinstance(result.ops[-1], own.Normalize)
        assert result.ops[-1].mean == pytest.approx(config["mean"])
        cropped = result.ops[0 if training else 1]
        assert isinstance(cropped, own.RandomResizedCrop if training else own.CenterCrop)
        assert cropped.size == (height if height == width else (height, width))
        lowered += 1
    assert lowered > 1000
    assert training or bordered > 0


def test_timms_default_training_transform() -> None:
    jitter = (0.6, 1.4)
    assert lower(data.create_transform(224, is_training=True, interpolation="random")).ops == (
        own.RandomResizedCrop(224, interpolation="random"), own.RandomHorizontalFlip(0.5),
        own.ColorJitter(jitter, jitter, jitter),
        own.Normalize(tuple(torch.tensor(MEAN).tolist()), tuple(torch.tensor(STD).tolist())))


def test_timms_transform_without_normalisation_gives_uint8() -> None:
    result = lower(data.create_transform(224, is_training=True, normalize=False, no_aug=True))
    assert result == own.Transform((own.Resize(224), own.CenterCrop(224)), "uint8")


@pytest.mark.parametrize(("arguments", "words"), [
    ({"auto_augment": "rand-m9-mstd0.5"}, "timm.data.auto_augment.RandAugment: is not lowered"),
    ({"re_prob": 0.25}, "timm.data.random_erasing.RandomErasing: is not lowered; run it on the batch"),
    ({"train_crop_mode": "rkrc"}, "ResizeKeepRatio"),
    ({"color_jitter_prob": 0.8}, "RandomApply: p=0.8 is not lowered"),
    ({"naflex": True}, "RandomResizedCropToSequence: is not lowered"),
    ({"separate": True}, "wrap it in torchvision.transforms.Compose"),
], ids=["auto_augment", "re_prob", "train_crop_mode", "color_jitter_prob", "naflex", "separate"])
def test_timms_arguments_that_are_refused(arguments: dict[str, Any], words: str) -> None:
    assert words in refusal(data.create_transform(224, is_training=True, **arguments))


def test_timms_single_transforms() -> None:
    t = data.transforms
    assert ops(t.RandomResizedCropAndInterpolation((9, 8), interpolation="bicubic")) == (
        own.RandomResizedCrop((9, 8), interpolation="bicubic"),)
    assert ops(t.CenterCropOrPad(8)) == (own.CenterCrop(8),)
    assert lower(t.MaybePILToTensor()).dtype == "uint8"
    assert lower(v1.Compose([t.MaybeToTensor(), t.MaybeToTensor()])).dtype == "float32"
    assert "fill=(1, 2, 3), padding_mode='constant' is not lowered" in refusal(t.CenterCropOrPad(8, fill=(1, 2, 3)))
    assert "padding_mode='reflect' is not lowered" in refusal(t.CenterCropOrPad(8, padding_mode="reflect"))
    assert "gives floats of 0 to 255" in refusal(t.ToTensor())
    assert "ToNumpy: is not lowered; end with ToTensor()" in refusal(t.ToNumpy())
