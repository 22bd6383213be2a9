"""One loader in a process of its own, introduced or measured once. Run by compare.py; the last line that it prints is a
JSON object.

Exit code 3: the loader's library is not installed; what is missing is on stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import prepared
import process_tree
import rival

NOT_INSTALLED = 3

# An epoch is to be as long as a real one, else its beginnings and ends are measured: some 20,000 files.
_EPOCH_FILES = 20_000
_MEMORY_SECONDS = 1.5
_LINE_FLOATS = 16  # float32s in a cache line


def pictures(folder: Path) -> tuple[list[str], list[int]]:
    """All JPEG files below `folder`, in order, labelled by the folder that they are in."""
    files = sorted(os.path.join(below, name) for below, _, names in os.walk(folder, followlinks=True) for name in names
                   if name.lower().endswith((".jpg", ".jpeg")))
    folders = {name: label for label, name in enumerate(sorted({str(Path(file).parent) for file in files}))}
    return files, [folders[str(Path(file).parent)] for file in files]


def endless(loader: Iterable[rival.Batch]) -> Iterator[rival.Batch]:
    """Epoch after epoch."""
    while True:
        given = False
        for images, labels in loader:
            given = True
            yield images, labels
        if not given:
            raise ValueError("an epoch gave no batch: fewer pictures than a batch holds, or one epoch is all it has")


def check(images: Any, labels: Any, batch_size: int) -> None:
    """That the batch is what all loaders have to give."""
    array = np.asarray(images)
    want = (batch_size, 3, rival.SIZE, rival.SIZE)
    if array.shape != want or array.dtype != np.float32 or not array.flags.c_contiguous or len(labels) != batch_size:
        raise ValueError(f"gave {array.dtype} {array.shape} with {len(labels)} labels, instead of float32 {want}")


def touch(images: Any) -> float:
    """Reads one value of every cache line, as a training step would, so that nothing stays undone."""
    return float(np.asarray(images).reshape(-1)[::_LINE_FLOATS].sum())


def consume(stream: Iterator[rival.Batch], seconds: float) -> tuple[int, float]:
    """Images taken and the time it took, `seconds` or a little more."""
    images_taken, start = 0, time.perf_counter()
    for images, _ in stream:
        touch(images)
        images_taken += len(images)
        if time.perf_counter() - start >= seconds:
            break
    return images_taken, time.perf_counter() - start


class PeakMemory:
    """The largest of the samples taken, less what this process took before. Sampling costs more the more processes
    there are: never in the timed part."""

    def __init__(self) -> None:
        self._shared_before = process_tree.shared_memory_mb()
        self.before_mb, _ = process_tree.memory_mb(self._shared_before)
        self.mb, self.in_flight_mb = 0.0, 0.0

    def sample(self) -> None:
        pss, in_flight = process_tree.memory_mb(self._shared_before)
        pss -= self.before_mb
        if pss + in_flight > self.mb:
            self.mb, self.in_flight_mb = pss + in_flight, in_flight


def sample_running(stream: Iterator[rival.Batch], seconds: float, memory: PeakMemory) -> None:
    """Memory after each batch, where batches are taken as fast as they come."""
    start = time.perf_counter()
    for images, _ in stream:
        touch(images)
        memory.sample()
        if time.perf_counter() - start >= seconds:
            break


def next_microseconds(stream: Iterator[rival.Batch], calls: int, pause: float,
                      memory: PeakMemory) -> tuple[list[float], list[float]]:
    """The caller's time in next() where a batch is ready: after a pause as a training step makes, in which workers have
    had the caches, and once more right after, in warm caches."""
    cold, warm = [], []
    for _ in range(calls):
        memory.sample()
        time.sleep(pause)
        start = time.perf_counter()
        first = next(stream)
        between = time.perf_counter()
        second = next(stream)
        end = time.perf_counter()
        cold.append((between - start) * 1e6)
        warm.append((end - between) * 1e6)
        touch(first[0])
        touch(second[0])
        del first, second
    return cold, warm


def measure(loader: rival.Rival, once: rival.Job, job: argparse.Namespace, memory: PeakMemory) -> dict[str, Any]:
    files = len(once.files)
    repeat = 1 if job.cold else -(-_EPOCH_FILES // files)
    epoch = replace(once, files=once.files * repeat, labels=once.labels * repeat, repeat=repeat)
    start = time.perf_counter()
    stream = endless(loader.make(epoch))
    images, given = next(stream)
    first_batch = time.perf_counter() - start
    check(images, given, job.batch_size)
    del images, given

    timed = stream
    if job.cold:  # what is left of the one epoch in which no file was read before
        timed = islice(stream, files // job.batch_size - 1)
    else:
        consume(stream, job.warm_up)
    cpu = process_tree.cpu_seconds()
    taken, seconds = consume(timed, job.seconds)
    cpu = process_tree.cpu_seconds() - cpu
    if not taken:
        raise ValueError("nothing is left to measure after the first batch: more pictures, or smaller batches")
    sample_running(stream, min(_MEMORY_SECONDS, job.seconds), memory)
    cold, warm = next_microseconds(stream, job.next_calls, 4 * job.batch_size * seconds / taken + 0.05, memory)
    return {
        "images": taken,
        "images_per_second": taken / seconds,
        "first_batch_s": first_batch,
        "cpu_s_per_1000": cpu / taken * 1000,
        "memory_mb": memory.mb,
        "imports_mb": memory.before_mb,
        "in_flight_mb": memory.in_flight_mb,
        "next_us": median(cold),
        "next_again_us": median(warm),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loader")
    parser.add_argument("photos", type=Path)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--next-calls", type=int, default=15)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--introduce", action="store_true",
                        help="measure nothing: convert what has to be, compare pixels, say versions")
    return parser.parse_args()


def main() -> int:
    job = arguments()
    try:
        import torch  # noqa: F401
        import torchvision  # type: ignore[import-untyped]  # noqa: F401

        memory = PeakMemory()
        loader = rival.load(job.loader)
    except ImportError as error:
        print(error, file=sys.stderr)
        return NOT_INSTALLED
    files, labels = pictures(job.photos)
    once = rival.Job(files, labels, 1, job.batch_size, job.workers,
                     prepared.folder_for(loader, files, labels, job.prepared))
    if job.introduce:
        from parity import parity

        result = {"versions": loader.VERSIONS, "promise": loader.PROMISE,
                  "prepared": prepared.prepared(loader, files, labels, job.prepared), "parity": parity(loader, once)}
    else:
        result = measure(loader, once, job, memory)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # how a loader ends is not measured, and must not undo what was; compare.py ends what it leaves
