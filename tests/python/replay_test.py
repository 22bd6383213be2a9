"""stoker.replay: a training loop's own limit."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import stoker
import torch
from stoker.torch import DataLoader
from trials import BATCH, EVAL, SAMPLES, ids, small_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_folder(tmp_path_factory)


@pytest.fixture
def loader(folder: Path) -> stoker.Loader:
    return stoker.Loader(folder, BATCH, EVAL, output="numpy", num_workers=1, return_ids=True)


@pytest.fixture
def drop_in(folder: Path) -> DataLoader:
    return DataLoader(stoker.FolderDataset(folder, transform=EVAL), BATCH, shuffle=True, return_ids=True)


@pytest.mark.parametrize("kind", ["loader", "drop_in"])
def test_replay_gives_the_same_batches_again_for_an_epoch(kind: str, request: pytest.FixtureRequest) -> None:
    loader = request.getfixturevalue(kind)
    again = stoker.replay(loader, 3)
    assert len(again) == len(loader)
    first, second = list(again), list(again)
    assert len(first) == len(second) == len(loader)
    assert all(batch is first[i % 3] for i, batch in enumerate(first))
    assert all(a is b for a, b in zip(first, second))
    assert len({tuple(map(int, batch[2])) for batch in first}) == 3


def test_replay_has_the_loaders_batches_and_none_of_its_memory(loader: stoker.Loader) -> None:
    want = [[field.copy() for field in batch] for batch in itertools.islice(loader, 2)]
    loader.set_epoch(0)
    again = stoker.replay(loader, 2)
    for images, *_ in loader:
        images.fill(0)
    loader.close()
    for batch, fields in zip(again, want):
        assert type(batch) is tuple
        assert all(np.array_equal(kept, field) for kept, field in zip(batch, fields, strict=True))


def test_replay_takes_no_more_than_an_epoch(loader: stoker.Loader) -> None:
    assert sorted(ids(stoker.replay(loader, 1000))) == list(range(SAMPLES))


def test_replay_is_for_other_loaders_too() -> None:
    tensor = torch.ones(2)
    again = stoker.replay([{"pixels": tensor, "names": ["a", "b"]}], 4)
    tensor.zero_()
    assert [{**batch, "pixels": batch["pixels"].tolist()} for batch in again] == [
        {"pixels": [1, 1], "names": ["a", "b"]}]


def test_replay_refuses_what_it_cannot_do(folder: Path, loader: stoker.Loader) -> None:
    with pytest.raises(ValueError, match="batches: 0"):
        stoker.replay(loader, 0)
    with pytest.raises(TypeError, match="len"):
        stoker.replay(iter([1]))
    with pytest.raises(TypeError, match="another output"):
        stoker.replay(stoker.Loader(folder, BATCH, EVAL, output="dlpack"))
