"""Iterators and loaders: left, dropped, doubled, kept, copied."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
import torch
from numpy.typing import NDArray
from stoker.torch import DataLoader

EVAL = stoker.eval(32)
BATCH = 8
SAMPLES = 60


@pytest.fixture
def loader(photo_folder: Path) -> stoker.Loader:
    return stoker.Loader(photo_folder, BATCH, EVAL, output="numpy", num_workers=1, return_ids=True)


@pytest.fixture
def drop_in(photo_folder: Path) -> DataLoader:
    return DataLoader(stoker.FolderDataset(photo_folder, transform=EVAL), BATCH, num_workers=1, return_ids=True)


def ids(batches: Iterator[Any] | Any) -> list[int]:
    return [int(i) for batch in batches for i in batch[2]]


def checksum(images: torch.Tensor | NDArray[np.float32]) -> float:
    return float(images.sum())


# Leaving a loop.


def test_break_leaves_a_loader_that_goes_on_with_the_next_epoch(loader: stoker.Loader) -> None:
    for _ in loader:
        break
    assert sorted(ids(loader)) == list(range(SAMPLES))


def test_an_exception_in_the_body_leaves_a_loader_that_goes_on(loader: stoker.Loader) -> None:
    with pytest.raises(ZeroDivisionError):
        for _ in loader:
            _ = 1 / 0
    assert sorted(ids(loader)) == list(range(SAMPLES))


MAKE: dict[str, Callable[[Path], Any]] = {
    "loader": lambda folder: stoker.Loader(folder, BATCH, EVAL, num_workers=1),
    "drop-in": lambda folder: DataLoader(stoker.FolderDataset(folder, transform=EVAL), BATCH, num_workers=1),
}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("take", [0, 1, 3, 9])
def test_a_loader_goes_with_the_last_reference_to_it(photo_folder: Path, kind: str, take: int) -> None:
    loader = MAKE[kind](photo_folder)
    gone = weakref.ref(loader)
    gc.disable()  # a cycle would wait for it, with threads and buffers
    try:
        for _ in itertools.islice(loader, take):
            pass
        assert gone() is not None
        del loader
        assert gone() is None
    finally:
        gc.enable()


def test_an_iterator_that_ended_stays_at_its_end(loader: stoker.Loader) -> None:
    iterator = iter(loader)
    assert sum(1 for _ in iterator) == len(loader)
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(iterator)
    iter(loader)
    with pytest.raises(StopIteration):
        next(iterator)


# Two iterators.


def test_the_older_iterator_of_a_loader_says_that_there_is_a_newer_one(loader: stoker.Loader) -> None:
    older = iter(loader)
    next(older)
    newer = iter(loader)
    with pytest.raises(stoker.Error, match="another iterator of this loader was made since.*make two loaders"):
        next(older)
    assert sorted(ids(newer)) == list(range(SAMPLES))


def test_zip_of_a_loader_with_itself_is_an_error(loader: stoker.Loader) -> None:
    with pytest.raises(stoker.Error, match="one at a time"):
        list(zip(loader, loader))


def test_iterators_of_a_drop_in_are_independent(drop_in: DataLoader) -> None:
    pairs = list(zip(drop_in, drop_in))
    assert ids(first for first, _ in pairs) == ids(second for _, second in pairs) == list(range(SAMPLES))
    assert all(torch.equal(first[0], second[0]) for first, second in pairs)


def test_loops_over_a_drop_in_nest(drop_in: DataLoader) -> None:
    assert [len(ids(drop_in)) for _ in drop_in] == [SAMPLES] * len(drop_in)


# Batches that are kept.


def test_images_outlive_loader_and_iterator(photo_folder: Path) -> None:
    loader = stoker.Loader(photo_folder, BATCH, EVAL, num_workers=1)
    images, labels = next(iter(loader))
    want, labels_want = images.clone(), labels.clone()
    del loader
    gc.collect()
    for _ in stoker.Loader(photo_folder, BATCH, EVAL, shuffle=False):
        pass  # would reuse memory that was given back
    assert torch.equal(images, want)
    assert torch.equal(labels, labels_want)


@pytest.mark.parametrize("view", ["slice", "reshape", "numpy", "flipped numpy"])
def test_a_slot_is_not_used_again_while_a_view_of_it_lives(photo_folder: Path, view: str) -> None:
    loader = stoker.Loader(photo_folder, BATCH, EVAL, num_workers=1, prefetch_factor=1)
    iterator = iter(loader)
    images, _ = next(iterator)
    kept: Any = {"slice": images[2:3, 1], "reshape": images.view(-1), "numpy": images.numpy(),
                 "flipped numpy": images.numpy()[::-1, ..., 3]}[view]
    want = checksum(kept)
    del images
    for _ in iterator:
        pass
    for _ in loader:
        pass
    assert checksum(kept) == want


def test_a_loader_whose_batches_are_all_kept_names_the_option(loader: stoker.Loader) -> None:
    iterator = iter(loader)
    kept = []
    with pytest.raises(stoker.Error, match=r"holds all \d+ batches.*prefetch_factor"):
        for batch in iterator:
            kept.append(batch)
    came = ids(kept)
    kept.clear()
    assert sorted(came + ids(iterator)) == list(range(SAMPLES))


@pytest.mark.parametrize("output", ["torch", "numpy", "dlpack"])
def test_labels_that_are_kept_hold_no_slot(photo_folder: Path, output: str) -> None:
    loader = stoker.Loader(photo_folder, BATCH, EVAL, prefetch_factor=1, num_workers=1, output=output)
    assert len([labels for _, labels in loader]) == len(loader)


def test_a_drop_in_grows_for_batches_that_are_kept(drop_in: DataLoader) -> None:
    batches = list(drop_in)
    assert ids(batches) == list(range(SAMPLES))
    again = iter(drop_in)
    assert all(torch.equal(kept[0], next(again)[0]) for kept in batches)
    assert drop_in.stalls().extra_slots_peak > 0


def test_a_drop_in_that_grew_shrinks_again(photo_folder: Path) -> None:
    loader = DataLoader(stoker.FolderDataset(photo_folder, transform=EVAL), 1, num_workers=1)
    kept = list(loader)
    grown = loader.stalls().extra_slots
    assert grown >= SAMPLES - loader.stalls().slots
    kept.clear()
    assert loader.stalls().extra_slots <= 2 * loader.stalls().slots
    assert loader.stalls().extra_slots_peak >= grown


def test_a_drop_in_past_its_memory_limit_warns_once(photo_folder: Path) -> None:
    dataset = stoker.FolderDataset(photo_folder, transform=EVAL)
    need = DataLoader(dataset, 4, num_workers=1, index="off").stalls().budget_bytes
    loader = DataLoader(dataset, 4, num_workers=1, index="off", memory_limit=need + 100_000)
    with pytest.warns(ResourceWarning, match="memory_limit") as warned:
        list(loader)
        list(loader)
    assert len(warned) == 1
    assert warned[0].filename == __file__


def test_a_drop_in_within_its_memory_limit_does_not_warn(drop_in: DataLoader) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(drop_in)


def test_a_closed_loader_says_so(loader: stoker.Loader) -> None:
    iterator = iter(loader)
    images, *_ = next(iterator)
    want = images.copy()
    loader.close()
    loader.close()
    with pytest.raises(stoker.Error, match="closed: make a new one"):
        next(iterator)
    assert (images == want).all()


# Copies.

COPIES = {"pickle": lambda loader: pickle.loads(pickle.dumps(loader)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("taken", [0, 3])
def test_a_copy_goes_on_where_the_loader_stood(loader: stoker.Loader, how: str, taken: int) -> None:
    next(iter(loader))  # so the epoch is the second
    iterator = iter(loader)
    for _ in range(taken):
        next(iterator)
    twin = COPIES[how](loader)
    rest = [(images.copy(), numbers) for images, _, numbers in iterator]
    twins = [(images.copy(), numbers) for images, _, numbers in twin]
    assert len(rest) == len(twins) == len(loader) - taken
    for (images, numbers), (twin_images, twin_numbers) in zip(rest, twins):
        assert (images == twin_images).all()
        assert (numbers == twin_numbers).all()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("taken", [0, 3])
def test_a_copy_of_a_drop_in_goes_on_where_it_stood(photo_folder: Path, how: str, taken: int) -> None:
    torch.manual_seed(3)
    dataset = stoker.FolderDataset(photo_folder, transform=stoker.train(32))
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, return_ids=True)
    iterator = iter(loader)
    for _ in range(taken):
        next(iterator)
    twin = COPIES[how](loader)
    rest = [[field.clone() for field in batch] for batch in iterator]
    twins = [[field.clone() for field in batch] for batch in twin]
    assert len(rest) == len(twins) == len(loader) - taken
    assert all(torch.equal(a, b) for batch, other in zip(rest, twins) for a, b in zip(batch, other))


def test_a_live_iterator_does_not_pickle(loader: stoker.Loader, drop_in: DataLoader) -> None:
    for iterator in (iter(loader), iter(drop_in)):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="alive and does not pickle: pickle the loader"):
                attempt(iterator)


def test_a_spawned_child_goes_on_with_a_pickled_loader(photo_folder: Path, run_script: Any) -> None:
    done = run_script("""
        import multiprocessing, sys
        import stoker

        def child(loader, queue):
            queue.put([int(i) for batch in loader for i in batch[2]])

        if __name__ == "__main__":
            loader = stoker.Loader(sys.argv[1], 8, stoker.eval(32), output="numpy", num_workers=1, return_ids=True)
            iterator = iter(loader)
            came = [int(i) for i in next(iterator)[2]]
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=child, args=(loader, queue))
            process.start()
            rest = queue.get(timeout=50)
            process.join()
            assert process.exitcode == 0
            assert rest == [int(i) for batch in iterator for i in batch[2]]
            assert sorted(came + rest) == list(range(60))
            print("both went on")
        """, photo_folder)
    assert done.stdout == "both went on\n"
    assert done.stderr == ""
