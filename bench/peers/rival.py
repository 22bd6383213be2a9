"""What a loader in this comparison is: one file here with the names below, and one line in RIVALS.

The job of all: JPEG files -> RandomResizedCrop(224), RandomHorizontalFlip, Normalize with ImageNet's values -> float32
batches (N, 3, 224, 224), contiguous, in host memory, shuffled, the last short batch dropped.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

__all__ = ["Batch", "MEAN", "RESIZED", "RIVALS", "SIZE", "STD", "Rival", "load"]

RIVALS = {"stoker": "stoker_loader", "torchvision-io": "torchvision_io", "torch-pil": "torch_pil"}
"""The name on the command line -> the module."""

SIZE = 224
RESIZED = 256
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)

Batch = Sequence[Any]
"""Images and labels."""


class Rival(Protocol):
    """A module. It imports its library at the top, so that the import is no part of the first batch's time."""

    VERSIONS: str
    """Its libraries and their versions."""

    PROMISE: str
    """How it decodes and resamples: what the parity line is to be read with."""

    def make(self, files: list[str], labels: list[int], batch_size: int, workers: int) -> Iterable[Batch]:
        """The loader for the job above. Each iter() is an epoch."""

    def fixed(self, files: list[str], labels: list[int], batch_size: int, workers: int) -> Iterable[Batch]:
        """The same pipeline without dice, in the files' order: Resize(256), CenterCrop(224), Normalize."""


def load(name: str) -> Rival:
    """Raises ImportError where the rival's library is not installed."""
    return cast(Rival, importlib.import_module(RIVALS[name]))
