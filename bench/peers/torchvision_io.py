"""torch's DataLoader with torchvision's own JPEG decoder and transforms on uint8 tensors: its fastest way on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torchvision  # type: ignore[import-untyped]
from rival import MEAN, RESIZED, SIZE, STD, Job
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_jpeg, read_file  # type: ignore[import-untyped]
from torchvision.transforms import v2  # type: ignore[import-untyped]

VERSIONS = f"torch {torch.__version__}, torchvision {torchvision.__version__}"
PROMISE = "whole decode by libjpeg-turbo, antialiased bilinear on uint8"


class Pictures(Dataset[tuple[Any, int]]):
    def __init__(self, files: list[str], labels: list[int], transform: Callable[[Any], Any]) -> None:
        self.files = files
        self.labels = labels
        self.transform = transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.transform(decode_jpeg(read_file(self.files[index]), ImageReadMode.RGB)), self.labels[index]


def make(job: Job) -> DataLoader[tuple[Any, int]]:
    transform = v2.Compose([v2.RandomResizedCrop(SIZE), v2.RandomHorizontalFlip(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    return DataLoader(Pictures(job.files, job.labels, transform), job.batch_size, shuffle=True,
                      num_workers=job.workers, drop_last=True, persistent_workers=True)


def fixed(job: Job) -> DataLoader[tuple[Any, int]]:
    transform = v2.Compose([v2.Resize(RESIZED), v2.CenterCrop(SIZE), v2.ToDtype(torch.float32, scale=True),
                            v2.Normalize(MEAN, STD)])
    return DataLoader(Pictures(job.files, job.labels, transform), job.batch_size, num_workers=job.workers)
