"""Pictures for the tests, made with Pillow from a seed: every size, mode and format that a data set may hold.

The name of each file says what is in it: size, mode, how it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIZES = ((1, 1), (1, 40), (60, 1), (2, 3), (7, 5), (16, 16), (17, 33), (64, 64), (97, 333), (225, 223), (375, 500),
         (500, 333), (901, 1200))
"""(height, width): tiny, thin, even, odd, large."""

_SUBSAMPLINGS = {"444": 0, "422": 1, "420": 2}
_ORIENTATION = 0x0112  # EXIF's tag


def pixels(height: int, width: int, channels: int, seed: int) -> NDArray[np.uint8]:
    """Waves, hard edges and noise, so that every filter has something to do; (height, width, channels)."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    planes = []
    for _ in range(channels):
        fx, fy, phase = rng.uniform(0.01, 0.6, 3)
        wave = 127 + 100 * np.sin(x * fx + y * fy + phase * 10)
        edges = np.where((x // rng.integers(3, 29) + y // rng.integers(3, 29)) % 2, 40, -40)
        planes.append(wave + edges + rng.normal(0, 8, (height, width)))
    clipped: NDArray[np.uint8] = np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)
    return clipped


def picture(mode: str, height: int, width: int, seed: int) -> Image.Image:
    """In one of Pillow's modes."""
    if mode in ("P", "1"):
        image = Image.fromarray(pixels(height, width, 3, seed))
        return image.quantize(64) if mode == "P" else image.convert("1")
    if mode == "I;16":
        low, high = (pixels(height, width, 1, seed + i)[..., 0].astype(np.uint16) for i in range(2))
        return Image.fromarray(high * 256 + low)
    channels = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    array = pixels(height, width, channels, seed)
    if channels == 1:
        return Image.fromarray(array[..., 0])
    return Image.merge(mode, [Image.fromarray(np.ascontiguousarray(array[..., i])) for i in range(channels)])


def _kinds() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(mode, ending, how, what Image.save takes)."""
    for name, subsampling in _SUBSAMPLINGS.items():
        yield "RGB", "jpg", f"baseline-{name}", {"quality": 85, "subsampling": subsampling}
        yield "RGB", "jpg", f"progressive-{name}", {"quality": 93, "subsampling": subsampling, "progressive": True}
    yield "RGB", "jpg", "restarts", {"quality": 40, "restart_marker_rows": 1}
    yield "L", "jpg", "baseline", {"quality": 90}
    yield "L", "jpg", "progressive", {"quality": 60, "progressive": True}
    yield "CMYK", "jpg", "baseline", {"quality": 95}
    exif = Image.Exif()
    exif[_ORIENTATION] = 6
    yield "RGB", "jpg", "turned", {"quality": 90, "exif": exif}
    for mode in ("RGB", "L", "LA", "RGBA", "P", "1", "I;16"):
        yield mode, "png", "plain", {}
    yield "P", "png", "transparent", {"transparency": 3}
    yield "RGB", "webp", "lossy", {"quality": 80}
    yield "RGB", "webp", "lossless", {"lossless": True}
    yield "RGBA", "webp", "lossy", {"quality": 80}
    for mode in ("RGB", "L", "P", "1"):
        yield mode, "bmp", "plain", {}
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate"):
        yield "RGB", "tif", compression, {"compression": compression}
    yield "L", "tif", "raw", {}
    yield "RGBA", "tif", "raw", {}


def write_pictures(folder: Path, sizes: tuple[tuple[int, int], ...] = SIZES) -> list[Path]:
    """Every kind in one size at least, every size in a few kinds; the paths in a fixed order."""
    paths = []
    for seed, (mode, ending, how, options) in enumerate(_kinds()):
        # Two far apart in the list for each kind: all sizes come about equally often.
        for offset in (0, len(sizes) // 2):
            height, width = sizes[(seed + offset) % len(sizes)]
            path = folder / f"{height}x{width}-{mode.replace(';', '')}-{how}.{ending}"
            picture(mode, height, width, seed).save(path, **options)
            paths.append(path)
    return paths


def load(path: Path) -> Image.Image:
    """As ImageFolder's default loader does."""
    with path.open("rb") as file:
        return Image.open(file).convert("RGB")
