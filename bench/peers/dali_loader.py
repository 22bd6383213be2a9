"""DALI's pipeline on the CPU alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import nvidia.dali
from crop_box import center_box
from nvidia.dali import fn, pipeline_def, types
from PIL import Image
from rival import AREA, MEAN, RATIO, SIZE, STD, Batch, Job

VERSIONS = f"nvidia-dali {nvidia.dali.__version__}"
PROMISE = "decode of the crop's region, antialiased triangular filter; three batches ahead, batches not copied out"

_AHEAD = 3


def _normalised(images: Any, **crop_and_mirror: Any) -> Any:
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=[255 * mean for mean in MEAN],
                                    std=[255 * std for std in STD], **crop_and_mirror)


@pipeline_def  # type: ignore[untyped-decorator]
def _random_crops(files: list[str], labels: list[int]) -> Any:
    encoded, given = fn.readers.file(files=files, labels=labels, shuffle_after_epoch=True)
    images = fn.decoders.image_random_crop(encoded, random_area=AREA, random_aspect_ratio=RATIO, num_attempts=10)
    images = fn.resize(images, size=[SIZE, SIZE], interp_type=types.INTERP_LINEAR, antialias=True)
    return _normalised(images, mirror=fn.random.coin_flip()), given


@pipeline_def  # type: ignore[untyped-decorator]
def _center_crops(files: list[str], labels: list[int]) -> Any:
    encoded, given = fn.readers.file(files=files, labels=labels)
    # Its own rounding differs from Pillow's, and pixels that lie half a pixel beside others cannot be compared.
    size, corner = fn.external_source(_boxes(files), num_outputs=2, batch=False, cycle="quiet")
    images = fn.resize(fn.decoders.image(encoded), size=size, interp_type=types.INTERP_LINEAR, antialias=True)
    return _normalised(fn.slice(images, start=corner, shape=(SIZE, SIZE), axes=(0, 1))), given


def _boxes(files: list[str]) -> list[tuple[Any, Any]]:
    """Height and width to resize each to; top and left of the crop."""
    boxes = []
    for file in files:
        with Image.open(file) as image:
            width, height, left, top = center_box(*image.size)
        boxes.append((np.array([height, width], np.float32), np.array([top, left], np.int32)))
    return boxes


class Loader:
    def __init__(self, job: Job, pipeline: Any, files: list[str], labels: list[int]) -> None:
        self.batches = len(files) // job.batch_size
        self.pipeline = pipeline(files, labels, batch_size=job.batch_size, num_threads=job.workers, device_id=None,
                                 prefetch_queue_depth=_AHEAD)
        self.pipeline.build()

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(self.batches):
            images, labels = self.pipeline.run()
            yield np.asarray(images.as_tensor()), np.asarray(labels.as_tensor()).reshape(-1)


def make(job: Job) -> Loader:
    # The reader shuffles the whole list after each epoch, so not before the first.
    order = random.sample(range(len(job.files)), len(job.files))
    return Loader(job, _random_crops, [job.files[at] for at in order], [job.labels[at] for at in order])


def fixed(job: Job) -> Loader:
    return Loader(job, _center_crops, job.files, job.labels)
