"""FFCV: its own file of pictures that it encoded again, compiled pipelines in threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

# It refuses more workers than Numba made threads for, which would be one for each CPU.
os.environ.setdefault("NUMBA_NUM_THREADS", str(max(64, 4 * (os.cpu_count() or 1))))

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import CenterCropRGBImageDecoder, IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image
from rival import AREA, MEAN, RATIO, RESIZED, SIZE, STD, Batch, Job

_QUALITY = 90

VERSIONS = f"ffcv {version('ffcv')}, numba {version('numba')}, torch {version('torch')}"
PROMISE = (f"not the same files: encoded again, at full size and JPEG quality {_QUALITY}, its default; whole decode by "
           "libjpeg-turbo's fast DCT, INTER_AREA, its centre crop up to a pixel beside Pillow's; three batches ahead")

_FILE = "pictures.beton"


class Pictures:
    def __init__(self, files: list[str], labels: list[int]) -> None:
        self.files = files
        self.labels = labels

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return Image.open(self.files[index]).convert("RGB"), self.labels[index]


def prepare(files: list[str], labels: list[int], folder: Path) -> None:
    fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=_QUALITY), "label": IntField()}
    DatasetWriter(str(folder / _FILE), fields, num_workers=len(os.sched_getaffinity(0))).from_indexed_dataset(
        Pictures(files, labels))


class Batches:
    def __init__(self, job: Job, order: OrderOption, *decode: Any) -> None:
        normalise = NormalizeImage(255 * np.array(MEAN), 255 * np.array(STD), np.float32)
        pictures = len(job.files) // job.repeat
        self.loader = Loader(
            str(job.prepared / _FILE), job.batch_size, job.workers, os_cache=True, order=order, drop_last=True,
            indices=np.tile(np.arange(pictures, dtype=np.uint64), job.repeat),
            pipelines={"image": [*decode, normalise, ToTensor(), ToTorchImage(channels_last=False)],
                       "label": [IntDecoder(), ToTensor()]})

    def __iter__(self) -> Iterator[Batch]:
        for images, labels in self.loader:
            yield images, labels[:, 0]


def make(job: Job) -> Batches:
    return Batches(job, OrderOption.RANDOM, RandomResizedCropRGBImageDecoder((SIZE, SIZE), AREA, RATIO),
                   RandomHorizontalFlip())


def fixed(job: Job) -> Batches:
    # It crops first, whole pixels of the file's: the same part of the picture but for a pixel.
    return Batches(job, OrderOption.SEQUENTIAL, CenterCropRGBImageDecoder((SIZE, SIZE), SIZE / RESIZED))
