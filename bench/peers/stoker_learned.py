"""Stoker in later epochs, or after `stoker index`: it knows where the rows of each JPEG begin."""

from __future__ import annotations

from pathlib import Path

import stoker
from rival import Job
from stoker.torch import DataLoader
from stoker_loader import TRAIN, VERSIONS, fixed
from torch.utils.data import RandomSampler
from torchvision import transforms as T  # type: ignore[import-untyped]

__all__ = ["PROMISE", "VERSIONS", "fixed", "make", "prepare"]

PROMISE = "every picture was seen before, in an earlier epoch or by `stoker index`; pixels as in the first epoch"


def prepare(files: list[str], labels: list[int], folder: Path) -> None:
    whole = T.Compose([T.Resize((8, 8)), T.ToTensor()])
    for _ in DataLoader(stoker.FileDataset(files, labels, transform=whole), 64, num_workers=2, index=folder):
        pass


def make(job: Job) -> DataLoader:
    # A picture that is in the list twice would be two to the index: the sampler repeats them.
    seen = len(job.files) // job.repeat
    dataset = stoker.FileDataset(job.files[:seen], job.labels[:seen], transform=TRAIN)
    return DataLoader(dataset, job.batch_size, sampler=RandomSampler(range(seen), num_samples=len(job.files)),
                      num_workers=job.workers, drop_last=True, index=job.prepared)
