"""Any loader's batches on a GPU: copied ahead of the step, and with a word on what holds it back."""

from __future__ import annotations

import atexit
import copy
import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from stoker import _core
from stoker.cores import close_at_exit
from stoker.cuda import stream_of, torch_device

__all__ = ["Prefetcher", "Stalls"]

_log = logging.getLogger("stoker")
_running: weakref.WeakKeyDictionary[Thread, _core.ForeignBatches] = weakref.WeakKeyDictionary()
_EXIT_PATIENCE = 2.0
"""Seconds that the interpreter's end may wait for loaders to give their next batch. A thread that is in torch's native
code when Python ends it ends the process by abort."""
_ALIGNMENT = 256
"""Of tensors in a batch's memory: as CUDA's own allocations, so that every type and kernel finds what it wants."""


class Prefetcher:
    """Gives another loader's batches on a CUDA device, copied ahead of the training step.

        for images, labels in stoker.torch.Prefetcher(loader, "cuda"):
            ...

    For loaders that are not Stoker's: torch's DataLoader, or any iterable. Iterating gives what it gives, with every
    dense tensor in host memory replaced by one on the device; tuples, named tuples, lists and dicts are looked through,
    everything else is handed on. A thread of this class pulls the next batch and copies it into page-locked memory, so
    the loader needs no pin_memory; from there it crosses on a stream of its own. Tensors are ready for work on the
    stream that is current at ``next()``, and torch's own: keep, free and use them as any other.

    iterable: ``iter()`` of it is called in the caller's thread, once for each of this; its batches are pulled by the
        other one. What it draws from global generators while it is pulled is drawn beside what the caller draws.
    device: a CUDA device; "cpu" hands everything on as it comes; "sim" copies through a simulated device and back.
    depth: batches on the device ahead of the step, 1 to 64. Each takes the memory of the largest batch; where one is
        larger than all before it, memory is taken anew, which is logged (``logging.getLogger("stoker")``).

    Raises ValueError naming a bad argument, :class:`stoker.Error` where the device is not to be had or fails, and from
    ``next()`` what the loader raises. Threads may share an iterator. The GIL is free while it waits.
    """

    def __init__(self, iterable: Iterable[Any], device: str | torch.device = "cuda", *, depth: int = 2) -> None:
        self._iterable = iterable
        self._depth = depth
        self._name, self._stream = self._open(device)
        self._latest_core = self._make_core() if self._name != "cpu" else None
        # A native part that is not in use, and the thread that has left it or is about to.
        self._idle: tuple[_core.ForeignBatches, Thread | None] | None = None
        if self._latest_core is not None:
            self._idle = self._latest_core, None

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        if self._name == "cpu":
            return iter(self._iterable)
        idle, self._idle = self._idle, None
        core, last = idle or (self._make_core(), None)
        if last is not None:
            last.join()  # before iter(): a loader that keeps its workers has one iterator, and that thread may be in it
        self._latest_core = core
        return _Batches(self, core, iter(self._iterable))

    def stalls(self) -> Stalls:
        """What held the trainer back since the newest iterator got its buffers: ``print`` it, or read its fields."""
        if self._latest_core is None:
            return Stalls({"verdict": "nothing is measured: batches for the cpu are handed on as they come",
                           "advice": "Name a device.", "device": self._name})
        return Stalls(self._latest_core.stalls().to_dict())

    def reset_stalls(self) -> None:
        """Begins the report anew."""
        if self._latest_core is not None:
            self._latest_core.reset_stalls()

    def _open(self, device: str | torch.device) -> tuple[str, Callable[[], int]]:
        """The native name of a device, and what asks for the caller's current stream there."""
        if device == "sim":
            return "sim", lambda: 0
        place = torch_device(device)
        if place is None:
            return "cpu", lambda: 0
        return str(place), lambda: stream_of(place)

    def _bytes_of(self, array: _core.Array) -> torch.Tensor:
        """A batch as it lies on the device."""
        return from_dlpack(array)

    def _make_core(self) -> _core.ForeignBatches:
        core = _core.ForeignBatches(self._name, self._depth)
        close_at_exit(core)
        return core


class Stalls(_core.StallReport):
    """What held a trainer back: a :class:`stoker.StallReport` whose samples are batches. Of its stages "io" is the
    wrapped loader, whatever it does, "copy" the way to the device, "consumer" the training step, and "runtime" the copy
    into page-locked memory and hand-overs. What a wrapped loader does not tell is 0.
    """

    __slots__ = ()

    @property
    def counts(self) -> str:
        return "batches"

    @property
    def line(self) -> str:
        return (f"{self.images_per_second:.1f} batches/s, {self.stall_share:.1%} of the time waiting for data: "
                f"{self.verdict}{'' if self.pinned else '; host memory NOT pinned'}")

    def __str__(self) -> str:
        named = {"source" if stage == "io" else stage: share for stage, share in self.shares.items()}
        path = "  ".join(f"{stage} {share:.1%}" for stage, share in named.items() if stage != "decode")
        return (f"stall report\n  verdict  {self.verdict}\n  advice   {self.advice}\n"
                f"  rate     {self.images_per_second:.1f} batches/s, {self.batches} in {self.seconds:.2f} s\n"
                f"  stall    {self.stall_share:.1%} of the time was spent waiting for a batch\n"
                f"  path     {path}\n"
                f"  device   {self.device}{'' if self.pinned else ' (host memory NOT pinned)'}\n")

    def __repr__(self) -> str:
        return f"<Stalls {self.line}>"


