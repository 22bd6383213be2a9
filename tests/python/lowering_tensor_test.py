"""What lower() makes of torchvision's changes of type and value, and of transforms behind them, on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from lowered import both_versions, float_ops, refusal, tensor_ops
from stoker import transforms as own
from stoker.lowering import lower
from torchvision import transforms as v1  # type: ignore[import-untyped]
from torchvision.transforms import InterpolationMode, v2  # type: ignore[import-untyped]

MEAN, STD = own.IMAGENET_MEAN, own.IMAGENET_STD
MAKE_TENSOR = [v1.PILToTensor, v1.ToTensor, v2.PILToTensor, v2.ToImage]


@pytest.mark.parametrize("make", [v1.PILToTensor, v2.PILToTensor, v2.ToImage])
def test_a_tensor_of_the_image_is_uint8(make: Callable[[], Any]) -> None:
    assert lower(make()) == own.Transform((), "uint8")


@both_versions
@pytest.mark.filterwarnings("ignore:The transform `ToTensor")
def test_to_tensor_makes_the_default_float(T: Any) -> None:
    assert lower(T.ToTensor()) == own.Transform((), "float32")
    torch.set_default_dtype(torch.float16)
    try:
        assert lower(T.ToTensor()).dtype == "float16"
        torch.set_default_dtype(torch.float64)
        assert "ToTensor: dtype=torch.float64 from uint8 is not lowered" in refusal(T.ToTensor())
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.uint8])
def test_dtypes(dtype: torch.dtype) -> None:
    name = str(dtype).removeprefix("torch.")
    assert lower(v2.Compose([v2.ToImage(), v2.ToDtype(dtype, scale=True)])).dtype == name
    assert lower(v2.Compose([v2.ToImage(), v2.ConvertImageDtype(dtype)])).dtype == name
    assert lower(v1.Compose([v1.PILToTensor(), v1.ConvertImageDtype(dtype)])).dtype == name


def test_half_floats_after_normalize() -> None:
    result = lower(v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD),
                               v2.ToDtype(torch.float16)]))
    assert result == own.Transform((own.Normalize(MEAN, STD),), "float16")


@pytest.mark.parametrize(("dtypes", "words"), [
    ([v2.ToDtype(torch.float64, scale=True)], "ToDtype: dtype=torch.float64 from uint8"),
    ([v2.ToDtype(torch.int64)], "ToDtype: dtype=torch.int64 from uint8"),
    ([v2.ToDtype(torch.float32)], "ToDtype: scale=False leaves floats of 0 to 255; pass scale=True"),
    ([v2.ToDtype({torch.Tensor: torch.float32}, scale=True)], "ToDtype: dtype={"),
    ([v2.ConvertImageDtype(torch.float32), v2.ToDtype(torch.uint8, scale=True)], "dtype=torch.uint8 from float32"),
    ([v2.ConvertImageDtype(torch.float16), v2.ToDtype(torch.float32)], "values that were rounded to float16 before"),
], ids=["float64", "int64", "unscaled", "dict", "back", "widened"])
def test_dtypes_that_are_refused(dtypes: list[Any], words: str) -> None:
    assert words in refusal(v2.Compose([v2.PILToTensor(), *dtypes]))


def test_v2_lets_values_of_the_other_type_pass_and_v1_raises() -> None:
    assert lower(v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.ToImage()])).dtype == "uint8"
    assert lower(v2.Compose([v2.ToImage(), v2.PILToTensor()])).dtype == "uint8"
    assert "ConvertImageDtype: takes a tensor, and gets a PIL image" in refusal(v1.ConvertImageDtype(torch.float32))
    assert "ToTensor: takes a PIL image, and gets a tensor" in refusal(v1.Compose([v1.ToTensor(), v1.ToTensor()]))


@pytest.mark.parametrize("make", MAKE_TENSOR)
@both_versions
def test_resizing_a_tensor_is_bilinear_with_antialias_or_refused(T: Any, make: Callable[[], Any]) -> None:
    for resize, op in ((T.Resize, own.Resize), (T.RandomResizedCrop, own.RandomResizedCrop)):
        assert lower(v1.Compose([make(), resize(9)])).ops == (op(9),)
        name = resize.__name__
        for antialias in (False, None):
            words = refusal(v1.Compose([make(), resize(9, antialias=antialias)]))
            assert f"{name}: antialias={antialias} of a tensor is not lowered; pass antialias=True" in words
        for mode in ("nearest", "nearest-exact", "bicubic", "box", "hamming", "lanczos"):
            words = refusal(v1.Compose([make(), resize(9, interpolation=InterpolationMode(mode))]))
            assert f"{name}: interpolation='{mode.removesuffix('-exact')}' of a tensor follows other rules" in words
            assert "put it before ToTensor() or ToImage()" in words


@pytest.mark.parametrize("color", [v1.Grayscale(), v1.RandomGrayscale(), v1.ColorJitter(0.4), v2.Grayscale(),
                                   v2.RandomGrayscale(), v2.ColorJitter(hue=0.1)], ids=lambda c: type(c).__name__)
def test_colours_of_a_tensor_are_refused(color: Any) -> None:
    words = refusal(v1.Compose([v1.ToTensor(), color]))
    assert f"{type(color).__name__}: rounds otherwise on tensors" in words
    assert "put it before ToTensor()" in words


def test_fill_is_in_the_values_of_its_place() -> None:
    assert tensor_ops(v1.Pad(1, fill=51)) == (own.Pad((1,) * 4, (51,) * 3),)
    assert float_ops(v1.Pad(1, fill=0.2)) == (own.Pad((1,) * 4, (51,) * 3),)
    assert float_ops(v1.RandomCrop(9, 1, fill=1)) == (own.RandomCrop(9, (1,) * 4, fill=(255,) * 3),)
    assert "Pad: fill=[0.5] is not a pixel of 0 to 255" in refusal(v1.Compose([v1.ToTensor(), v1.Pad(1, fill=0.5)]))


def test_normalize_moves_behind_what_keeps_values() -> None:
    normalize = v1.Normalize(MEAN, STD)
    assert float_ops(normalize, v1.RandomCrop(9), v1.RandomHorizontalFlip(), v1.Pad(1, padding_mode="reflect")) == (
        own.RandomCrop(9), own.RandomHorizontalFlip(), own.Pad((1,) * 4, padding_mode="reflect"),
        own.Normalize(MEAN, STD))


def test_padding_with_a_value_after_normalize_is_refused() -> None:
    normalized = [v1.ToTensor(), v1.Normalize(MEAN, STD)]
    for pads in (v1.Pad(1), v1.RandomCrop(9, padding=1), v1.RandomCrop(9, pad_if_needed=True), v2.Pad(1, fill=0.5)):
        assert "comes after Normalize; put it before Normalize" in refusal(v1.Compose([*normalized, pads]))


def test_a_center_crop_after_normalize_must_surely_fit() -> None:
    normalized = [v1.ToTensor(), v1.Normalize(MEAN, STD), v1.CenterCrop(8)]
    crops = (own.CenterCrop(8), own.Normalize(MEAN, STD))
    assert lower(v1.Compose([v1.Resize(8), *normalized])).ops == (own.Resize(8), *crops)
    assert lower(v1.Compose([v1.Resize((8, 9)), *normalized])).ops == (own.Resize((8, 9)), *crops)
    assert lower(v1.Compose([v1.Pad(4), *normalized])).ops == (own.Pad((4,) * 4), *crops)
    for before in ([], [v1.Resize(7)], [v1.Resize((7, 9))], [v1.Resize(8, max_size=9)], [v1.Pad(3)]):
        assert "CenterCrop: pads smaller pictures with zeros" in refusal(v1.Compose([*before, *normalized]))


@pytest.mark.parametrize("form", [list, tuple, torch.tensor], ids=["list", "tuple", "tensor"])
def test_means_of_every_form(form: Callable[[list[float]], Any]) -> None:
    (normalize,) = float_ops(v1.Normalize(form([0.5, 0.25, 0.75]), form([0.5, 0.5, 2.0]), inplace=True))
    assert normalize == own.Normalize((0.5, 0.25, 0.75), (0.5, 0.5, 2.0))


def test_one_mean_is_for_all_channels() -> None:
    assert float_ops(v1.Normalize([0.5], [0.25])) == (own.Normalize((0.5,) * 3, (0.25,) * 3),)
    gray = v1.Compose([v1.Grayscale(), v1.ToTensor(), v1.Normalize(0.5, 0.25)])
    assert lower(gray).ops == (own.Grayscale(), own.Normalize((0.5,), (0.25,)))


@pytest.mark.parametrize(("transforms", "words"), [
    ([v1.PILToTensor(), v1.Normalize(MEAN, STD)], "Normalize: takes floats"),
    ([v1.Normalize(MEAN, STD)], "Normalize: takes floats"),
    ([v1.ToTensor(), v1.Normalize([0], [1]), v1.Normalize([0], [1])], "Normalize: comes twice"),
    ([v1.Grayscale(), v1.ToTensor(), v1.Normalize(MEAN, STD)], "for 1 channels"),
    ([v1.ToTensor(), v1.Normalize([0, 0], [1, 1])], "for 3 channels"),
], ids=["uint8", "pil", "twice", "gray", "two"])
def test_normalize_that_is_refused(transforms: list[Any], words: str) -> None:
    assert words in refusal(v1.Compose(transforms))
