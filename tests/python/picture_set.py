"""Sets of pictures that Stoker and torchvision are compared on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
import torch
from numpy.typing import NDArray
from pictures import load, write_pictures
from PIL import Image

__all__ = ["Array", "PictureSet", "both_sets", "every_file", "generated"]

Array = NDArray[Any]

_PHOTOGRAPHS = 300
_folder = tempfile.TemporaryDirectory(prefix="stoker-pictures-")


class PictureSet:
    """Files, and the images that ImageFolder would make of them."""

    def __init__(self, find: Callable[[], list[Path]]) -> None:
        self._find = find

    @cached_property
    def paths(self) -> list[Path]:
        return self._find()

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """(height, width) of each."""
        return [(image.height, image.width) for image in self.images]

    @property
    def images(self) -> Iterator[Image.Image]:
        """Loaded one after the other: large photographs would not fit into memory together."""
        return map(load, self.paths)

    def ours(self, transform: Any, *, seed: int = 0, output: str = "numpy") -> Any:
        """The whole set as one batch."""
        dataset = stoker.FileDataset(self.paths, [0] * len(self.paths))
        loader = stoker.Loader(dataset, batch_size=32, transform=transform, shuffle=False, num_workers=2,
                               output=output, seed=seed)
        if output == "torch":
            return torch.cat([images.clone() for images, _ in loader])
        return np.concatenate([images.copy() for images, _ in loader])

    def theirs(self, transform: Any) -> Array:
        return torch.stack([torch.as_tensor(transform(image)) for image in self.images]).numpy()

    def plans(self, transform: stoker.Transform, seed: int) -> list[dict[str, Any]]:
        """What the loader draws for each sample of the first epoch."""
        return [stoker.plan(transform, size=size, seed=seed, epoch=0, position=position)
                for position, size in enumerate(self.sizes)]


def _find_photographs() -> list[Path]:
    folder = os.environ["STOKER_PHOTOS"]
    paths = sorted(Path(parent, name) for parent, _, names in os.walk(folder, followlinks=True) for name in names
                   if name.lower().endswith((".jpg", ".jpeg")))
    assert paths, f"no .jpg below STOKER_PHOTOS={folder}"
    return paths[::max(1, len(paths) // _PHOTOGRAPHS)][:_PHOTOGRAPHS]


every_file = PictureSet(lambda: write_pictures(Path(_folder.name)))
# Two modes are not decoded to Pillow's very pixels; they have tests of their own.
generated = PictureSet(lambda: [path for path in every_file.paths
                                if "-CMYK-" not in path.name and "-I16-" not in path.name])
_photographs = PictureSet(_find_photographs)

both_sets = pytest.mark.parametrize("pictures", [
    pytest.param(generated, id="generated"),
    pytest.param(_photographs, id="photographs", marks=pytest.mark.skipif(
        not os.environ.get("STOKER_PHOTOS"), reason="STOKER_PHOTOS names no folder of photographs")),
])
"""Runs a test on the generated pictures and on the photographs."""
