"""Picture files as a torch Dataset, for the rivals that differ only in how they load one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import Dataset

__all__ = ["Pictures"]


class Pictures(Dataset[tuple[Any, int]]):
    """load: a path -> what `transform` takes."""

    def __init__(self, files: list[str], labels: list[int], load: Callable[[str], Any],
                 transform: Callable[[Any], Any]) -> None:
        self.files = files
        self.labels = labels
        self.load = load
        self.transform = transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.transform(self.load(self.files[index])), self.labels[index]
