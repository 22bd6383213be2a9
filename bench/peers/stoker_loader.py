"""Stoker as a PyTorch script meets it in its first epoch: its DataLoader, with torchvision's transforms."""

from __future__ import annotations

import stoker
import torch
from rival import MEAN, RESIZED, SIZE, STD, Job
from stoker.torch import DataLoader
from torchvision import transforms as T  # type: ignore[import-untyped]

VERSIONS = f"stoker {stoker.__version__}, torch {torch.__version__}"
PROMISE = "no picture was seen before; exact decode of the crop's region, Pillow's antialiased bilinear"

TRAIN = T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])


def make(job: Job) -> DataLoader:
    return DataLoader(stoker.FileDataset(job.files, job.labels, transform=TRAIN), job.batch_size, shuffle=True,
                      num_workers=job.workers, drop_last=True)


def fixed(job: Job) -> DataLoader:
    transform = T.Compose([T.Resize(RESIZED), T.CenterCrop(SIZE), T.ToTensor(), T.Normalize(MEAN, STD)])
    return DataLoader(stoker.FileDataset(job.files, job.labels, transform=transform), job.batch_size,
                      num_workers=job.workers)
