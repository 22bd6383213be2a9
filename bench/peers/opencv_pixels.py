"""A JPEG file to normalised planes by OpenCV, for loaders that leave decoding to their users."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from crop_box import Dice, center_box, random_box
from numpy.typing import NDArray
from rival import MEAN, SIZE, STD

__all__ = ["PROMISE", "center_crop", "random_crop"]

PROMISE = "whole decode by OpenCV, INTER_AREA where the crop shrinks, else INTER_LINEAR"

cv2.setNumThreads(0)  # the workers are the parallelism

# A table of 256 floats a channel, in OpenCV's order, is the quickest way from bytes to normalised floats.
_TABLES = [np.float32((np.arange(256) / 255 - mean) / std) for mean, std in zip(MEAN[::-1], STD[::-1])]


def random_crop(path: str, dice: Dice, planes: NDArray[np.float32]) -> None:
    """Fills `planes`, (3, SIZE, SIZE)."""
    pixels = _decoded(path)
    left, top, width, height = random_box(pixels.shape[1], pixels.shape[0], dice)
    pixels = _resized(pixels[top:top + height, left:left + width], SIZE, SIZE)
    _normalise(cv2.flip(pixels, 1) if dice.uniform(0, 1) < 0.5 else pixels, planes)


def center_crop(path: str, planes: NDArray[np.float32]) -> None:
    """The same of the middle of the picture, its short side RESIZED."""
    pixels = _decoded(path)
    width, height, left, top = center_box(pixels.shape[1], pixels.shape[0])
    _normalise(_resized(pixels, width, height)[top:top + SIZE, left:left + SIZE], planes)


def _decoded(path: str) -> Any:
    pixels = cv2.imread(path, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if pixels is None:
        raise ValueError(f"{path}: OpenCV cannot decode it")
    return pixels


def _resized(pixels: Any, width: int, height: int) -> Any:
    shrinks = pixels.shape[0] > height and pixels.shape[1] > width
    return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)


def _normalise(pixels: Any, planes: NDArray[np.float32]) -> None:
    for table, plane, target in zip(_TABLES, cv2.split(pixels), planes[::-1]):
        cv2.LUT(plane, table, target)
