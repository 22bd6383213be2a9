"""The order of the drop-in is torch's, id by id, for the same seeds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from photographs import FIXED, SAMPLES, Indices, batches_of_ids, ids, make_folder
from samplers import Sized, Yields
from stoker import sampling
from stoker.torch import DataLoader
from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

WORKERS = (0, 2)
EVERY = Indices(SAMPLES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("order"))


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Any:
    return ImageFolder(folder, FIXED)


def _shuffled() -> Iterator[Any]:
    return iter(torch.randperm(SAMPLES))  # 0-d tensors


SAMPLERS: dict[str, Callable[[], Any]] = {
    "replacement": lambda: RandomSampler(EVERY, replacement=True),
    "replacement, more": lambda: RandomSampler(EVERY, replacement=True, num_samples=75),
    "more than there are": lambda: RandomSampler(EVERY, num_samples=60),
    "fewer": lambda: RandomSampler(EVERY, num_samples=7),
    "own generator": lambda: RandomSampler(EVERY, generator=torch.Generator().manual_seed(5)),
    "subset": lambda: SubsetRandomSampler(range(1, 20, 2)),
    "subset of a tensor": lambda: SubsetRandomSampler(torch.arange(3, 17)),  # type: ignore[arg-type]
    "weighted": lambda: WeightedRandomSampler([1 / (i + 1) for i in range(SAMPLES)], 40),
    "weighted, each once": lambda: WeightedRandomSampler([1.0] * SAMPLES, 20, replacement=False),
    "a list": lambda: [5, 3, 3, 1],
    "numpy": lambda: Sized(9, lambda: iter(np.arange(9))),
    "tensors": lambda: Sized(SAMPLES, _shuffled),
    "no length": lambda: Yields(_shuffled),
    "a length that is too short": lambda: Sized(10, _shuffled),
    "a length that is too long": lambda: Sized(100, _shuffled),
    "the base's length": lambda: Sized(0, _shuffled),
}


def _both_kinds(dataset: Any) -> list[tuple[Any, Any, dict[str, Any]]]:
    """Torch's loader and ours, what each is made of, and what ours needs to give its ids last."""
    return [(TorchLoader, EVERY, {}), (DataLoader, dataset, {"return_ids": True})]


def _both(dataset: Any, epochs: int, seed: int, own: dict[str, Any] | None = None,
          **arguments: Any) -> tuple[list[Any], list[Any]]:
    """The ids that torch's loader and ours give in some epochs; samplers are made for each by calling `sampler`.

    own: arguments that only ours gets.
    """
    runs = []
    make = arguments.pop("sampler", None)
    for kind, data, more in _both_kinds(dataset):
        torch.manual_seed(seed)
        given = {**arguments, **more, **(own or {} if more else {})}
        if make is not None:
            given["sampler"] = make()
        if "generator" in given:
            given["generator"] = torch.Generator().manual_seed(given["generator"])
        loader = kind(data, batch_size=4, **given)
        runs.append([batches_of_ids(loader) for _ in range(epochs)] + [torch.rand(1).item()])
    return runs[0], runs[1]


@pytest.mark.parametrize("num_workers", WORKERS)
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("generator", [None, 11])
def test_shuffle_follows_torch(dataset: Any, num_workers: int, drop_last: bool, shuffle: bool,
                               generator: int | None) -> None:
    arguments: dict[str, Any] = {} if generator is None else {"generator": generator}
    expected, got = _both(dataset, 3, 17, shuffle=shuffle, num_workers=num_workers, drop_last=drop_last, **arguments)
    assert got == expected  # and torch's own generator has gone as far


