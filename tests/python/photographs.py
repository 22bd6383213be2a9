"""A small folder of pictures by class, and what the tests of loaders ask of both loaders."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from pictures import picture
from torch.utils.data import Dataset
from torchvision import transforms  # type: ignore[import-untyped]

SAMPLES = 26
CLASSES = ("ant", "bee", "cat")

FIXED = transforms.Compose([transforms.Resize((10, 12)), transforms.ToTensor()])
"""The same pixels each time."""
RANDOM = transforms.Compose([transforms.RandomResizedCrop(8), transforms.RandomHorizontalFlip(), transforms.ToTensor()])


def make_folder(root: Path, samples: int = SAMPLES) -> Path:
    """`samples` pictures, of differing sizes, in three classes; no two are alike."""
    for index in range(samples):
        folder = root / CLASSES[index * len(CLASSES) // samples]
        folder.mkdir(parents=True, exist_ok=True)
        picture("RGB", 24 + index % 5, 30 + index % 7, index).save(folder / f"{index:04}.jpg", quality=90)
    return root


class Indices(Dataset[int]):
    """What torch's loader makes of it are the ids in their order."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> int:
        return int(index)


def batches_of_ids(loader: Iterable[Any]) -> list[list[int]]:
    """The ids of each batch: of torch's loader over Indices, or of one with return_ids=True."""
    return [(batch if isinstance(batch, torch.Tensor) else batch[-1]).tolist() for batch in loader]


def ids(loader: Iterable[Any]) -> list[int]:
    """The ids of an epoch in order."""
    return [index for batch in batches_of_ids(loader) for index in batch]


def copies(batches: Iterable[Any]) -> Iterator[list[torch.Tensor]]:
    """The batches as tensors of their own."""
    for batch in batches:
        yield [field.clone() for field in batch]


def same_batches(first: Iterable[Any], second: Iterable[Any]) -> bool:
    """Whether two runs gave the same bytes, batch by batch."""
    first, second = list(first), list(second)
    return len(first) == len(second) and all(
        len(a) == len(b) and all(map(torch.equal, a, b)) for a, b in zip(first, second, strict=True))


def saved(state: dict[str, Any]) -> Any:
    """A state as it comes out of a checkpoint, read as torch reads one by default."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)
