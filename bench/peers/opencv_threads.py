"""OpenCV in a pool of threads: what a few lines of one's own come to, without any loader."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import cv2
import numpy as np
import opencv_pixels
from numpy.typing import NDArray
from rival import SIZE, Batch, Job

VERSIONS = f"opencv {cv2.__version__}"
PROMISE = f"{opencv_pixels.PROMISE}; two batches ahead"

_AHEAD = 2


class Loader:
    def __init__(self, job: Job, shuffle: bool) -> None:
        self.job = job
        self.shuffle = shuffle

    def __iter__(self) -> Iterator[Batch]:
        order, size = list(range(len(self.job.files))), self.job.batch_size
        if self.shuffle:
            random.shuffle(order)
        with ThreadPoolExecutor(self.job.workers) as pool:
            ahead: deque[tuple[NDArray[np.float32], list[int], list[Future[None]]]] = deque()
            for start in range(0, len(order) - size + 1, size):
                chosen, images = order[start:start + size], np.empty((size, 3, SIZE, SIZE), np.float32)
                ahead.append((images, chosen, [pool.submit(self._fill, at, planes)
                                               for at, planes in zip(chosen, images)]))
                if len(ahead) > _AHEAD:
                    yield self._done(*ahead.popleft())
            while ahead:
                yield self._done(*ahead.popleft())

    def _fill(self, at: int, planes: NDArray[np.float32]) -> None:
        if self.shuffle:
            opencv_pixels.random_crop(self.job.files[at], random, planes)
        else:
            opencv_pixels.center_crop(self.job.files[at], planes)

    def _done(self, images: NDArray[np.float32], chosen: list[int], parts: list[Future[None]]) -> Batch:
        for part in parts:
            part.result()
        return images, [self.job.labels[at] for at in chosen]


def make(job: Job) -> Loader:
    return Loader(job, shuffle=True)


def fixed(job: Job) -> Loader:
    return Loader(job, shuffle=False)