@pytest.mark.parametrize("num_workers", WORKERS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_are_honoured(dataset: Any, name: str, num_workers: int) -> None:
    expected, got = _both(dataset, 3, 3, own={"num_workers": num_workers}, sampler=SAMPLERS[name])
    assert got == expected


@pytest.mark.parametrize("generator", [None, 2])
def test_persistent_workers_draw_their_seed_once(dataset: Any, generator: int | None) -> None:
    arguments: dict[str, Any] = {} if generator is None else {"generator": generator}
    expected, got = _both(dataset, 3, 1, shuffle=True, num_workers=1, persistent_workers=True, **arguments)
    assert got == expected


def test_batch_sampler_of_torch_is_taken(dataset: Any) -> None:
    torch.manual_seed(0)
    expected = batches_of_ids(TorchLoader(EVERY, batch_sampler=BatchSampler(RandomSampler(EVERY), 5, True)))
    torch.manual_seed(0)
    given = BatchSampler(RandomSampler(EVERY), 5, True)
    loader = DataLoader(dataset, batch_sampler=given, return_ids=True)
    assert batches_of_ids(loader) == expected
    assert loader.batch_sampler is given


@pytest.mark.parametrize("num_workers", WORKERS)
def test_a_glance_at_the_first_batch_costs_the_same_as_torchs(dataset: Any, num_workers: int) -> None:
    runs = []
    for kind, data, more in _both_kinds(dataset):
        loader = kind(data, batch_size=4, shuffle=True, num_workers=num_workers,
                      generator=torch.Generator().manual_seed(9), **more)
        glance = next(iter(loader))
        runs.append([(glance[-1] if more else glance).tolist(), batches_of_ids(loader)])
    assert runs[0] == runs[1]


@pytest.mark.parametrize("num_workers", WORKERS)
def test_two_loaders_side_by_side_draw_in_torchs_turn(dataset: Any, num_workers: int) -> None:
    runs = []
    for kind, data, more in _both_kinds(dataset):
        torch.manual_seed(21)
        pair = [kind(data, batch_size=8, shuffle=True, num_workers=num_workers, **more) for _ in range(2)]
        first, second = zip(*zip(*pair, strict=True), strict=True)
        runs.append([batches_of_ids(first), batches_of_ids(second)])
    assert runs[0] == runs[1]


def test_an_endless_sampler_goes_on(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_CHUNK", 100)
    loader = DataLoader(dataset, batch_size=8, sampler=Yields(lambda: itertools.cycle(range(SAMPLES))),
                        return_ids=True, num_workers=2)
    with pytest.raises(TypeError):
        len(loader)
    got = ids(itertools.islice(loader, 70))
    assert got == list(itertools.islice(itertools.cycle(range(SAMPLES)), 560))


def test_a_sampler_that_goes_on_beyond_its_length_keeps_its_batches_whole(dataset: Any) -> None:
    loader = DataLoader(dataset, batch_size=4, sampler=Sized(10, lambda: itertools.cycle(range(SAMPLES))),
                        return_ids=True)
    assert len(loader) == 3
    assert [len(batch) for batch in batches_of_ids(itertools.islice(loader, 9))] == [4] * 9


@pytest.mark.parametrize(("wrong", "error", "says"), [
    ([0, SAMPLES], (IndexError, ValueError), f"{SAMPLES}"),
    ([0, -1], IndexError, "index that no sample has"),
    ([[0, 1], [2]], TypeError, "one index at a time"),
    ([0, 1.5], TypeError, "one index at a time"),
    (["a"], TypeError, "one index at a time"),
])
def test_what_no_sample_has_is_an_error(dataset: Any, wrong: list[Any], error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        list(DataLoader(dataset, sampler=wrong))


def test_a_samplers_own_error_comes_through(dataset: Any) -> None:
    def fails() -> Iterator[int]:
        yield 0
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(DataLoader(dataset, sampler=Yields(fails)))


@pytest.mark.parametrize("world_size", [2, 3, 4])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler_shards_as_torchs(dataset: Any, world_size: int, shuffle: bool, drop_last: bool) -> None:
    seen: list[int] = []
    for rank in range(world_size):
        runs = []
        for kind, data, more in _both_kinds(dataset):
            sampler: Any = DistributedSampler(data, world_size, rank, shuffle=shuffle, drop_last=drop_last)
            loader = kind(data, batch_size=4, sampler=sampler, **more)
            epochs = []
            for epoch in range(2):
                sampler.set_epoch(epoch)
                epochs.append(batches_of_ids(loader))
            runs.append(epochs)
        assert runs[0] == runs[1]
        seen += itertools.chain(*runs[1][0])
    if not drop_last:
        assert sorted(set(seen)) == list(range(SAMPLES))
        assert len(seen) == -(-SAMPLES // world_size) * world_size  # twice only what fills up


def test_set_epoch_is_passed_on(dataset: Any) -> None:
    sampler: Any = DistributedSampler(dataset, 2, 0)
    loader = DataLoader(dataset, sampler=sampler)
    loader.set_epoch(4)
    assert sampler.epoch == 4
    DataLoader(dataset).set_epoch(4)  # no sampler of epochs: nothing to set


def test_a_forgotten_set_epoch_is_warned_about_once(dataset: Any) -> None:
    sampler: Any = DistributedSampler(dataset, 2, 0)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(loader))  # a glance is not an epoch
        for epoch in range(2):
            sampler.set_epoch(epoch)
            list(loader)
        unshuffled = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset, 2, 0, shuffle=False))
        list(unshuffled), list(unshuffled)
    with pytest.warns(UserWarning, match="set_epoch") as caught:
        list(loader), list(loader)
    assert len(caught) == 1