class _Batches(Iterator[Any]):
    """One iteration. Owns its native part until it ends or is dropped; the Prefetcher keeps one for the next."""

    def __init__(self, prefetcher: Prefetcher, core: _core.ForeignBatches, source: Iterator[Any]) -> None:
        core.begin()
        self._prefetcher = prefetcher
        self._core: _core.ForeignBatches | None = core
        self._taking = Lock()
        self._feed = _Feed()
        self._thread = Thread(target=self._feed.run, args=(core, source), daemon=True, name="stoker-prefetcher")
        _running[self._thread] = core
        self._thread.start()

    def __next__(self) -> Any:
        prefetcher, feed = self._prefetcher, self._feed
        with self._taking:
            if self._core is None:
                raise StopIteration
            batch = self._core.next(prefetcher._stream())
            if batch is None:
                self._thread.join()  # at its last words
                self._give_back()
                raise feed.error or StopIteration
            structure = feed.structures.popleft()
        memory = prefetcher._bytes_of(batch.images).view(-1)
        return _replaced(structure, _Placed, lambda placed: placed.tensor_in(memory))

    def _give_back(self) -> None:
        core, self._core = self._core, None
        if core is None:
            return
        core.leave()
        if self._prefetcher._idle is None:
            self._prefetcher._idle = core, self._thread
        else:
            core.close()

    def __del__(self) -> None:
        if getattr(self, "_core", None) is not None:
            self._give_back()

    def __reduce__(self) -> Any:
        raise TypeError("an iterator over a Prefetcher is alive and does not pickle")


class _Feed:
    """What the thread that pulls batches shares with the one that takes them. It does not know the iterator, which may
    be dropped at any time."""

    def __init__(self) -> None:
        self.structures: deque[Any] = deque()  # of batches that were put, a _Placed for each tensor
        self.error: BaseException | None = None

    def run(self, core: _core.ForeignBatches, source: Iterator[Any]) -> None:
        try:
            for batch in source:
                if not self._put(core, batch):
                    break
                del batch
            if hasattr(source, "close"):
                source.close()
        except BaseException as error:
            self.error = error
        finally:
            core.end()

    def _put(self, core: _core.ForeignBatches, batch: Any) -> bool:
        layout = _Layout()
        structure = _replaced(batch, torch.Tensor, layout.place)
        self.structures.append(structure)
        before = core.slot_bytes
        going = core.put(layout.pieces, layout.nbytes)
        if 0 < before < core.slot_bytes:
            _log.info("a batch of %d bytes is larger than those before it: the prefetcher has taken memory for batches "
                      "of up to %d", layout.nbytes, core.slot_bytes)
        return going


@dataclass(frozen=True)
class _Placed:
    """Where a tensor lies in its batch."""

    offset: int
    nbytes: int
    dtype: torch.dtype
    shape: torch.Size
    strides: tuple[int, ...]

    def tensor_in(self, memory: torch.Tensor) -> torch.Tensor:
        """A copy: torch's own memory, on the caller's stream."""
        data = memory[self.offset:self.offset + self.nbytes].view(self.dtype)
        return data.as_strided(self.shape, self.strides).clone()


class _Layout:
    """Places the tensors of one batch one after the other."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, int, int]] = []  # offset, address, bytes
        self.nbytes = 0
        self._tensors: list[torch.Tensor] = []  # those that are read

    def place(self, tensor: torch.Tensor) -> Any:
        if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
            return tensor
        dense = _dense(tensor.detach().resolve_conj().resolve_neg())
        placed = _Placed(self.nbytes, dense.numel() * dense.element_size(), dense.dtype, dense.shape, dense.stride())
        self.pieces.append((placed.offset, dense.data_ptr(), placed.nbytes))
        self.nbytes += (placed.nbytes + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        self._tensors.append(dense)
        return placed


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """Without gaps; channels that come last stay so."""
    orders = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    if any(tensor.is_contiguous(memory_format=order) for order in orders):
        return tensor
    return tensor.contiguous()


def _replaced(batch: Any, kind: type[Any], replace: Callable[[Any], Any]) -> Any:
    """The same nest of tuples, lists and mappings with `replace` called on what is of a kind."""
    if isinstance(batch, kind):
        return replace(batch)
    if isinstance(batch, MutableMapping):
        made = copy.copy(batch)
        for key, value in batch.items():
            made[key] = _replaced(value, kind, replace)
        return made
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_replaced(value, kind, replace) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(_replaced(value, kind, replace) for value in batch)
    return batch


@atexit.register  # after cores: so it runs before all else is closed
def _end_all() -> None:
    running = list(_running.items())
    for _, core in running:
        core.leave()
    deadline = time.monotonic() + _EXIT_PATIENCE
    for thread, _ in running:
        thread.join(max(0.0, deadline - time.monotonic()))
