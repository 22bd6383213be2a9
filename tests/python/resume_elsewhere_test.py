"""A run that goes on elsewhere: in a world of another size, in the plain loader, in a copy."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import stoker
import torch
from photographs import RANDOM, SAMPLES, batches_of_ids, copies, ids, make_folder, same_batches, saved
from stoker.torch import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

BATCH = 4
BATCHES = -(-SAMPLES // BATCH)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ImageFolder(make_folder(tmp_path_factory.mktemp("resume_elsewhere")), RANDOM)


def _world(dataset: Any, kind: str, world_size: int, state: Any, drop_last: bool = False) -> list[Any]:
    """A loader for each rank, in the third epoch."""
    loaders = []
    for rank in range(world_size):
        loader: Any
        if kind == "Loader":
            loader = stoker.Loader(dataset, 2, seed=5, rank=rank, world_size=world_size, return_ids=True,
                                   drop_last=drop_last)
            loader.set_epoch(2)
        else:
            torch.manual_seed(0)
            sampler: Any = DistributedSampler(dataset, world_size, rank, seed=5, drop_last=drop_last)
            sampler.set_epoch(2)
            loader = DataLoader(dataset, batch_size=2, sampler=sampler, return_ids=True, drop_last=drop_last)
        if state is not None:
            loader.load_state_dict(state)
        loaders.append(loader)
    return loaders


def _by_id(batches: Any) -> dict[int, bytes]:
    return {int(index): image.numpy().tobytes() for images, _, own in batches for image, index in zip(
        images, own, strict=True)}


@pytest.mark.parametrize("kind", ["Loader", "DataLoader"])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (4, 1), (1, 4), (2, 2)])
def test_the_rest_is_dealt_out_to_another_world(dataset: Any, kind: str, drop_last: bool, before: int,
                                                after: int) -> None:
    done: dict[int, bytes] = {}
    states = []
    for loader in _world(dataset, kind, before, None, drop_last):
        batches = iter(loader)
        done.update(_by_id(copies(itertools.islice(batches, 2))))
        states.append(saved(loader.state_dict()))
    assert len(done) == 4 * before

    lengths, rest = [], []
    for loader in _world(dataset, kind, after, states[0], drop_last):
        got = batches_of_ids(loader)
        lengths.append(len(got))
        rest += sum(got, [])
    assert len(set(lengths)) == 1  # ranks in step
    left = SAMPLES - len(done)
    fill = -left % after
    if drop_last:  # of a rank's last incomplete batch, and of what does not divide evenly
        assert len(rest) == len(set(rest)) == left // after // 2 * 2 * after
        assert not set(rest) & set(done)
    else:
        assert len(rest) == left + fill
        assert set(rest) | set(done) == set(range(SAMPLES))
        assert len(set(rest) - set(done)) == left  # each once; the filling is of the epoch's first samples
    # Crops are of the sample's place in the epoch, so the same as one process would have drawn.
    alone: dict[int, bytes] = {}
    for loader in _world(dataset, kind, 1, None):
        alone = _by_id(copies(loader))
    for loader in _world(dataset, kind, after, states[-1] if kind == "Loader" else states[0], drop_last):
        for index, crop in _by_id(copies(loader)).items():
            assert index in done or alone[index] == crop


@pytest.mark.parametrize("kind", ["Loader", "DataLoader"])
def test_a_world_may_change_twice(dataset: Any, kind: str) -> None:
    seen: list[int] = []
    state: Any = None
    for world_size in (2, 3, 1):
        loaders = _world(dataset, kind, world_size, state)
        for loader in loaders:
            batches = iter(loader)
            seen += sum(batches_of_ids(itertools.islice(batches, 1 if world_size > 1 else None)), [])
        state = saved(loaders[0].state_dict()) if world_size > 1 else None
    assert sorted(seen) == list(range(SAMPLES))


def _same(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(map(same_batches, first, second))


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("done", [0, 1, 3, BATCHES])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_plain_loader_goes_on(dataset: Any, done: int, shuffle: bool, epoch: int) -> None:
    settings: Any = {"batch_size": BATCH, "shuffle": shuffle, "seed": 9, "return_ids": True}
    loader = stoker.Loader(dataset, num_workers=1, **settings)
    for _ in range(epoch):
        for _ in loader:
            pass
    batches = iter(loader)
    for _ in range(done):
        next(batches)
    state = saved(loader.state_dict())
    unbroken = [list(copies(batches)), list(copies(loader))]
    for num_workers in (0, 3):
        again = stoker.Loader(dataset, num_workers=num_workers, **settings)
        again.load_state_dict(state)
        twice = stoker.Loader(dataset, num_workers=num_workers, **settings)
        twice.load_state_dict(saved(again.state_dict()))
        assert _same([list(copies(twice)), list(copies(twice))], unbroken)


def test_the_plain_loader_refuses_another_order(dataset: Any) -> None:
    state = stoker.Loader(dataset, seed=1).state_dict()
    for other in ({"seed": 2}, {"seed": 1, "shuffle": False}):
        with pytest.raises(ValueError, match="this loader has"):
            stoker.Loader(dataset, **other).load_state_dict(state)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [
    lambda data: DataLoader(data, batch_size=BATCH, generator=torch.Generator().manual_seed(3), shuffle=True,
                            return_ids=True),
    lambda data: stoker.Loader(data, BATCH, seed=3, return_ids=True),
])
def test_a_copy_goes_on_where_it_was_made(dataset: Any, make: Callable[[Any], Any]) -> None:
    loader = make(dataset)
    batches = iter(loader)
    list(itertools.islice(batches, 3))
    pickled = pickle.dumps(loader)
    rest = list(copies(batches))
    again = pickle.loads(pickled)
    assert same_batches(copies(again), rest)
    assert ids(again) == ids(loader)
