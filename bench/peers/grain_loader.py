"""Grain, with OpenCV to decode: it brings no decoder of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cv2
import grain
import numpy as np
import opencv_pixels
from rival import SIZE, Batch, Job

VERSIONS = f"grain {grain.__version__}, opencv {cv2.__version__}"
PROMISE = f"{opencv_pixels.PROMISE}; its threads, not its processes, three batches ahead"

_AHEAD = 2


class RandomCrop(grain.transforms.RandomMap):  # type: ignore[misc]
    def random_map(self, element: tuple[str, int], rng: np.random.Generator) -> tuple[Any, int]:
        planes = np.empty((3, SIZE, SIZE), np.float32)
        opencv_pixels.random_crop(element[0], rng, planes)
        return planes, element[1]


class CenterCrop(grain.transforms.Map):  # type: ignore[misc]
    def map(self, element: tuple[str, int]) -> tuple[Any, int]:
        planes = np.empty((3, SIZE, SIZE), np.float32)
        opencv_pixels.center_crop(element[0], planes)
        return planes, element[1]


def _batches(pictures: Any, job: Job) -> Iterable[Batch]:
    reading = grain.ReadOptions(num_threads=job.workers, prefetch_buffer_size=_AHEAD * job.batch_size)
    batches = pictures.to_iter_dataset(reading).batch(job.batch_size, drop_remainder=True)
    # Else the caller would put the batch together in next().
    ready: Iterable[Batch] = grain.experimental.ThreadPrefetchIterDataset(batches, prefetch_buffer_size=1)
    return ready


def make(job: Job) -> Iterable[Batch]:
    source = grain.MapDataset.source(list(zip(job.files, job.labels)))
    return _batches(source.seed(1).shuffle().random_map(RandomCrop()), job)


def fixed(job: Job) -> Iterable[Batch]:
    return _batches(grain.MapDataset.source(list(zip(job.files, job.labels))).map(CenterCrop()), job)
