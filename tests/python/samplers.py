"""Samplers of somebody's own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from photographs import SAMPLES
from torch.utils.data import Sampler


class Yields(Sampler[Any]):
    """A sampler of somebody's own, with a length or without."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return self.make()


class Sized(Yields):
    def __init__(self, length: int, make: Callable[[], Iterator[Any]]) -> None:
        super().__init__(make)
        self.length = length

    def __len__(self) -> int:
        return self.length


class Numbered(Sampler[int]):
    """Draws with Python's generator, and knows its place itself, as torchdata asks of a sampler."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.place = 0
        self.left: list[int] = []

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        if not self.left:
            self.left = self.random.sample(range(SAMPLES), SAMPLES)
        while self.left:
            yield self.left.pop()

    def state_dict(self) -> dict[str, Any]:
        version, numbers, gauss = self.random.getstate()
        return {"random": [version, list(numbers), gauss], "left": self.left}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        version, numbers, gauss = state["random"]
        self.random.setstate((version, tuple(numbers), gauss))
        self.left = state["left"]


class Counted(Sampler[int]):
    """Its state is a count, which stays behind when the epoch is over, and draws one by one from its generator."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(3)
        self.begun_from = self.generator.get_state()
        self.count = self.skip = 0

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        skip, self.skip = self.skip, 0
        self.begun_from = self.generator.get_state()
        self.count = 0
        for _ in range(SAMPLES):
            index = int(torch.randint(SAMPLES, (), generator=self.generator))
            self.count += 1
            if self.count > skip:
                yield index

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "generator": self.begun_from}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.skip = state["count"]
        self.generator.set_state(state["generator"])


class Listed(Sampler[int]):
    """Its state is what is left; what it draws that from is the loader's to keep."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(3)
        self.left: list[int] = []

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        self.left = self.left or torch.randperm(SAMPLES, generator=self.generator).tolist()
        while self.left:
            yield self.left.pop()

    def state_dict(self) -> dict[str, Any]:
        return {"left": self.left}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.left = state["left"]


class Redrawn(Sampler[int]):
    """No state, but a function of torch's generator; by its chunks, where it has no length."""

    def __init__(self, endless: bool = False) -> None:
        self.endless = endless

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(SAMPLES).tolist()
            if not self.endless:
                return


class Undrawable(Sampler[int]):
    """Draws from what nobody keeps."""

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        return iter(random.SystemRandom().sample(range(SAMPLES), SAMPLES))
