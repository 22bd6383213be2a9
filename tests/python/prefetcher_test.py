"""Other loaders' batches through stoker.torch.Prefetcher: on the simulated device, and on the fake driver's."""

from __future__ import annotations

import collections
import gc
import itertools
import logging
import pickle
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch
from stoker.torch import Prefetcher
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import TensorDataset

DEVICES = ["sim", "cpu"]


class Pair(NamedTuple):
    image: Any
    rest: Any


class Source:
    """Iterable as often as one likes; knows what became of its iterators."""

    def __init__(self, batches: Any) -> None:
        self.batches = batches
        self.open = 0
        self.pulled = 0

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Any]:
        self.open += 1
        try:
            for batch in self.batches:
                self.pulled += 1
                yield batch
        finally:
            self.open -= 1


def same(got: Any, want: Any) -> bool:
    if isinstance(want, torch.Tensor):
        alike = (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
        return alike and torch.equal(got, want)
    if isinstance(want, dict | collections.UserDict):
        return type(got) is type(want) and list(got) == list(want) and all(same(got[key], want[key]) for key in want)
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))
    return got is want


def batches(count: int, size: int = 100) -> list[torch.Tensor]:
    return [torch.full((size,), number) for number in range(count)]


def feeding() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "stoker-prefetcher"]


def wait_until(condition: Any) -> None:
    while not condition():
        time.sleep(0.001)


# What comes.


@pytest.mark.parametrize("device", DEVICES)
def test_gives_what_the_loader_gives(device: str) -> None:
    word = object()
    want = [
        torch.randn(4, 3, 8, 8),
        (torch.randn(4, 3, 8, 8, dtype=torch.float64), torch.arange(4)),
        [torch.tensor(7), "name", word, None, 3],
        Pair(torch.zeros(2, 3, dtype=torch.bfloat16), Pair(torch.tensor([True, False]), ())),
        {"image": torch.randn(2, 3, dtype=torch.complex64), "more": {"deep": [torch.ones(1, dtype=torch.uint8)]}},
        collections.OrderedDict(a=torch.empty(0, 7), b=torch.ones(3, dtype=torch.int16)),
        collections.UserDict(a=torch.ones(5, dtype=torch.float16)),
        torch.randn(4, 3, 8, 8).to(memory_format=torch.channels_last),
        torch.ones(1, 1, 1, 1),
        "no tensor at all",
        (),
    ]
    prefetcher = Prefetcher(Source(want), device)
    assert len(prefetcher) == len(want)
    for _ in range(2):
        got = list(prefetcher)
        assert len(got) == len(want)
        assert all(map(same, got, want)), (got, want)


def test_tensors_with_gaps_and_lazy_bits_come_dense() -> None:
    want = [torch.arange(20).view(4, 5).t(), torch.arange(20)[::3], torch.ones(3).expand(4, 3),
            torch.randn(3, dtype=torch.complex64).conj(), torch.ones(2, requires_grad=True)]
    for got, one in zip(Prefetcher(want, "sim"), want):
        assert torch.equal(got, one)
        assert got.is_contiguous() and not got.requires_grad


def test_tensors_that_are_not_dense_host_memory_are_handed_on() -> None:
    want = [torch.eye(3).to_sparse(), torch.empty(3, device="meta")]
    assert all(got is one for got, one in zip(Prefetcher(want, "sim"), want))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_torch_loader_gives_the_order_that_it_gives_alone(workers: int) -> None:
    loader = TorchLoader(TensorDataset(torch.arange(40), torch.randn(40, 3)), 6, shuffle=True, num_workers=workers)
    torch.manual_seed(3)
    want = [list(loader) for _ in range(2)]
    torch.manual_seed(3)
    prefetcher = Prefetcher(loader, "sim")
    for epoch in want:
        assert all(map(same, prefetcher, epoch))


def test_what_comes_is_torchs_own_memory() -> None:
    got = list(Prefetcher(batches(50), "sim", depth=1))  # kept: more than there are buffers
    got[7].fill_(-1)
    assert [int(one[0]) for one in got] == [*range(7), -1, *range(8, 50)]


def test_batches_may_grow_which_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    sizes = [10, 20_000, 500, 21_000, 0, 90_000, 1]
    with caplog.at_level(logging.INFO, "stoker"):
        got = list(Prefetcher([torch.full((size,), size % 256, dtype=torch.uint8) for size in sizes], "sim"))
    assert [len(one) for one in got] == sizes
    assert all((one == len(one) % 256).all() for one in got)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and "a batch of 20224 bytes" in said[0] and "a batch of 90112 bytes" in said[1]


