"""A run that was broken off goes on as if it had not been: the same samples, the same bytes."""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from photographs import RANDOM, SAMPLES, Indices, batches_of_ids, copies, make_folder, same_batches, saved
from samplers import Counted, Listed, Numbered, Redrawn, Undrawable
from stoker import sampling
from stoker.torch import DataLoader
from torch.utils.data import RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]
from torchdata.stateful_dataloader.sampler import RandomSampler as TorchdataRandom  # type: ignore[import-untyped]
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

BATCH = 4
BATCHES = -(-SAMPLES // BATCH)
EVERY = Indices(SAMPLES)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ImageFolder(make_folder(tmp_path_factory.mktemp("resume")), RANDOM)


def _own_generator() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(8)
    return {"sampler": RandomSampler(EVERY, generator=generator)}


SETTINGS: dict[str, Callable[[], dict[str, Any]]] = {
    "in order": dict,
    "shuffled": lambda: {"shuffle": True},
    "generator": lambda: {"shuffle": True, "generator": torch.Generator().manual_seed(4)},
    "generator of a run in order": lambda: {"generator": torch.Generator().manual_seed(4)},
    "the sampler's own generator": _own_generator,
    "two generators": lambda: {**_own_generator(), "generator": torch.Generator().manual_seed(2)},
    "persistent workers": lambda: {"shuffle": True, "persistent_workers": True,
                                   "generator": torch.Generator().manual_seed(4)},
    "persistent workers, no generator": lambda: {"shuffle": True, "persistent_workers": True},
    "drop_last": lambda: {"shuffle": True, "drop_last": True},
    "replacement": lambda: {"sampler": RandomSampler(EVERY, replacement=True, num_samples=50)},
    "subset": lambda: {"sampler": SubsetRandomSampler(range(18))},
    "weighted": lambda: {"sampler": WeightedRandomSampler([1.0 + i for i in range(SAMPLES)], 30)},
    "distributed": lambda: {"sampler": DistributedSampler(EVERY, 2, 1, seed=3)},
    "distributed, in order": lambda: {"sampler": DistributedSampler(EVERY, 2, 0, shuffle=False, drop_last=True)},
    "torchdata's random": lambda: {"sampler": TorchdataRandom(EVERY, generator=torch.Generator().manual_seed(6))},
    "torchdata's distributed": lambda: {"sampler": StatefulDistributedSampler(EVERY, 2, 0)},
    "its own state": lambda: {"sampler": Numbered()},
    "its own count": lambda: {"sampler": Counted()},
    "its own count, and a generator": lambda: {"sampler": Counted(), "generator": torch.Generator().manual_seed(4)},
    "its own list": lambda: {"sampler": Listed()},
    "drawn again": lambda: {"sampler": Redrawn()},
    "a list": lambda: {"sampler": list(range(20, 0, -1))},
}


def _loader(dataset: Any, name: str, num_workers: int) -> Any:
    settings = SETTINGS[name]()
    if settings.get("persistent_workers"):
        num_workers = max(num_workers, 1)
    return DataLoader(dataset, batch_size=BATCH, num_workers=num_workers, return_ids=True, **settings)


def _begin_epoch(loader: Any, epoch: int) -> Any:
    loader.set_epoch(epoch)
    return iter(loader)


def _rest_and_more(batches: Any, loader: Any, epoch: int) -> list[Any]:
    """The rest of an epoch and the whole of the next two, where something else draws from torch's generator between."""
    rest = [list(copies(batches))]
    for later in range(epoch + 1, epoch + 3):
        torch.rand(3)
        rest.append(list(copies(_begin_epoch(loader, later))))
    return rest


def _same(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(map(same_batches, first, second))


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("done", [0, 1, 3, "all"])
@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_left_is_the_same(dataset: Any, name: str, done: int | str, epoch: int) -> None:
    torch.manual_seed(0)
    loader = _loader(dataset, name, 1)
    for earlier in range(epoch):
        list(_begin_epoch(loader, earlier))
    batches = _begin_epoch(loader, epoch)
    for _ in range(len(loader) if done == "all" and name != "drawn again" else 7 if done == "all" else int(done)):
        next(batches)
    state, rng = saved(loader.state_dict()), torch.get_rng_state()
    unbroken = _rest_and_more(batches, loader, epoch)

    for num_workers in (0, 3):
        torch.manual_seed(12345)
        again = _loader(dataset, name, num_workers)
        again.load_state_dict(copy.deepcopy(state))
        torch.set_rng_state(rng)
        assert _same(_rest_and_more(iter(again), again, epoch), unbroken)


@pytest.mark.parametrize("name", SETTINGS)
def test_between_epochs_the_next_one_is_the_same(dataset: Any, name: str) -> None:
    torch.manual_seed(0)
    loader = _loader(dataset, name, 1)
    for epoch in range(2):
        list(_begin_epoch(loader, epoch))
    state, rng = saved(loader.state_dict()), torch.get_rng_state()
    unbroken = list(copies(_begin_epoch(loader, 2)))
    again = _loader(dataset, name, 0)
    again.load_state_dict(state)
    torch.set_rng_state(rng)
    assert same_batches(copies(_begin_epoch(again, 2)), unbroken)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_second_break_is_as_good_as_the_first(dataset: Any, name: str) -> None:
    torch.manual_seed(0)
    loader = _loader(dataset, name, 2)
    epoch = list(copies(_begin_epoch(loader, 0)))
    torch.manual_seed(0)
    got: list[list[torch.Tensor]] = []
    loader = _loader(dataset, name, 2)
    batches = _begin_epoch(loader, 0)
    for _ in range(3):
        got += copies(itertools.islice(batches, 1))
        state = saved(loader.state_dict())
        torch.manual_seed(77)
        loader = _loader(dataset, name, 0)
        loader.load_state_dict(state)
        assert saved(loader.state_dict()).keys() == state.keys()  # before it goes on, too
        batches = iter(loader)
        assert loader.state_dict()["order"]["done"] == state["order"]["done"]
    assert same_batches([*got, *copies(batches)], epoch)


def test_an_endless_sampler_is_found_again_by_its_chunks(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_CHUNK", 16)
    for done in (1, 4, 5, 11):
        torch.manual_seed(0)
        loader = DataLoader(dataset, batch_size=BATCH, sampler=Redrawn(endless=True), num_workers=1, return_ids=True)
        batches = iter(loader)
        list(itertools.islice(batches, done))
        state = saved(loader.state_dict())
        rest = list(copies(itertools.islice(batches, 6)))
        again = DataLoader(dataset, batch_size=BATCH, sampler=Redrawn(endless=True), return_ids=True)
        again.load_state_dict(state)
        # Later chunks follow torch's generator.
        assert same_batches(list(copies(itertools.islice(iter(again), 6)))[: 4 - done % 4], rest[: 4 - done % 4])


def test_a_resumed_run_leaves_torchs_generator_alone(dataset: Any) -> None:
    loader = _loader(dataset, "shuffled", 1)
    next(iter(loader))
    again = _loader(dataset, "shuffled", 1)
    again.load_state_dict(loader.state_dict())
    before = torch.get_rng_state()
    list(again)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_resumed_epoch_that_is_left_costs_the_same(dataset: Any) -> None:
    loader = _loader(dataset, "generator", 1)
    batches = iter(loader)
    next(batches)
    again = _loader(dataset, "generator", 1)
    again.load_state_dict(saved(loader.state_dict()))
    next(batches), next(iter(again))
    assert batches_of_ids(again) == batches_of_ids(loader)


def test_a_loader_that_was_never_asked_has_a_state(dataset: Any) -> None:
    loader = _loader(dataset, "generator", 1)
    state = saved(loader.state_dict())
    expected = list(copies(loader))
    again = _loader(dataset, "generator", 1)
    again.generator.manual_seed(1)
    again.load_state_dict(state)
    assert same_batches(copies(again), expected)


@pytest.mark.parametrize("done", [2, BATCHES])
def test_epochs_are_counted_as_torchdata_counts_them(dataset: Any, done: int) -> None:
    """After the last batch the epoch is still there, with nothing left; after its end the next one comes."""
    for finish in (False, True):
        lengths = []
        for make in (lambda: StatefulDataLoader(EVERY, batch_size=BATCH, shuffle=True),
                     lambda: DataLoader(dataset, batch_size=BATCH, shuffle=True)):
            loader: Any = make()
            batches = iter(loader)
            list(itertools.islice(batches, done))
            if finish:
                list(batches)
            again: Any = make()
            again.load_state_dict(loader.state_dict())
            lengths.append([len(list(again)) for _ in range(2)])
        assert lengths[0] == lengths[1] == [BATCHES if finish else BATCHES - done, BATCHES]


def test_skipped_samples_do_not_shift_the_place(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, 12)
    dataset = ImageFolder(folder, RANDOM)
    for index in (1, 2, 7):
        Path(dataset.samples[index][0]).write_bytes(b"")
    settings: Any = {"batch_size": 3, "on_error": "skip", "return_ids": True, "shuffle": True}
    loader = DataLoader(dataset, generator=torch.Generator().manual_seed(1), **settings)
    batches = iter(loader)
    next(batches), next(batches)
    state = saved(loader.state_dict())
    again = DataLoader(dataset, generator=torch.Generator(), num_workers=2, **settings)
    again.load_state_dict(state)
    assert same_batches(copies(again), copies(batches))


# What cannot be found again says so.


def test_a_sampler_that_draws_otherwise_is_an_error(dataset: Any) -> None:
    loader = DataLoader(dataset, batch_size=8, sampler=Undrawable())
    next(iter(loader)), next(iter(loader))
    again = DataLoader(dataset, batch_size=8, sampler=Undrawable())
    again.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match=r"Undrawable.*state_dict\(\)"):
        iter(again)


def test_another_samplers_order_drawn_again_is_logged(dataset: Any, caplog: pytest.LogCaptureFixture) -> None:
    for sampler, messages in ((Redrawn(), 1), (SequentialSampler(EVERY), 0), (Numbered(), 0)):
        caplog.clear()
        loader = DataLoader(dataset, batch_size=4, sampler=sampler)
        next(iter(loader))
        again = DataLoader(dataset, batch_size=4, sampler=copy.deepcopy(sampler))
        with caplog.at_level(logging.WARNING, "stoker"):
            again.load_state_dict(loader.state_dict())
            iter(again)
        assert len(caplog.records) == messages
        assert all("Redrawn" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(("then", "now", "says"), [
    (lambda: {"sampler": DistributedSampler(EVERY, 2, 0, seed=1)},
     lambda: {"sampler": DistributedSampler(EVERY, 2, 0, seed=2)}, "'seed': 2"),
    (lambda: {"sampler": DistributedSampler(EVERY, 2, 0)}, lambda: {"shuffle": True}, "dealt out"),
    (lambda: {"shuffle": True}, lambda: {"sampler": DistributedSampler(EVERY, 2, 0)}, "dealt out"),
    (lambda: {"shuffle": True, "generator": torch.Generator()}, lambda: {"shuffle": True}, "generators"),
    (lambda: {"shuffle": True}, dict, "gave another order"),
])
def test_another_order_is_an_error(dataset: Any, then: Callable[[], Any], now: Callable[[], Any], says: str) -> None:
    loader = DataLoader(dataset, batch_size=8, **then())
    batches = iter(loader)
    next(batches)
    again = DataLoader(dataset, batch_size=8, **now())
    with pytest.raises(ValueError, match=says):
        again.load_state_dict(loader.state_dict())
        iter(again)


def test_another_world_needs_a_sampler_that_deals_anew(dataset: Any) -> None:
    def sampler(world_size: int) -> Any:
        sampler: Any = Redrawn()
        sampler.num_replicas, sampler.rank = world_size, 0
        return sampler

    loader = DataLoader(dataset, batch_size=8, sampler=sampler(2))
    next(iter(loader))
    again = DataLoader(dataset, batch_size=8, sampler=sampler(3))
    again.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match="world of 2, this one has 3"):
        iter(again)


@pytest.mark.parametrize("make", [lambda data: DataLoader(data), lambda data: stoker.Loader(data)])
def test_another_versions_state_is_an_error(dataset: Any, make: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match="version 99"):
        make(dataset).load_state_dict({"version": 99})
