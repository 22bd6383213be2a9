"""The pixels are torchvision's: Stoker's batches against the transforms run on what Pillow loads.

On generated pictures of every size, mode and format, and on 300 photographs where STOKER_PHOTOS names a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
import torch
import torchvision  # type: ignore[import-untyped]
from picture_set import Array, PictureSet, both_sets, every_file, generated
from pictures import SIZES, load, pixels
from PIL import Image
from stoker.lowering import lower
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2  # type: ignore[import-untyped]
from torchvision.transforms import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:Palette images with Transparency")
IMAGENET = (stoker.transforms.IMAGENET_MEAN, stoker.transforms.IMAGENET_STD)
FILTERS = ["nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"]


def levels(transform: stoker.Transform, difference: Array) -> Array:
    """A difference of batches in steps of 1 of 255, before Normalize."""
    if transform.dtype == "uint8":
        return difference
    last = transform.ops[-1] if transform.ops else None
    std = np.array(last.std).reshape(-1, 1, 1) if isinstance(last, stoker.Normalize) else 1
    return difference * 255 * std


def compare(pictures: PictureSet, transform: Any) -> Array:
    lowered = lower(transform)
    ours, theirs = pictures.ours(lowered), pictures.theirs(transform)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    return levels(lowered, np.abs(ours.astype(np.float64) - theirs))


# Decoding.


def decoded(path: Path, size: tuple[int, int]) -> Array:
    dataset = stoker.FileDataset([path], [0])
    loader = stoker.Loader(dataset, batch_size=1, transform=stoker.Transform(fixed_size=size), shuffle=False,
                           num_workers=0, output="numpy")
    ((images, _),) = loader
    result: Array = images[0].transpose(1, 2, 0).copy()
    return result


@both_sets
def test_decoded_pixels_are_pillows(pictures: PictureSet) -> None:
    for path, size, image in zip(pictures.paths, pictures.sizes, pictures.images, strict=True):
        assert (decoded(path, size) == np.asarray(image)).all(), path.name


def test_four_inks_are_within_2_of_pillows() -> None:
    for path in [path for path in every_file.paths if "-CMYK-" in path.name]:
        expected = np.asarray(load(path)).astype(int)
        assert np.abs(decoded(path, expected.shape[:2]) - expected).max() <= 2, path.name


def test_of_gray_in_16_bits_the_high_byte_is_kept_where_pillow_cuts_at_255() -> None:
    for path in [path for path in every_file.paths if "-I16-" in path.name]:
        values = np.asarray(Image.open(path))
        assert (decoded(path, values.shape) == (values >> 8)[..., None]).all()
        assert (np.asarray(load(path)) == np.minimum(values, 255)[..., None]).all()


def test_the_generated_set_has_every_size_mode_and_format() -> None:
    names = [path.name.split("-") for path in every_file.paths]
    assert {path.suffix for path in every_file.paths} == {".jpg", ".png", ".webp", ".bmp", ".tif"}
    assert {mode for _, mode, *_ in names} == {"RGB", "L", "LA", "RGBA", "P", "1", "I16", "CMYK"}
    assert {size for size, *_ in names} == {f"{height}x{width}" for height, width in SIZES}


# Fixed parameters, on PIL images. Resampled pixels may differ by 1, and hardly do; all others are equal.

T = v1.Compose
NEVER_FITS = (900, 900)  # a scale: the crop is the largest in the middle


def both(name: str, *arguments: Any, **keywords: Any) -> Iterator[tuple[str, Any]]:
    for package, version in ((v1, "v1"), (v2, "v2")):
        yield version, getattr(package, name)(*arguments, **keywords)


def resampling() -> Iterator[Any]:
    for name in FILTERS:
        mode = InterpolationMode(name)
        yield pytest.param(T([v1.Resize((64, 80), mode), v1.PILToTensor()]), id=f"{name} to both sides")
        yield pytest.param(T([v1.Resize(60, mode), v1.CenterCrop(56), v1.PILToTensor()]), id=f"{name} to one side")
        crop = v1.RandomResizedCrop((40, 50), NEVER_FITS, interpolation=mode)
        yield pytest.param(T([crop, v1.ToTensor()]), id=f"{name} crop")
    nearest = v1.Resize((64, 80), InterpolationMode.NEAREST_EXACT)
    yield pytest.param(T([nearest, v1.PILToTensor()]), id="nearest-exact is nearest")
    yield pytest.param(T([v1.Resize((64, 80), antialias=False), v1.PILToTensor()]), id="antialias is always on")
    yield pytest.param(T([v1.Resize(90, max_size=100), v1.CenterCrop(110), v1.ToTensor()]), id="max_size")
    yield pytest.param(T([v1.RandomVerticalFlip(1), v1.RandomHorizontalFlip(1), v1.Resize((70, 30)), v1.ToTensor(),
                          v1.Normalize(*IMAGENET)]), id="flips before")
    yield pytest.param(T([v1.Grayscale(), v1.Resize((64, 80)), v1.ToTensor()]), id="gray before")
    yield pytest.param(T([v1.Resize((64, 80)), v1.Grayscale(3), v1.ToTensor()]), id="gray after")
    yield pytest.param(v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.ToImage(),
                                   v2.ToDtype(torch.float32, scale=True), v2.Normalize(*IMAGENET)]), id="v2 evaluation")
    for name in ("ResNet50", "ViT_B_16"):
        weights = torchvision.models.get_model_weights(name.lower())
        yield pytest.param(weights.DEFAULT.transforms(), id=f"preset of {name}")


@both_sets
@pytest.mark.filterwarnings("ignore:Anti-alias option")
@pytest.mark.parametrize("transform", list(resampling()))
def test_resampled_pil_images(pictures: PictureSet, transform: Any) -> None:
    if "max_size=100" in repr(transform):
        # Below one pixel there is no picture, here as there.
        wide = [path for path, size in zip(pictures.paths, pictures.sizes, strict=True) if max(size) < 50 * min(size)]
        pictures = PictureSet(lambda: wide)
    difference = compare(pictures, transform)
    assert difference.max() <= 1.001
    assert (difference > 0.001).mean() < 0.01


def keeping() -> Iterator[Any]:
    for version, crop in both("CenterCrop", (40, 51)):
        yield pytest.param(T([crop, v1.PILToTensor()]), id=f"{version} crop that pads")
    for version, flip in both("RandomHorizontalFlip", 1):
        yield pytest.param(T([v1.CenterCrop((40, 51)), flip, v1.RandomVerticalFlip(1), v1.ToTensor()]),
                           id=f"{version} flips")
    yield pytest.param(T([v1.CenterCrop(40), v1.ToTensor(), v1.Normalize(*IMAGENET)]), id="normalize")
    yield pytest.param(T([v1.CenterCrop(40), v1.ToTensor(), v1.Normalize(0.5, 0.25)]), id="normalize with one mean")
    for channels in (1, 3):
        for version, gray in both("Grayscale", channels):
            yield pytest.param(T([gray, v1.CenterCrop(50), v1.PILToTensor()]), id=f"{version} gray {channels}")
    yield pytest.param(T([v2.Grayscale(), v2.RGB(), v1.CenterCrop(50), v1.PILToTensor()]), id="v2 RGB of gray")
    yield pytest.param(T([v1.RandomGrayscale(1), v1.CenterCrop(50), v1.PILToTensor()]), id="random gray")


@both_sets
@pytest.mark.parametrize("transform", list(keeping()))
def test_pil_images_that_are_not_resampled_are_equal(pictures: PictureSet, transform: Any) -> None:
    assert compare(pictures, transform).max() == 0


SAME_SIZE = [v1.Resize(24, InterpolationMode.NEAREST), v1.CenterCrop(24)]  # nearest: pixels stay as they are


def padding() -> Iterator[Any]:
    for mode in ("constant", "edge", "reflect", "symmetric"):
        for version, pad in both("Pad", (3, 5, 0, 9), (1, 2, 3), mode):
            yield pytest.param([pad], id=f"{version} {mode}")
        for version, pad in both("Pad", (30, 50, 0, 90), 255, mode):
            yield pytest.param([pad], id=f"{version} {mode}, wider than the picture")
        for version, crop in both("RandomCrop", (28, 30), padding=(3, 2), fill=7, padding_mode=mode):
            yield pytest.param([crop], id=f"{version} {mode} of a crop")
        pad = v1.Pad((1, 2), 200, mode)
        yield pytest.param([pad, v1.Grayscale()], id=f"{mode}, then gray")
        yield pytest.param([pad, v1.ColorJitter(contrast=(0.5, 0.5))], id=f"{mode}, then contrast")
    yield pytest.param([v1.Grayscale(), v1.Pad(4, 99)], id="of one channel")
    yield pytest.param([v1.Pad(4, (9, 8, 7)), v1.Pad(2)], id="twice")


@both_sets
@pytest.mark.parametrize("transforms", list(padding()))
def test_padded_pil_images_are_equal(pictures: PictureSet, transforms: list[Any]) -> None:
    assert compare(pictures, T([*SAME_SIZE, *transforms, v1.PILToTensor()])).max() == 0


COLORS = [("brightness", 0.0), ("brightness", 0.4), ("brightness", 1.3), ("contrast", 0.0), ("contrast", 0.2),
          ("contrast", 1.7), ("saturation", 0.0), ("saturation", 0.6), ("saturation", 1.8), ("hue", -0.5),
          ("hue", 0.13), ("hue", 0.5)]


@both_sets
@pytest.mark.parametrize(("name", "factor"), COLORS)
def test_colours_of_pil_images_are_equal(pictures: PictureSet, name: str, factor: float) -> None:
    for package in (v1, v2):
        jitter = package.ColorJitter(**{name: (factor, factor)})
        assert compare(pictures, T([v1.CenterCrop(50), jitter, v1.PILToTensor()])).max() == 0
        assert compare(pictures, T([v1.CenterCrop(50), v1.Grayscale(), jitter, v1.PILToTensor()])).max() == 0


# Values.


@both_sets
def test_normalize_is_torchs_to_the_last_bit(pictures: PictureSet) -> None:
    crop = [v1.Resize(256), v1.CenterCrop(224)]
    plain = torch.from_numpy(pictures.ours(lower(T([*crop, v1.PILToTensor()]))))
    expected = F.normalize(plain.float().div(255), *IMAGENET).numpy()
    ours = pictures.ours(lower(T([*crop, v1.ToTensor(), v1.Normalize(*IMAGENET)])))
    assert (ours == expected).all()


@both_sets
def test_v2s_scaling_differs_in_the_last_bit_alone(pictures: PictureSet) -> None:
    scaled = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    assert compare(pictures, T([v1.CenterCrop(40), *scaled])).max() <= 255e-7
    normalized = T([v1.CenterCrop(40), *scaled, v2.Normalize(*IMAGENET)])
    np.testing.assert_allclose(pictures.ours(lower(normalized)), pictures.theirs(normalized), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_floats_are_rounded_once_at_the_end(dtype: torch.dtype) -> None:
    transform = v2.Compose([v2.CenterCrop(40), v2.ToImage(), v2.ToDtype(torch.float32, scale=True),
                            v2.Normalize(*IMAGENET), v2.ToDtype(dtype)])
    ours = generated.ours(transform, output="torch")
    single = generated.ours(lower(v1.Compose([v1.CenterCrop(40), v1.ToTensor(), v1.Normalize(*IMAGENET)])))
    assert ours.dtype == dtype
    assert (ours == torch.from_numpy(single).to(dtype)).all()


# Tensors.


def tensors() -> Iterator[Any]:
    scale = v2.ToDtype(torch.float32, scale=True)
    for version, resize in both("Resize", (64, 80), antialias=True):
        yield pytest.param(T([v1.PILToTensor(), resize]), id=f"{version} uint8")
        yield pytest.param(T([v1.ToTensor(), resize]), id=f"{version} float")
        yield pytest.param(T([v1.ToTensor(), v1.Normalize(*IMAGENET), resize]), id=f"{version} normalized")
    for version, resize in both("Resize", 60):
        yield pytest.param(T([v2.ToImage(), resize, v2.CenterCrop(56), scale]), id=f"{version} to the shorter side")
    for version, crop in both("RandomResizedCrop", (40, 50), NEVER_FITS):
        yield pytest.param(T([v2.ToImage(), crop, scale, v2.Normalize(*IMAGENET)]), id=f"{version} crop")
    fixed = [v1.Resize(24), v1.CenterCrop(24)]
    for mode in ("constant", "edge", "reflect", "symmetric"):
        for version, pad in both("Pad", (3, 5, 0, 9), 51, mode):
            yield pytest.param(T([v1.PILToTensor(), *fixed, pad]), id=f"{version} {mode} of uint8")
        for version, pad in both("Pad", (3, 5, 0, 9), 0.2, mode):
            yield pytest.param(T([v1.ToTensor(), *fixed, pad]), id=f"{version} {mode} of floats")
    yield pytest.param(T([v1.ToTensor(), *fixed, v2.Pad(2, [1 / 255, 0.2, 1])]), id="v2 one fill a channel")
    for mode in ("edge", "reflect", "symmetric"):
        normalized = [v1.ToTensor(), v1.Normalize(*IMAGENET)]
        yield pytest.param(T([*fixed, *normalized, v1.CenterCrop(20), v1.Pad(4, padding_mode=mode)]),
                           id=f"{mode} of normalized values")


@both_sets
@pytest.mark.parametrize("transform", list(tensors()))
def test_tensors(pictures: PictureSet, transform: Any) -> None:
    # torch's resampling of uint8 is 2 from Pillow's in a few of a million pixels.
    difference = compare(pictures, transform)
    assert difference.max() <= 2.001
    assert (difference > 1.002).mean() < 1e-5


def test_what_is_refused_on_tensors_is_not_close() -> None:
    image = Image.fromarray(pixels(200, 301, 3, 0))
    for name in ("nearest", "nearest-exact", "bicubic"):
        mode = InterpolationMode(name)
        expected = np.asarray(F.resize(image, [60, 61], mode)).astype(float)
        tensor = F.resize(F.to_tensor(image), [60, 61], mode, antialias=True).permute(1, 2, 0).numpy() * 255
        assert np.abs(tensor - expected).max() > 3, name
    aliased = F.resize(F.pil_to_tensor(image), [60, 61], antialias=False).permute(1, 2, 0).numpy().astype(float)
    assert np.abs(aliased - np.asarray(F.resize(image, [60, 61]))).max() > 3
