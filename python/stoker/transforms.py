"""The transforms that Stoker runs itself, as plain values.

Each op has the name, the arguments and the meaning of the one in ``torchvision.transforms``. A :class:`Transform` is a
list of them and what they end in. Values are checked by the loader that gets them: its ``ValueError`` names the op, the
argument and what is allowed.

Sizes are pixels: an ``int`` (square, or for :class:`Resize` the shorter side) or ``(height, width)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "CenterCrop", "ColorJitter", "Grayscale", "IMAGENET_MEAN", "IMAGENET_STD", "Normalize", "Op", "Pad", "RandomCrop",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop", "RandomVerticalFlip", "Resize", "Size",
    "Transform", "eval", "train",
]

Size = int | tuple[int, int]
"""Pixels: one number, or ``(height, width)``."""

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class RandomResizedCrop:
    """A random part of the picture, resampled to ``size``.

    ``scale``: range of the part's area as a share of the picture's; ``ratio``: range of its width / height.
    ``interpolation``: "nearest", "bilinear", "bicubic", "box", "hamming" or "lanczos" (Pillow's filters, antialiased),
    or "random": bilinear or bicubic, drawn for each sample (timm's default).
    """

    size: Size
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: str = "bilinear"


@dataclass(frozen=True)
class Resize:
    """The whole picture, resampled: ``int``: the shorter side becomes ``size``, at most ``max_size`` for the longer
    one; ``(height, width)``: exactly that. Filters as in :class:`RandomResizedCrop`, without "random"."""

    size: Size
    max_size: int | None = None
    interpolation: str = "bilinear"


@dataclass(frozen=True)
class CenterCrop:
    """The middle of the picture; a smaller picture is padded with zeros on both sides."""

    size: Size


@dataclass(frozen=True)
class Pad:
    """``padding`` pixels (left, top, right, bottom) around the picture.

    ``padding_mode``: "constant" (``fill``, 0 to 255 for each channel), "edge", "reflect" or "symmetric".
    """

    padding: tuple[int, int, int, int]
    fill: tuple[int, int, int] = (0, 0, 0)
    padding_mode: str = "constant"


@dataclass(frozen=True)
class RandomCrop:
    """A random part of ``size``, after padding as in :class:`Pad`. A picture that is still smaller is an error, or
    with ``pad_if_needed`` is padded by what it lacks on both sides."""

    size: Size
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    pad_if_needed: bool = False
    fill: tuple[int, int, int] = (0, 0, 0)
    padding_mode: str = "constant"


@dataclass(frozen=True)
class RandomHorizontalFlip:
    """Left and right exchanged with probability ``p``."""

    p: float = 0.5


@dataclass(frozen=True)
class RandomVerticalFlip:
    """Top and bottom exchanged with probability ``p``."""

    p: float = 0.5


@dataclass(frozen=True)
class Grayscale:
    """Luma as Pillow's ``convert("L")``; with ``num_output_channels=3`` three equal channels."""

    num_output_channels: int = 1


@dataclass(frozen=True)
class RandomGrayscale:
    """Three equal channels of luma with probability ``p``."""

    p: float = 0.1


@dataclass(frozen=True)
class ColorJitter:
    """Factors drawn from ``(low, high)``; ``None`` leaves that property alone. In random order, as torchvision's.

    ``hue`` is a share of the colour circle, -0.5 to 0.5.
    """

    brightness: tuple[float, float] | None = None
    contrast: tuple[float, float] | None = None
    saturation: tuple[float, float] | None = None
    hue: tuple[float, float] | None = None


@dataclass(frozen=True)
class Normalize:
    """``(value / 255 - mean) / std`` for each channel. The last op, and only into floats."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


Op = (RandomResizedCrop | Resize | CenterCrop | Pad | RandomCrop | RandomHorizontalFlip | RandomVerticalFlip | Grayscale
      | RandomGrayscale | ColorJitter | Normalize)


@dataclass(frozen=True)
class Transform:
    """What becomes of every picture.

    ``dtype``: "uint8" (0 to 255), "float32", "float16" or "bfloat16" (0 to 1 before :class:`Normalize`).
    ``layout``: "nchw" or "nhwc".
    ``fixed_size``: ``(height, width)`` where the ops leave the size open because all pictures have one size.
    """

    ops: tuple[Op, ...] = ()
    dtype: str = "uint8"
    layout: str = "nchw"
    fixed_size: tuple[int, int] | None = None


def train(size: int, *, dtype: str = "float32", layout: str = "nchw", interpolation: str = "bilinear",
          mean: Sequence[float] = IMAGENET_MEAN, std: Sequence[float] = IMAGENET_STD) -> Transform:
    """torchvision's recipe for training: RandomResizedCrop, RandomHorizontalFlip and, for floats, Normalize."""
    return Transform((RandomResizedCrop(size, interpolation=interpolation), RandomHorizontalFlip(),
                      *_normalize(dtype, mean, std)), dtype, layout)


def eval(size: int, *, dtype: str = "float32", layout: str = "nchw", interpolation: str = "bilinear",  # noqa: A001
         mean: Sequence[float] = IMAGENET_MEAN, std: Sequence[float] = IMAGENET_STD) -> Transform:
    """torchvision's recipe for evaluation: Resize to size * 256 / 224, CenterCrop and, for floats, Normalize."""
    return Transform((Resize(round(size * 256 / 224), interpolation=interpolation), CenterCrop(size),
                      *_normalize(dtype, mean, std)), dtype, layout)


def _normalize(dtype: str, mean: Sequence[float], std: Sequence[float]) -> tuple[Op, ...]:
    return () if dtype == "uint8" else (Normalize(tuple(mean), tuple(std)),)
