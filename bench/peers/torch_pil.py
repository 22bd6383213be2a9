"""torch's DataLoader with torchvision's transforms on PIL images: what most training scripts do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import PIL
import torch
import torchvision  # type: ignore[import-untyped]
from PIL import Image
from rival import MEAN, RESIZED, SIZE, STD, Job
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

VERSIONS = f"torch {torch.__version__}, torchvision {torchvision.__version__}, Pillow {PIL.__version__}"
PROMISE = "whole decode by Pillow, antialiased bilinear"


class Pictures(Dataset[tuple[Any, int]]):
    def __init__(self, files: list[str], labels: list[int], transform: Callable[[Any], Any]) -> None:
        self.files = files
        self.labels = labels
        self.transform = transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        with open(self.files[index], "rb") as file:
            return self.transform(Image.open(file).convert("RGB")), self.labels[index]


def make(job: Job) -> DataLoader[tuple[Any, int]]:
    transform = T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
    return DataLoader(Pictures(job.files, job.labels, transform), job.batch_size, shuffle=True,
                      num_workers=job.workers, drop_last=True, persistent_workers=True)


def fixed(job: Job) -> DataLoader[tuple[Any, int]]:
    transform = T.Compose([T.Resize(RESIZED), T.CenterCrop(SIZE), T.ToTensor(), T.Normalize(MEAN, STD)])
    return DataLoader(Pictures(job.files, job.labels, transform), job.batch_size, num_workers=job.workers)
