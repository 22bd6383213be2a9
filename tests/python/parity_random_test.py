"""Random transforms make torchvision's pixels: its functions, given what Stoker drew, against Stoker's batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stoker
from picture_set import Array, PictureSet, both_sets
from PIL import Image
from torchvision.transforms import InterpolationMode  # type: ignore[import-untyped]
from torchvision.transforms import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:Palette images with Transparency")
FILTERS = ["nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"]


def flipped(image: Image.Image, drawn: dict[str, Any]) -> Image.Image:
    image = F.hflip(image) if drawn["flip_horizontal"] else image
    image = F.vflip(image) if drawn["flip_vertical"] else image
    return image


def resized_crop(image: Image.Image, drawn: dict[str, Any]) -> Image.Image:
    interpolation = InterpolationMode(drawn["interpolation"])
    resized: Image.Image = F.resized_crop(image, *drawn["crop"], drawn["resized"], interpolation)
    return resized


def colored(image: Image.Image, drawn: dict[str, Any]) -> Image.Image:
    image = image if drawn["gray"] == "never" else F.to_grayscale(image, 3)
    for name, factor in drawn["color"]:
        image = getattr(F, f"adjust_{name}")(image, factor)
    image = F.to_grayscale(image, 3) if drawn["gray_after_color"] else image
    return image


def batch(images: list[Image.Image]) -> Array:
    planar: Array = np.stack([np.asarray(image) for image in images]).transpose(0, 3, 1, 2)
    return planar


@both_sets
@pytest.mark.parametrize("interpolation", [*FILTERS, "random"])
def test_random_resized_crops_and_flips(pictures: PictureSet, interpolation: str) -> None:
    transform = stoker.Transform((stoker.RandomResizedCrop((40, 50), interpolation=interpolation),
                                  stoker.RandomHorizontalFlip(), stoker.RandomVerticalFlip(0.3)))
    plans = pictures.plans(transform, seed=7)
    expected = batch([flipped(resized_crop(image, drawn), drawn)
                      for image, drawn in zip(pictures.images, plans, strict=True)])
    difference = np.abs(pictures.ours(transform, seed=7).astype(int) - expected)
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.01
    for flip in ("flip_horizontal", "flip_vertical"):
        assert {drawn[flip] for drawn in plans} == {False, True}
    assert {drawn["interpolation"] for drawn in plans} == (
        {"bilinear", "bicubic"} if interpolation == "random" else {interpolation})


@both_sets
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("flip_first", [False, True], ids=["crop first", "flip first"])
def test_random_crops_with_padding(pictures: PictureSet, mode: str, flip_first: bool) -> None:
    left, top, right, bottom = sides = (3, 4, 5, 6)
    fill = (10, 20, 30) if mode == "constant" else (0, 0, 0)
    crop = stoker.RandomCrop((20, 22), sides, fill=fill, padding_mode=mode)
    size = (stoker.Resize(24, interpolation="nearest"), stoker.CenterCrop(24))
    flip = stoker.RandomHorizontalFlip()
    transform = stoker.Transform((*size, flip, crop) if flip_first else (*size, crop, flip))
    expected, places = [], set()
    for image, drawn in zip(pictures.images, pictures.plans(transform, seed=3), strict=True):
        resized = F.resize(image, drawn["resized"], InterpolationMode.NEAREST)
        image = F.center_crop(resized, [24, 24])
        corner = [round((side - 24) / 2) for side in (resized.height, resized.width)]
        y, x = (drawn["window"][i] - corner[i] for i in range(2))
        if flip_first and drawn["flip_horizontal"]:
            # The plan flips last: its window is the mirrored one.
            image, x = F.hflip(image), 24 - x - 22
        places.add((y, x))
        image = F.crop(F.pad(image, sides, fill, mode), y + top, x + left, 20, 22)
        expected.append(image if flip_first else flipped(image, drawn))
    assert {y for y, _ in places} == set(range(-top, 24 + bottom - 20 + 1))
    assert {x for _, x in places} == set(range(-left, 24 + right - 22 + 1))
    assert (pictures.ours(transform, seed=3) == batch(expected)).all()


JITTER = stoker.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1))


@both_sets
@pytest.mark.parametrize("gray_first", [False, True], ids=["jitter first", "gray first"])
def test_random_colours(pictures: PictureSet, gray_first: bool) -> None:
    gray = stoker.RandomGrayscale(0.3)
    crop = stoker.CenterCrop(50)
    transform = stoker.Transform((crop, gray, JITTER) if gray_first else (crop, JITTER, gray))
    plans = pictures.plans(transform, seed=5)
    expected = batch([colored(F.center_crop(image, [50, 50]), drawn)
                      for image, drawn in zip(pictures.images, plans, strict=True)])
    assert (pictures.ours(transform, seed=5) == expected).all()
    assert {drawn["gray"] != "never" for drawn in plans} == ({False, True} if gray_first else {False})
    assert {drawn["gray_after_color"] for drawn in plans} == ({False} if gray_first else {False, True})
    assert len({tuple(name for name, _ in drawn["color"]) for drawn in plans}) > 12


@both_sets
def test_a_whole_training_recipe_with_colours(pictures: PictureSet) -> None:
    transform = stoker.Transform((stoker.RandomResizedCrop(64), stoker.RandomHorizontalFlip(), JITTER,
                                  stoker.RandomGrayscale(0.2)))
    plans = pictures.plans(transform, seed=9)
    expected = batch([colored(flipped(resized_crop(image, drawn), drawn), drawn)
                      for image, drawn in zip(pictures.images, plans, strict=True)])
    difference = np.abs(pictures.ours(transform, seed=9).astype(int) - expected)
    # A resampled pixel that is 1 off may be moved farther apart by the factors.
    assert difference.max() <= 8
    assert (difference > 0).mean() < 0.01
