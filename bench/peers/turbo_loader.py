"""TurboLoader's fused pass (decode, crop, flip, normalise) as it comes: without antialias."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import turboloader
from rival import SIZE, Batch, Job
from tar_files import write_tar

VERSIONS = f"turboloader {turboloader.__version__}"
PROMISE = ("a tar archive of the same files; shrinks the whole picture while it decodes, then crops what is left, so "
           "small crops lose detail; bilinear without antialias; four batches ahead; as many threads as it likes")

_ARCHIVE = "pictures.tar"


def prepare(files: list[str], labels: list[int], folder: Path) -> None:
    write_tar(folder / _ARCHIVE, enumerate(files))


class Loader:
    def __init__(self, job: Job, antialias: bool) -> None:
        self.job = job
        self.labels = np.array(job.labels)
        self.epoch = 0
        self.loader = turboloader.DataLoader(
            str(job.prepared / _ARCHIVE), job.batch_size, job.workers, shuffle=True, drop_last=True, image_size=SIZE,
            output_format="pytorch", transform=turboloader.ImageNetNormalize(), train_aug=True, antialias=antialias)

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(self.job.repeat):
            self.loader.set_epoch(self.epoch)
            self.epoch += 1
            for images, about in self.loader:
                yield images, self.labels[about["indices"]]


def make(job: Job) -> Loader:
    return Loader(job, antialias=False)


def fixed(job: Job) -> Loader:
    raise NotImplementedError("its fused pass has no centre crop")
