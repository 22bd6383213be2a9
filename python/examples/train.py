"""Trains a small ResNet to tell shapes apart: a PyTorch script whose only difference is where DataLoader comes from.

    python train.py                       with Stoker
    python train.py --loader torch        with torch.utils.data
    python train.py --compare             both with three seeds each: the same accuracy
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from shapes import CLASSES, write_pictures
from torch import nn
from torchvision import transforms as T  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

SIZE = 64
BATCH_SIZE = 32
MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
TRAINING, VALIDATION = 240, 60  # pictures of each class


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.around = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.convolutions(x) + self.around(x))


def resnet8(classes: int) -> nn.Module:
    """Three stages of one block each."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Block(16, 32, 2), Block(32, 64, 2), Block(64, 128, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, classes))


def loaders(name: str, folder: Path) -> tuple[Any, Any]:
    """For training and for validation."""
    if name == "stoker":
        from stoker.torch import DataLoader
    else:
        from torch.utils.data import DataLoader  # type: ignore[assignment]

    augmented = T.Compose([T.RandomResizedCrop(SIZE, scale=(0.5, 1.0)), T.RandomHorizontalFlip(),
                           T.RandomVerticalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
    plain = T.Compose([T.Resize(SIZE), T.CenterCrop(SIZE), T.ToTensor(), T.Normalize(MEAN, STD)])
    train = DataLoader(ImageFolder(folder / "train", augmented), BATCH_SIZE, shuffle=True, num_workers=2,
                       drop_last=True, persistent_workers=True)
    val = DataLoader(ImageFolder(folder / "val", plain), BATCH_SIZE, num_workers=2, persistent_workers=True)
    return train, val


def accuracy(model: nn.Module, batches: Any) -> float:
    """Share of the pictures that are named right."""
    model.eval()
    right = seen = 0
    with torch.inference_mode():
        for images, labels in batches:
            right += int((model(images).argmax(1) == labels).sum())
            seen += len(labels)
    return right / seen


def train(name: str, folder: Path, seed: int, epochs: int) -> tuple[float, Any]:
    """Returns the accuracy on the validation pictures, and the training loader."""
    torch.manual_seed(seed)
    model = resnet8(len(CLASSES))
    batches, validation = loaders(name, folder)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs * len(batches))
    for _ in range(epochs):
        model.train()
        for images, labels in batches:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return accuracy(model, validation), batches


def compare(folder: Path, seeds: int, epochs: int) -> None:
    """Prints each loader's accuracy: mean, and where it lies with a confidence of 95 % (Student's t)."""
    quantile = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}[seeds]
    for name in ("stoker", "torch"):
        start = time.perf_counter()
        reached = [train(name, folder, seed, epochs)[0] * 100 for seed in range(seeds)]
        mean, half = statistics.mean(reached), quantile * statistics.stdev(reached) / seeds**0.5
        print(f"{name:7} accuracy {mean:.1f} % ({mean - half:.1f} to {min(100, mean + half):.1f}), "
              f"of the seeds {', '.join(f'{value:.1f}' for value in reached)}; {time.perf_counter() - start:.0f} s",
              flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loader", choices=("stoker", "torch"), default="stoker")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", action="store_true", help="both loaders with seeds 0, 1 and 2")
    options = parser.parse_args()
    torch.set_num_threads(1)  # one core trains, the others load
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pictures(folder / "train", TRAINING, seed=1)
        write_pictures(folder / "val", VALIDATION, seed=2)
        if options.compare:
            compare(folder, 3, options.epochs)
            return
        reached, batches = train(options.loader, folder, options.seed, options.epochs)
        print(f"accuracy {reached:.1%}, by chance {1 / len(CLASSES):.1%}")
        if options.loader == "stoker":
            print(batches.stalls())


if __name__ == "__main__":
    main()
