"""SPDL: its pipeline of threads, its decoder (FFmpeg's)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
import spdl.io
from crop_box import center_box, random_box
from numpy.typing import NDArray
from rival import MEAN, SIZE, STD, Batch, Job
from spdl.pipeline import PipelineBuilder

VERSIONS = f"spdl {version('spdl')}"
PROMISE = "whole decode by FFmpeg, its scaler's bilinear; normalised by NumPy, two batches ahead"

_AHEAD = 2
_SCALES = [np.float32(1 / (255 * std)) for std in STD]
_OFFSETS = [np.float32(-mean / std) for mean, std in zip(MEAN, STD)]

Picture = tuple[str, int]
Planes = tuple[NDArray[np.float32], int]


def _planes(packets: Any, filters: str) -> NDArray[np.float32]:
    frames = spdl.io.decode_packets(packets, filter_desc=f"{filters},format=pix_fmts=rgb24")
    pixels = spdl.io.to_numpy(spdl.io.convert_frames(frames))
    planes = np.empty((3, SIZE, SIZE), np.float32)
    for channel, plane in enumerate(planes):
        np.multiply(pixels[:, :, channel], _SCALES[channel], out=plane)
        plane += _OFFSETS[channel]
    return planes


def _random_crop(picture: Picture) -> Planes:
    path, label = picture
    packets = spdl.io.demux_image(path)
    left, top, width, height = random_box(packets.codec.width, packets.codec.height, random)
    flip = ",hflip" if random.random() < 0.5 else ""
    return _planes(packets, f"crop={width}:{height}:{left}:{top},scale={SIZE}:{SIZE}:flags=bilinear{flip}"), label


def _center_crop(picture: Picture) -> Planes:
    path, label = picture
    packets = spdl.io.demux_image(path)
    width, height, left, top = center_box(packets.codec.width, packets.codec.height)
    return _planes(packets, f"scale={width}:{height}:flags=bilinear,format=pix_fmts=rgb24,"
                            f"crop={SIZE}:{SIZE}:{left}:{top}"), label


def _batch(pictures: list[Planes]) -> Batch:
    return np.stack([planes for planes, _ in pictures]), [label for _, label in pictures]


class Loader:
    def __init__(self, job: Job, crop: Callable[[Picture], Planes], shuffle: bool) -> None:
        self.job = job
        self.crop = crop
        self.shuffle = shuffle

    def __iter__(self) -> Iterator[Batch]:
        pictures = list(zip(self.job.files, self.job.labels))
        if self.shuffle:
            random.shuffle(pictures)
        order = "completion" if self.shuffle else "input"
        pipeline = (PipelineBuilder().add_source(pictures)
                    .pipe(self.crop, concurrency=self.job.workers, output_order=order)
                    .aggregate(self.job.batch_size, drop_last=True).pipe(_batch).add_sink(_AHEAD)
                    .build(num_threads=self.job.workers + 1, max_failures=0))
        with pipeline.auto_stop():
            yield from pipeline


def make(job: Job) -> Loader:
    return Loader(job, _random_crop, shuffle=True)


def fixed(job: Job) -> Loader:
    return Loader(job, _center_crop, shuffle=False)
