"""An epoch of the drop-in: what is drawn for each sample, and how it ends."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from photographs import FIXED, RANDOM, SAMPLES, copies, ids, make_folder, same_batches
from samplers import Sized
from stoker.torch import DataLoader
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("epoch"))


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Any:
    return ImageFolder(folder, FIXED)


# What is drawn for each sample.


def _crops(folder: Path, **arguments: Any) -> list[list[torch.Tensor]]:
    """Random crops and flips of the same picture, so that two that are alike were drawn alike."""
    return list(copies(DataLoader(ImageFolder(folder, RANDOM), batch_size=4, return_ids=True, **arguments)))


def _rows(batches: list[list[torch.Tensor]]) -> set[bytes]:
    return {row.numpy().tobytes() for batch in batches for row in batch[0]}


@pytest.mark.parametrize("num_workers", [1, 2, 4, "auto"])
def test_bytes_do_not_depend_on_the_number_of_workers(folder: Path, num_workers: int | str) -> None:
    torch.manual_seed(0)
    expected = _crops(folder, shuffle=True, num_workers=0)
    torch.manual_seed(0)
    assert same_batches(_crops(folder, shuffle=True, num_workers=num_workers), expected)


@pytest.mark.parametrize("persistent_workers", [False, True])
def test_no_two_samples_or_epochs_draw_the_same(folder: Path, persistent_workers: bool) -> None:
    dataset = ImageFolder(folder, RANDOM)
    loader = DataLoader(dataset, batch_size=8, sampler=[0] * 64, num_workers=4, persistent_workers=persistent_workers)
    epochs = [list(copies(loader)) for _ in range(2)]
    assert len(_rows(epochs[0])) > 60  # two crops may be equal by chance
    assert len(_rows(epochs[0]) & _rows(epochs[1])) < 3


def test_each_sample_comes_once(folder: Path) -> None:
    dataset = ImageFolder(folder, RANDOM)
    for num_workers in (1, 4):
        assert sorted(ids(DataLoader(dataset, shuffle=True, num_workers=num_workers, return_ids=True))) == list(
            range(SAMPLES))


def test_ranks_draw_differently_at_the_same_place(folder: Path) -> None:
    dataset = ImageFolder(folder, RANDOM)
    drawn = []
    for rank in range(2):
        torch.manual_seed(0)
        sampler: Any = Sized(32, lambda: iter([0] * 32))
        sampler.num_replicas, sampler.rank = 2, rank
        drawn.append(_rows(list(copies(DataLoader(dataset, batch_size=8, sampler=sampler)))))
    assert len(drawn[0] & drawn[1]) < 3


def test_the_seed_decides_the_crops(folder: Path) -> None:
    runs = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        runs.append(_crops(folder, shuffle=False))
    assert same_batches(runs[0], runs[1])
    assert not same_batches(runs[0], runs[2])


# Where an epoch ends.


@pytest.mark.parametrize("samples", [1, 7, 8, 9, 17])
@pytest.mark.parametrize("drop_last", [False, True])
def test_no_batch_is_empty_and_the_length_stays(folder: Path, samples: int, drop_last: bool) -> None:
    dataset = torch.utils.data.Subset(ImageFolder(folder, FIXED), range(samples))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = DataLoader(dataset, batch_size=8, drop_last=drop_last)
    for _ in range(3):
        sizes = [len(batch[0]) for batch in loader]
        assert len(sizes) == len(loader) == (samples // 8 if drop_last else -(-samples // 8))
        assert sum(sizes) == (samples // 8 * 8 if drop_last else samples)
        assert 0 not in sizes


def test_a_last_batch_of_one_has_all_its_dimensions(folder: Path) -> None:
    dataset = torch.utils.data.Subset(ImageFolder(folder, FIXED), range(9))
    *_, (images, labels) = copies(DataLoader(dataset, batch_size=8))
    assert images.shape == (1, 3, 10, 12)
    assert labels.shape == (1,)


def test_fewer_samples_than_a_batch_are_warned_about_once(dataset: Any) -> None:
    with pytest.warns(UserWarning, match="26 samples are less than one batch of 32") as caught:
        loader = DataLoader(dataset, batch_size=32, drop_last=True)
        assert len(loader) == 0
        assert [list(loader), list(loader)] == [[], []]
    assert len(caught) == 1
