"""What lower() makes of torchvision's transforms on PIL images, of whole recipes and of its weights' presets."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torchvision  # type: ignore[import-untyped]
from lowered import both_versions, ops, refusal
from PIL import Image
from stoker import transforms as own
from stoker.lowering import lower
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2  # type: ignore[import-untyped]

MEAN, STD = own.IMAGENET_MEAN, own.IMAGENET_STD


# Whole recipes.


def test_the_classic_training_recipe_is_our_own_recipe() -> None:
    classic = v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)])
    assert lower(classic) == own.train(224)


def test_the_classic_evaluation_recipe_is_our_own_recipe() -> None:
    classic = v1.Compose([v1.Resize(256), v1.CenterCrop(224), v1.ToTensor(), v1.Normalize(MEAN, STD)])
    assert lower(classic) == own.eval(224)


def test_v2s_recipe_on_tensors_is_the_same() -> None:
    recipe = v2.Compose([v2.ToImage(), v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                         v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD), v2.ToPureTensor()])
    assert lower(recipe) == own.train(224)


def test_our_own_transform_passes() -> None:
    assert lower(own.train(64)) == own.train(64)


def test_our_own_ops_are_floats_where_they_end_in_normalize() -> None:
    normalize = own.Normalize(MEAN, STD)
    assert lower([own.CenterCrop(8), normalize]) == own.Transform((own.CenterCrop(8), normalize), "float32")
    assert lower((own.CenterCrop(8),)) == own.Transform((own.CenterCrop(8),), "uint8")
    assert lower(own.CenterCrop(8)) == own.Transform((own.CenterCrop(8),), "uint8")


def test_containers_of_every_kind_are_walked() -> None:
    nested = v1.Compose([nn.Sequential(v1.Resize((9, 8)), v2.Compose([v2.CenterCrop(8), nn.Identity()])),
                         v2.Identity(), v1.ToTensor()])
    assert lower(nested) == own.Transform((own.Resize((9, 8)), own.CenterCrop(8)), "float32")


@both_versions
def test_random_apply_that_is_certain_is_no_longer_random(T: Any) -> None:
    flip = T.RandomHorizontalFlip(0.5)
    assert ops(T.RandomApply([flip], p=1)) == (own.RandomHorizontalFlip(0.5),)
    assert ops(T.RandomApply([flip], p=0)) == ()
    assert ops(T.RandomApply(nn.ModuleList([flip]), p=1.0)) == (own.RandomHorizontalFlip(0.5),)
    assert "RandomApply: p=0.8 is not lowered" in refusal(T.RandomApply([flip], p=0.8))


def test_torchvisions_presets_are_lowered_for_classification_and_refused_for_other_tasks() -> None:
    lowered = refused = 0
    for name in torchvision.models.list_models():  # the quantized ones among them
        for weights in torchvision.models.get_model_weights(name):
            preset = weights.transforms()
            if type(preset).__name__ != "ImageClassification":
                assert f"torchvision.transforms.{type(preset).__name__}: is not lowered" in refusal(preset)
                refused += 1
                continue
            resize = own.Resize(preset.resize_size[0], interpolation=preset.interpolation.value)
            normalize = own.Normalize(tuple(preset.mean), tuple(preset.std))
            assert lower(preset) == own.Transform((resize, own.CenterCrop(preset.crop_size[0]), normalize), "float32")
            lowered += 1
    assert lowered > 100
    assert refused > 20


def test_every_model_for_classification_has_a_preset_that_is_lowered() -> None:
    for name in torchvision.models.list_models(module=torchvision.models):
        assert all(lower(weights.transforms()).ops for weights in torchvision.models.get_model_weights(name)), name


def test_a_preset_on_tensors_keeps_torchvisions_rules() -> None:
    bilinear = torchvision.models.ResNet50_Weights.IMAGENET1K_V1.transforms
    assert lower(v2.Compose([v2.ToImage(), bilinear()])) == lower(bilinear())
    assert "ImageClassification: antialias=False" in refusal(v2.Compose([v2.ToImage(), bilinear(antialias=False)]))
    bicubic = torchvision.models.ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1.transforms()
    assert "ImageClassification: interpolation='bicubic'" in refusal(v2.Compose([v2.ToImage(), bicubic]))


# Single transforms on PIL images.


@both_versions
def test_sizes(T: Any) -> None:
    assert ops(T.Resize(9)) == (own.Resize(9),)
    assert ops(T.Resize([9])) == (own.Resize(9),)
    assert ops(T.Resize((9, 9))) == (own.Resize((9, 9)),)
    assert ops(T.Resize([9, 8])) == (own.Resize((9, 8)),)
    assert ops(T.Resize(9, max_size=20)) == (own.Resize(9, max_size=20),)
    assert ops(T.CenterCrop([7])) == (own.CenterCrop(7),)
    assert ops(T.CenterCrop((9, 8))) == (own.CenterCrop((9, 8)),)
    assert ops(T.RandomCrop(9)) == (own.RandomCrop(9),)
    assert ops(T.RandomResizedCrop((9, 8))) == (own.RandomResizedCrop((9, 8)),)


@both_versions
def test_every_filter_is_pillows(T: Any) -> None:
    names = ["nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"]
    for name in names:
        for form in (InterpolationMode(name), Image.Resampling[name.upper()], int(Image.Resampling[name.upper()])):
            assert ops(T.Resize(9, interpolation=form)) == (own.Resize(9, interpolation=name),)
            assert ops(T.RandomResizedCrop(9, interpolation=form)) == (own.RandomResizedCrop(9, interpolation=name),)
    assert ops(T.Resize(9, interpolation=InterpolationMode.NEAREST_EXACT)) == (own.Resize(9, interpolation="nearest"),)


def test_v2s_filters_may_be_names() -> None:
    assert ops(v2.Resize(9, interpolation="lanczos")) == (own.Resize(9, interpolation="lanczos"),)
    assert ops(v2.Resize(9, interpolation="nearest-exact")) == (own.Resize(9, interpolation="nearest"),)


@both_versions
@pytest.mark.parametrize("antialias", [True, False, None])
def test_antialias_means_nothing_on_pil_images(T: Any, antialias: bool | None) -> None:
    assert ops(T.Resize(9, antialias=antialias)) == (own.Resize(9),)
    assert ops(T.RandomResizedCrop(9, antialias=antialias)) == (own.RandomResizedCrop(9),)


@both_versions
def test_random_resized_crops_ranges(T: Any) -> None:
    assert ops(T.RandomResizedCrop(9, scale=(0.2, 0.9), ratio=[0.5, 2.0])) == (
        own.RandomResizedCrop(9, (0.2, 0.9), (0.5, 2.0)),)


@both_versions
def test_flips(T: Any) -> None:
    assert ops(T.RandomHorizontalFlip(0.25), T.RandomVerticalFlip(1)) == (
        own.RandomHorizontalFlip(0.25), own.RandomVerticalFlip(1))


@both_versions
@pytest.mark.parametrize(("padding", "sides"), [
    (3, (3, 3, 3, 3)), ([3], (3, 3, 3, 3)), ((3, 4), (3, 4, 3, 4)), ((1, 2, 3, 4), (1, 2, 3, 4))])
def test_padding_is_left_top_right_bottom(T: Any, padding: Any, sides: tuple[int, int, int, int]) -> None:
    assert ops(T.Pad(padding)) == (own.Pad(sides),)
    if padding != [3] or T is v2:
        assert ops(T.RandomCrop(9, padding)) == (own.RandomCrop(9, sides),)


@both_versions
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_padding_modes(T: Any, mode: str) -> None:
    assert ops(T.Pad(3, 7, mode)) == (own.Pad((3,) * 4, (7,) * 3 if mode == "constant" else (0,) * 3, mode),)
    assert ops(T.RandomCrop(9, pad_if_needed=True, padding_mode=mode)) == (
        own.RandomCrop(9, pad_if_needed=True, padding_mode=mode),)


@both_versions
def test_fill_is_one_number_or_one_for_each_channel(T: Any) -> None:
    assert ops(T.Pad(1, fill=(1, 2, 3))) == (own.Pad((1,) * 4, (1, 2, 3)),)
    assert ops(T.Pad(1, fill=[9])) == (own.Pad((1,) * 4, (9, 9, 9)),)
    assert ops(T.Grayscale(), T.Pad(1, fill=9)) == (own.Grayscale(), own.Pad((1,) * 4, (9, 9, 9)))
    assert "Pad: fill=[1.0, 2.0] for 3 channels" in refusal(T.Pad(1, fill=[1, 2]))
    assert "Pad: fill=[127.5] is not a pixel of 0 to 255" in refusal(T.Pad(1, fill=127.5))
    assert "Pad: fill=[256.0] is not a pixel of 0 to 255" in refusal(T.Pad(1, fill=256))


def test_v2s_fill_may_be_none_but_no_dictionary() -> None:
    assert ops(v2.Pad(1, fill=None)) == (own.Pad((1,) * 4),)
    assert "torchvision.transforms.v2.Pad: fill={" in refusal(v2.Pad(1, fill={"others": 3}))


@both_versions
def test_padding_by_nothing_is_nothing(T: Any) -> None:
    assert ops(T.Pad(0, fill=300)) == ()
    assert ops(T.RandomCrop(9, fill=300)) == (own.RandomCrop(9),)


@both_versions
def test_negative_padding_is_refused(T: Any) -> None:
    assert "Pad: padding=-2 crops; use a crop for negative sides" in refusal(T.Pad(-2))


def test_v2s_single_mirror_of_both_paddings_is_refused() -> None:
    crop = {"padding": 2, "pad_if_needed": True, "padding_mode": "reflect"}
    assert "v2.RandomCrop: padding with pad_if_needed" in refusal(v2.RandomCrop(9, **crop))
    assert ops(v1.RandomCrop(9, **crop)) == (own.RandomCrop(9, (2,) * 4, True, padding_mode="reflect"),)
    assert ops(v2.RandomCrop(9, **{**crop, "padding_mode": "edge"})) == (
        own.RandomCrop(9, (2,) * 4, True, padding_mode="edge"),)


@both_versions
def test_colours(T: Any) -> None:
    assert ops(T.Grayscale()) == (own.Grayscale(1),)
    assert ops(T.Grayscale(3)) == (own.Grayscale(3),)
    assert ops(T.RandomGrayscale(0.3)) == (own.RandomGrayscale(0.3),)
    assert ops(T.ColorJitter(0.4, (0.5, 2), 0, 0.1)) == (own.ColorJitter((0.6, 1.4), (0.5, 2.0), None, (-0.1, 0.1)),)
    assert ops(T.ColorJitter()) == ()


def test_rgb_makes_three_channels_of_one() -> None:
    assert ops(v2.RGB()) == ()
    assert ops(v2.Grayscale(), v2.RGB()) == (own.Grayscale(1), own.Grayscale(3))


def test_size_none_is_refused() -> None:
    assert "torchvision.transforms.v2.Resize: size=None is not lowered" in refusal(v2.Resize(None, max_size=9))


@both_versions
def test_max_size_with_both_sides_is_refused(T: Any) -> None:
    assert "Resize: max_size=20 with size=" in refusal(T.Resize((9, 8), max_size=20))
