"""ResNet-18 trained by torch's DataLoader and by Stoker's, on the same pictures: rates, and where the GPU stood still.

    python bench/gpu/training_run.py PHOTOS [--seconds 30] [--limit 180]

bfloat16 autocast, channels_last, batches of 256, the train transform of ImageNet. Prints one JSON object. Exit status
77: it cannot run here, and stderr says why.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import stoker.torch
import torch
from busy_share import busy_share
from outcome import CANNOT_RUN
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, Subset
from torchvision import models, transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

BATCH_SIZE = 256
EPOCH = 20_000  # samples: a real epoch's beginnings and ends weigh little
WORKERS = (4, 8, 16)
WARM_UP_STEPS = 8
PROFILED_STEPS = 12
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pictures(folder: Path) -> Subset[Any]:
    """The folder's pictures, again and again, to an epoch's length."""
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
                                    transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    dataset = ImageFolder(str(folder), transform)
    return Subset(dataset, [i % len(dataset) for i in range(EPOCH)])


def endless(loader: Iterable[Any]) -> Iterator[Any]:
    """Epoch after epoch."""
    while True:
        yield from loader


class Trainer:
    """A model and its optimiser; a step as people write it."""

    def __init__(self, classes: int) -> None:
        self._device = torch.device("cuda")
        self._model = models.resnet18(num_classes=classes).to(self._device, memory_format=torch.channels_last)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01, momentum=0.9)
        self._loss = nn.CrossEntropyLoss()

    def step(self, batch: list[torch.Tensor]) -> None:
        images, labels = (field.to(self._device, non_blocking=True) for field in batch)
        with torch.autocast("cuda", torch.bfloat16):
            loss = self._loss(self._model(images.contiguous(memory_format=torch.channels_last)), labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()

    def steps(self, batches: Iterator[Any], count: int) -> None:
        for _ in range(count):
            self.step(next(batches))
        torch.cuda.synchronize()

    def run(self, batches: Iterator[Any], seconds: float) -> tuple[int, float]:
        """Steps for so long, after a warm-up was made; their number and the time until the last one was done."""
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            self.step(next(batches))
            count += 1
        torch.cuda.synchronize()
        return count, time.perf_counter() - start

    def profiled_busy_share(self, batches: Iterator[Any]) -> float:
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            self.steps(batches, PROFILED_STEPS)
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace.json")
            profiler.export_chrome_trace(str(trace))
            return busy_share(json.loads(trace.read_text())["traceEvents"])


def torch_loader(dataset: Subset[Any], workers: int) -> DataLoader[Any]:
    return DataLoader(dataset, BATCH_SIZE, shuffle=True, drop_last=True, num_workers=workers, pin_memory=True,
                      persistent_workers=True)


def measured(trainer: Trainer, batches: Iterator[Any], seconds: float) -> dict[str, Any]:
    """Steps of `seconds`; then some under the profiler, for the shares."""
    count, took = trainer.run(batches, seconds)
    return {"images_per_second": count * BATCH_SIZE / took, "step_ms": 1000 * took / count}


def with_shares(result: dict[str, Any], trainer: Trainer, batches: Iterator[Any]) -> dict[str, Any]:
    busy = trainer.profiled_busy_share(batches)
    return {**result, "busy_share": busy, "gap_share": 1 - busy}


def run_torch(trainer: Trainer, dataset: Subset[Any], seconds: float) -> dict[str, Any]:
    """torch's loader at its best number of workers."""
    tried: dict[int, float] = {}
    for workers in WORKERS:
        batches = endless(torch_loader(dataset, workers))
        trainer.steps(batches, WARM_UP_STEPS)
        tried[workers] = measured(trainer, batches, seconds / 6)["images_per_second"]
        del batches  # its workers end
    best = max(tried, key=lambda workers: tried[workers])
    batches = endless(torch_loader(dataset, best))
    trainer.steps(batches, WARM_UP_STEPS)
    result = with_shares(measured(trainer, batches, seconds), trainer, batches)
    return {**result, "workers": best, "tried": {str(workers): rate for workers, rate in tried.items()}}


def run_stoker(trainer: Trainer, dataset: Subset[Any], seconds: float) -> dict[str, Any]:
    workers = len(os.sched_getaffinity(0))
    loader = stoker.torch.DataLoader(dataset, BATCH_SIZE, shuffle=True, drop_last=True, num_workers=workers,
                                     device="cuda")
    batches = endless(loader)
    trainer.steps(batches, WARM_UP_STEPS)
    loader.reset_stalls()
    result = measured(trainer, batches, seconds)
    stalls = loader.stalls()
    result = with_shares(result, trainer, batches)
    return {**result, "workers": workers, "stall_share": stalls.stall_share, "verdict": stalls.verdict,
            "report": str(stalls)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, help="class folders of good pictures")
    parser.add_argument("--seconds", type=float, default=30, help="of each loader, if the limit allows (%(default)s)")
    parser.add_argument("--limit", type=float, default=180, help="seconds for all of it (%(default)s)")
    job = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch sees no CUDA device", file=sys.stderr)
        return CANNOT_RUN
    # Two runs, three tries of a sixth each, and starts, warm-ups and profiles of about 40 s.
    seconds = min(job.seconds, (job.limit - 40) / 2.5)
    if seconds < 5:
        print(f"{job.limit:.0f} s are too few for it", file=sys.stderr)
        return CANNOT_RUN
    dataset = pictures(job.photos)
    torch.backends.cudnn.benchmark = True
    trainer = Trainer(len(dataset.dataset.classes))  # type: ignore[attr-defined]
    loaders = {"torch": run_torch(trainer, dataset, seconds), "stoker": run_stoker(trainer, dataset, seconds)}
    print(json.dumps({
        "job": f"ResNet-18, bfloat16, channels_last, batches of {BATCH_SIZE}, {torch.cuda.get_device_name()}, torch "
               f"{torch.__version__}",
        "seconds": seconds, "profiled_steps": PROFILED_STEPS, "loaders": loaders,
        "ratio": loaders["stoker"]["images_per_second"] / loaders["torch"]["images_per_second"]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