# Ends.


@pytest.mark.parametrize("device", DEVICES)
def test_an_iterator_that_ended_stays_at_its_end(device: str) -> None:
    iterator = iter(Prefetcher(batches(3), device))
    assert len(list(iterator)) == 3
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


def test_what_the_loader_raises_comes_after_the_batches_before_it() -> None:
    def failing() -> Iterator[torch.Tensor]:
        yield from batches(5)
        raise KeyError("no such sample")

    class Failing:
        def __iter__(self) -> Iterator[torch.Tensor]:
            return failing()

    prefetcher = Prefetcher(Failing(), "sim")
    for _ in range(2):
        iterator = iter(prefetcher)
        assert [int(next(iterator)[0]) for _ in range(5)] == list(range(5))
        with pytest.raises(KeyError, match="no such sample"):
            next(iterator)
        with pytest.raises(StopIteration):
            next(iterator)


@pytest.mark.parametrize("take", [0, 1, 3])
def test_a_loop_that_is_left_closes_the_loaders_iterator(take: int) -> None:
    source = Source(batches(1000))
    prefetcher = Prefetcher(source, "sim")
    for _ in itertools.islice(iter(prefetcher), take):
        pass
    wait_until(lambda: source.open == 0 and not feeding())
    assert source.pulled < 20
    assert len(list(prefetcher)) == 1000


def test_a_loop_over_a_loader_that_keeps_its_workers_may_be_left() -> None:
    loader = TorchLoader(TensorDataset(torch.arange(400)), 4, num_workers=2, persistent_workers=True)
    prefetcher = Prefetcher(loader, "sim")
    for _ in range(3):
        next(iter(prefetcher))
    assert torch.equal(torch.cat([one for one, in prefetcher]), torch.arange(400))


def test_all_goes_with_the_last_reference() -> None:
    prefetcher = Prefetcher(batches(1000), "sim")
    iterator = iter(prefetcher)
    gone: list[weakref.ref[Any]] = [weakref.ref(prefetcher), weakref.ref(iterator)]
    gc.disable()  # a cycle would wait for it
    try:
        next(iterator)
        del prefetcher, iterator
        assert [reference() for reference in gone] == [None, None]
        wait_until(lambda: not feeding())
    finally:
        gc.enable()


def test_iterators_are_independent() -> None:
    prefetcher = Prefetcher(batches(20), "sim")
    assert all(torch.equal(one, other) for one, other in zip(prefetcher, prefetcher))


def test_threads_that_share_an_iterator_get_each_batch_once() -> None:
    iterator = iter(Prefetcher(batches(300), "sim"))
    came: list[int] = []
    threads = [threading.Thread(target=lambda: came.extend(int(one[0]) for one in iterator)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(came) == list(range(300))


def test_refuses_what_it_cannot_do() -> None:
    for depth in (0, 65):
        with pytest.raises(ValueError, match=rf"depth: {depth} \(allowed: 1 to 64\)"):
            Prefetcher([], "sim", depth=depth)
    with pytest.raises(ValueError, match="not to mps"):
        Prefetcher([], "mps")
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(iter(Prefetcher([], "sim")))


# The verdict.


def test_the_verdict_names_a_slow_loader() -> None:
    def slow() -> Iterator[torch.Tensor]:
        for batch in batches(10):
            time.sleep(0.02)
            yield batch

    prefetcher = Prefetcher(slow(), "sim")
    list(prefetcher)
    stalls = prefetcher.stalls()
    assert "highly loader-bound; the wrapped loader takes" in stalls.verdict
    assert max(stalls.shares, key=stalls.shares.__getitem__) == "io"
    assert sum(stalls.shares.values()) == pytest.approx(1)
    assert stalls.batches == 10 and "source" in str(stalls)


def test_the_verdict_names_a_slow_trainer() -> None:
    prefetcher = Prefetcher(batches(10), "sim")
    for _ in prefetcher:
        time.sleep(0.02)
    assert prefetcher.stalls().verdict.startswith("not loader-bound; consumer-bound")
    prefetcher.reset_stalls()
    assert prefetcher.stalls().batches == 0


def test_the_cpu_has_no_verdict() -> None:
    prefetcher = Prefetcher(batches(3), "cpu")
    list(prefetcher)
    prefetcher.reset_stalls()
    assert "nothing is measured" in prefetcher.stalls().verdict
