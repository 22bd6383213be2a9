"""WebDataset: tar archives, decoded by Pillow in torch's worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import PIL
import torch
import webdataset
from rival import MEAN, RESIZED, SIZE, STD, Batch, Job
from tar_files import write_tar
from torchvision import transforms as T  # type: ignore[import-untyped]

VERSIONS = f"webdataset {version('webdataset')}, torch {torch.__version__}, Pillow {PIL.__version__}"
PROMISE = "tar archives of the same files; whole decode by Pillow, antialiased bilinear; shuffled in a buffer of 1,000"

_SHARDS = 64  # enough for as many workers; each reads archives of its own
_BUFFER = 1000


def prepare(files: list[str], labels: list[int], folder: Path) -> None:
    numbered = list(enumerate(files))
    each = -(-len(files) // _SHARDS)
    for shard, start in enumerate(range(0, len(files), each)):
        write_tar(folder / f"{shard:02}.tar", numbered[start:start + each], labels)


def _archives(job: Job) -> list[str]:
    return sorted(map(str, job.prepared.glob("*.tar")))


def _pictures(dataset: Any, transform: Callable[[Any], Any], job: Job) -> Any:
    return dataset.decode("pil").to_tuple("jpg", "cls").map_tuple(transform, int).batched(job.batch_size, partial=False)


def make(job: Job) -> Iterable[Batch]:
    transform = T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
    archives = _archives(job) * job.repeat
    pictures = webdataset.WebDataset(archives, shardshuffle=len(archives)).shuffle(_BUFFER)
    loader: Iterable[Batch] = webdataset.WebLoader(_pictures(pictures, transform, job), batch_size=None,
                                                   num_workers=job.workers, persistent_workers=True)
    return loader


def fixed(job: Job) -> Iterable[Batch]:
    transform = T.Compose([T.Resize(RESIZED), T.CenterCrop(SIZE), T.ToTensor(), T.Normalize(MEAN, STD)])
    pictures = _pictures(webdataset.WebDataset(_archives(job), shardshuffle=False), transform, job)
    return islice(pictures, len(job.files) // job.batch_size)
