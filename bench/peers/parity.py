"""A loader's pixels beside Pillow's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from crop_box import center_box
from numpy.typing import NDArray
from PIL import Image
from rival import MEAN, SIZE, STD, Job, Rival

__all__ = ["parity"]

_PICTURES = 256  # at most: enough to meet every kind of file, done in a second or two


def parity(rival: Rival, job: Job) -> dict[str, Any]:
    """Mean and largest absolute difference from Pillow's decode, resize and crop, in steps of 1 / 255. Where the rival
    has no such pipeline, {"none": the reason}."""
    batch_size, files = min(job.batch_size, len(job.files)), job.files
    count = max(batch_size, min(len(files), _PICTURES) // batch_size * batch_size)
    job = replace(job, files=files[:count], labels=job.labels[:count], batch_size=batch_size, workers=1)
    try:
        batches = rival.fixed(job)
    except NotImplementedError as error:
        return {"none": str(error)}
    at, total, largest = 0, 0.0, 0.0
    for images, given in batches:
        if np.asarray(given).tolist() != job.labels[at:at + batch_size]:
            raise ValueError("the labels of fixed() are not the files' labels in order")
        for image in np.asarray(images):
            difference = np.abs(_denormalized(image) - _by_pillow(files[at]))
            total += float(difference.mean())
            largest = max(largest, float(difference.max()))
            at += 1
    if at != count:
        raise ValueError(f"fixed() gave {at} pictures of {count}")
    return {"pictures": count, "mean": total / count, "max": largest}


def _denormalized(image: NDArray[np.float32]) -> NDArray[np.float64]:
    """(3, 224, 224), 0 to 255."""
    mean, std = (np.array(values).reshape(3, 1, 1) for values in (MEAN, STD))
    return np.asarray((image * std + mean) * 255, np.float64)


def _by_pillow(path: str) -> NDArray[np.float64]:
    """As torchvision does Resize(256) and CenterCrop(224) on a PIL image."""
    with Image.open(path) as file:
        image = file.convert("RGB")
    width, height, left, top = center_box(*image.size)
    pixels = image.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + SIZE, top + SIZE))
    planes: NDArray[np.float64] = np.asarray(pixels, np.float64).transpose(2, 0, 1)
    return planes
