"""What lower() refuses: orders that the core does not run, and transforms that it does not know."""

from __future__ import annotations

import enum
import importlib
import subprocess
import sys
from typing import Any

import pytest
from lowered import ops, refusal
from stoker import _timm, _torchvision
from stoker import transforms as own
from stoker.lowering import public_name
from torch import nn
from torchvision import transforms as v1  # type: ignore[import-untyped]
from torchvision.transforms import v2  # type: ignore[import-untyped]

# What the core runs once, or in one order.


@pytest.mark.parametrize(("transforms", "words"), [
    ([v1.Resize(9), v1.RandomResizedCrop(8)], "RandomResizedCrop: resamples what was resampled before"),
    ([v1.Pad(1), v1.Resize(8)], "Resize: resamples what was padded before; put the padding behind it"),
    ([v1.RandomCrop(9, 1), v1.Resize(8)], "Resize: resamples what was padded before"),
    ([v1.Pad(1), v1.Pad(1, fill=1)], "Pad: padding_mode='constant', fill=(1, 1, 1) pads what was padded before"),
    ([v1.Pad(1), v1.RandomCrop(9, 1, padding_mode="edge")], "RandomCrop: padding_mode='edge'"),
    ([v1.RandomVerticalFlip(), v1.Resize(8, 0)], "Resize: interpolation='nearest' after a flip"),
    ([v1.ColorJitter(0.1), v1.RandomCrop(9)], "RandomCrop: comes after ColorJitter"),
    ([v1.ColorJitter(0.1), v1.RandomResizedCrop(9)], "RandomResizedCrop: comes after ColorJitter"),
    ([v1.ColorJitter(0.1), v1.ColorJitter(0.2)], "ColorJitter: comes twice"),
], ids=["two sizes", "pad first", "crop first", "two pads", "two modes", "flip first",
        "jitter first", "jitter before a size", "jitters"])
def test_orders_that_are_refused(transforms: list[Any], words: str) -> None:
    assert words in refusal(v1.Compose([*transforms, v1.ToTensor()]))


def test_zeros_may_pad_twice() -> None:
    assert ops(v1.Pad(1, fill=7), v1.Pad(1)) == (own.Pad((1,) * 4, (7,) * 3), own.Pad((1,) * 4))


# What is not lowered at all.


def test_no_transform_says_what_a_batch_needs() -> None:
    assert "transform=None gives PIL images" in refusal(None)
    assert "needs ToTensor() and one size" in refusal(None)


def test_a_picture_that_never_becomes_a_tensor_is_refused() -> None:
    assert refusal(v1.Compose([v1.CenterCrop(8)])) == (
        "torchvision.transforms.Compose: gives PIL images, which do not stack to a batch; add ToTensor()")


def test_a_list_of_torchvisions_is_refused() -> None:
    assert "wrap it in torchvision.transforms.Compose" in refusal([v1.ToTensor()])


@pytest.mark.parametrize(("transform", "words"), [
    (v1.Lambda(lambda image: image), "torchvision.transforms.Lambda: is not lowered; run it on the batch"),
    (v2.Lambda(lambda image: image), "torchvision.transforms.v2.Lambda: is not lowered; run it on the batch"),
    (lambda image: image, "the function <lambda>: is not lowered"),
    (v1.RandomErasing(), "torchvision.transforms.RandomErasing: is not lowered; run it on the batch"),
    (v2.RandomErasing(), "torchvision.transforms.v2.RandomErasing: is not lowered; run it on the batch"),
    (v2.MixUp(num_classes=3), "torchvision.transforms.v2.MixUp: is not lowered; run it on the batch"),
    (v1.ToPILImage(), "torchvision.transforms.ToPILImage: is not lowered; leave it out"),
    (v1.AutoAugment(), "AutoAugment: is not lowered; leave it out, or keep torch.utils.data.DataLoader"),
    (v2.RandAugment(), "torchvision.transforms.v2.RandAugment: is not lowered"),
    (v1.TrivialAugmentWide(), "TrivialAugmentWide: is not lowered"),
    (v2.AugMix(), "AugMix: is not lowered"),
    (v2.JPEG(50), "JPEG: is not lowered"),
    (v1.RandomAffine(10), "RandomAffine: is not lowered"),
    (v1.RandomRotation(10), "RandomRotation: is not lowered"),
    (v1.GaussianBlur(3), "GaussianBlur: is not lowered"),
    (v1.FiveCrop(8), "FiveCrop: is not lowered"),
    (v1.RandomChoice([v1.CenterCrop(8)]), "RandomChoice: is not lowered"),
    (v2.RandomOrder([v2.CenterCrop(8)]), "RandomOrder: is not lowered"),
    (nn.ReLU(), "ReLU: is not lowered"),
], ids=lambda value: getattr(type(value), "__name__", "") if not isinstance(value, str) else "")
def test_transforms_that_are_not_lowered(transform: Any, words: str) -> None:
    assert words in refusal(v1.Compose([transform, v1.ToTensor()]))


def test_the_names_that_are_lowered_are_those_of_real_classes() -> None:
    for name, handler in {**_torchvision.HANDLERS, **_timm.HANDLERS}.items():
        module, _, kind = name.rpartition(".")
        if kind == "ImageClassification":
            module += "._presets"
        found = getattr(importlib.import_module(module), kind)
        assert public_name(found) == name
        assert handler.__module__ in ("stoker._torchvision", "stoker._timm")


def test_every_other_transform_of_torchvision_is_refused_by_its_name() -> None:
    refused = 0
    for package in (v1, v2):
        for name, kind in vars(package).items():
            if isinstance(kind, type) and callable(kind) and not issubclass(kind, enum.Enum):
                if public_name(kind) in _torchvision.HANDLERS:
                    continue
                assert f".{name}: is not lowered; " in refusal(object.__new__(kind))
                refused += 1
    assert refused > 50


class MyResize(v1.Resize):  # type: ignore[misc]
    pass


class MyCompose(v2.Compose):  # type: ignore[misc]
    pass


@pytest.mark.parametrize("transform", [MyResize(8), MyCompose([v2.ToImage()])], ids=["Resize", "Compose"])
def test_a_subclass_may_do_anything_and_is_refused(transform: Any) -> None:
    base = type(transform).__mro__[1].__name__
    words = refusal(v1.Compose([transform, v1.ToTensor()]))
    assert type(transform).__name__ in words
    package = "torchvision.transforms" if base == "Resize" else "torchvision.transforms.v2"
    assert f"is a subclass of {package}.{base} and may do something else" in words
    assert f"use {base} itself" in words


def test_neither_torch_nor_torchvision_nor_timm_is_imported() -> None:
    program = ("import sys; from stoker import lowering, transforms; lowering.lower(transforms.train(8)); "
               "print([m for m in ('torch', 'torchvision', 'timm') if m in sys.modules])")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
