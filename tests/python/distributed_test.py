"""How samples are shared out among ranks: by the sampler in the drop-in, by itself in stoker.Loader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from photographs import FIXED, RANDOM, SAMPLES, Indices, batches_of_ids, copies, ids, make_folder
from stoker.torch import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("distributed"))


# One rank of two: what it loads and what is said, as JSON.
_RANK = """
import json, sys, warnings
import torch
from photographs import FIXED, ids
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import ImageFolder
import stoker
from stoker.torch import DataLoader

folder, store, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
dataset = ImageFolder(folder, FIXED)
told = {}

def warned(make):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = make()
        told[make.__name__] = [ids(loader), ids(loader), [str(one.message) for one in caught]]
    return loader

def before():
    return DataLoader(dataset, batch_size=4, return_ids=True)

early = warned(before)
torch.distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)

def made_before():
    return early
def plain():
    return DataLoader(dataset, batch_size=4, return_ids=True)
def sharded():
    return DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset, shuffle=False), return_ids=True)
def own():
    return stoker.Loader(dataset, 4, shuffle=False, return_ids=True)
def told_otherwise():
    return stoker.Loader(dataset, 4, shuffle=False, return_ids=True, rank=0, world_size=1)

for make in (made_before, plain, sharded, own, told_otherwise):
    warned(make)
torch.distributed.barrier()
torch.distributed.destroy_process_group()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def group(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes of one gloo group tell."""
    store = tmp_path_factory.mktemp("store") / "store"
    # Told another world than the group's: the group's counts.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RANK": "5", "WORLD_SIZE": "7"}
    ranks = [subprocess.Popen([sys.executable, "-c", _RANK, folder, store, str(rank)], stdout=subprocess.PIPE,
                              env=environment) for rank in range(2)]
    answers = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    return [json.loads(answer.splitlines()[-1]) for answer in answers]


def test_an_unsharded_sampler_is_warned_about_once(group: list[dict[str, Any]]) -> None:
    for rank in group:
        assert rank["before"] == [list(range(SAMPLES))] * 2 + [[]]
        for name in ("made_before", "plain"):
            assert rank[name][:2] == [list(range(SAMPLES))] * 2
            assert len(rank[name][2]) == 1
            assert "num_replicas" in rank[name][2][0]
            assert "DistributedSampler" in rank[name][2][0]


def test_a_sharded_sampler_is_not(group: list[dict[str, Any]]) -> None:
    for number, rank in enumerate(group):
        assert rank["sharded"] == [list(range(number, SAMPLES, 2))] * 2 + [[]]


def test_the_plain_loader_shards_by_the_group(group: list[dict[str, Any]]) -> None:
    for number, rank in enumerate(group):
        assert rank["own"] == [list(range(number, SAMPLES, 2))] * 2 + [[]]
        assert rank["told_otherwise"] == [list(range(SAMPLES))] * 2 + [[]]


def test_one_rank_needs_no_sampler(folder: Path, tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(ids(DataLoader(ImageFolder(folder, FIXED), return_ids=True))) == SAMPLES
    finally:
        torch.distributed.destroy_process_group()


# stoker.Loader without a group.


def _plain(folder: Path, **arguments: Any) -> list[list[int]]:
    return batches_of_ids(stoker.Loader(folder, 4, FIXED, return_ids=True, **arguments))


@pytest.mark.parametrize("world_size", [2, 3, 4])
@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks_share_an_epoch(folder: Path, world_size: int, drop_last: bool) -> None:
    """As DistributedSampler shares its own: as many batches for each, twice only what fills up."""
    seen: list[int] = []
    lengths = set()
    for rank in range(world_size):
        batches = _plain(folder, rank=rank, world_size=world_size, seed=3, drop_last=drop_last)
        loader = stoker.Loader(folder, 4, FIXED, rank=rank, world_size=world_size, drop_last=drop_last)
        assert len(batches) == len(loader)
        assert all(batches)
        lengths.add(len(batches))
        seen += sum(batches, [])
    assert len(lengths) == 1
    if drop_last:
        assert len(seen) == len(set(seen)) == SAMPLES // world_size // 4 * 4 * world_size
    else:
        assert set(seen) == set(range(SAMPLES))
        assert len(seen) == -(-SAMPLES // world_size) * world_size


def test_more_ranks_than_divide_the_samples_go_in_step(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, 17)
    runs = [[_plain(folder, rank=rank, world_size=6)] * 2 for rank in range(6)]
    assert {len(epoch) for epochs in runs for epoch in epochs} == {1}
    assert set(sum((sum(epochs[0], []) for epochs in runs), [])) == set(range(17))


def test_the_environment_shards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert sum(_plain(folder, shuffle=False), []) == [*range(1, SAMPLES, 3)]
    assert sum(_plain(folder, shuffle=False, rank=0, world_size=1), []) == list(range(SAMPLES))
    # The drop-in is sharded by its sampler alone, as torch's.
    assert len(ids(DataLoader(ImageFolder(folder, FIXED), return_ids=True))) == SAMPLES


@pytest.mark.parametrize(("arguments", "says"), [
    ({"rank": 0}, "rank and world_size"), ({"world_size": 2}, "rank and world_size"),
    ({"rank": 2, "world_size": 2}, "rank"), ({"rank": -1, "world_size": 2}, "rank"),
    ({"rank": 0, "world_size": 0}, "world_size"),
])
def test_a_place_that_is_none_is_an_error(folder: Path, arguments: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        _plain(folder, **arguments)


def test_epochs_differ_without_a_call(folder: Path) -> None:
    loader = stoker.Loader(folder, 4, FIXED, return_ids=True, rank=0, world_size=2)
    epochs = [ids(loader) for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    loader.set_epoch(1)
    assert ids(loader) == epochs[1]
    assert ids(loader) == epochs[2]


def test_ranks_and_epochs_draw_other_crops(folder: Path, tmp_path: Path) -> None:
    picture = ImageFolder(folder).samples[0][0]
    dataset = stoker.FileDataset([picture] * 64, [0] * 64, transform=RANDOM)
    drawn = []
    for rank in range(2):
        own = stoker.Loader(dataset, 8, rank=rank, world_size=2)
        torch.manual_seed(0)
        sampler: Any = DistributedSampler(Indices(64), 2, rank)
        loader = DataLoader(dataset, batch_size=8, sampler=sampler)
        runs: list[Any] = [own, loader, own, loader]
        for epoch, batches in enumerate(runs):
            sampler.set_epoch(epoch)
            drawn.append({row.numpy().tobytes() for batch in copies(batches) for row in batch[0]})
    assert all(len(crops) > 28 for crops in drawn)  # two of 32 may be alike by chance
    assert len(set.union(*drawn)) > 8 * 28


def test_the_number_of_workers_changes_nothing(folder: Path) -> None:
    runs = []
    for num_workers in (0, 1, 2, 4):
        loader = stoker.Loader(folder, 4, RANDOM, seed=1, num_workers=num_workers, rank=1, world_size=2)
        runs.append([field.numpy().tobytes() for _ in range(2) for batch in copies(loader) for field in batch])
    assert runs.count(runs[0]) == 4


@pytest.mark.parametrize("world_size", [1, 2])
def test_fewer_samples_than_a_batch_are_warned_about_once(folder: Path, world_size: int) -> None:
    with pytest.warns(UserWarning, match="drop_last") as caught:
        loader = stoker.Loader(folder, 27, FIXED, drop_last=True, rank=0, world_size=world_size)
        assert len(loader) == 0
        assert [list(loader), list(loader)] == [[], []]
    assert len(caught) == 1
