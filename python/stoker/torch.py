"""torch.utils.data.DataLoader for picture files: change the import, keep the training script.

    from stoker.torch import DataLoader

The same arguments with the same meaning, the same order for the same ``torch.manual_seed``, one process.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import GenericAlias
from typing import Any, Literal

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, default_collate

from stoker import _core
from stoker.batches import Batches
from stoker.cores import make_core
from stoker.cuda import Placement
from stoker.datasets import PathLike, transform_of, understand
from stoker.lowering import lower
from stoker.prefetching import Prefetcher, Stalls
from stoker.sampling import EpochOrder, draw_dice, generators_of, length_of, load_finished, state_of_finished

__all__ = ["DataLoader", "Prefetcher", "Stalls"]

_STATE_VERSION = 1
_SETTABLE = ("generator", "timeout")  # attributes that are read anew each time
_UNSHARDED = ("torch.distributed is initialised, but the sampler has no num_replicas: every rank loads every sample; "
              "give sampler=DistributedSampler(dataset)")


class DataLoader:
    """Gives what ``torch.utils.data.DataLoader`` gives for picture files, loaded by Stoker.

    Iterating gives ``[images, labels]``: images as the dataset's transform makes them, (N, C, H, W), float32 for
    ``ToTensor()`` and uint8 for ``PILToTensor()``; labels int64, (N,). The images are not copied: they lie in a slot of
    the loader, which is used again when the last tensor over it is gone, views counted. Batches that are kept get
    further slots, as many as it takes. ``len()`` is batches. Every ``iter()`` is a new epoch; iterators of one loader
    are independent, each with buffers of its own.

    Of torch's arguments:

    dataset: ImageFolder, DatasetFolder with an image loader, ImageNet, a Subset or ConcatDataset of them,
        :class:`stoker.FolderDataset` or :class:`stoker.FileDataset`. Its transform is run by Stoker: see the README for
        the transforms that it knows. It is looked up at every ``iter()``; the files are taken down once, here.
    batch_size, shuffle, sampler, drop_last, generator: as torch's; the order is torch's too. A sampler yields one index
        at a time; as many as it has a length are drawn when the epoch begins, without a length 65536 at a time. Ranks
        are sharded by the sampler alone. Crops and flips are functions of the epoch's seed, which is drawn where torch
        draws its workers', and of the sample's place in the order: the same for every num_workers.
    batch_sampler: only ``BatchSampler(sampler, batch_size, drop_last)`` itself.
    num_workers: decoding threads; 0 is one thread beside yours. Beyond torch's: "auto" lets as many work as your step
        keeps busy, up to one for each usable CPU, shared with the other ranks of the machine.
    prefetch_factor: batches ready or being filled ahead, for all workers together, 1 to 64; 2 where it is None.
    pin_memory: batches lie in page-locked memory where there is a CUDA device (else one warning), loaded there, not
        copied. ``batch.to(device, non_blocking=True)`` may be followed by dropping the batch: its memory is used again
        once the stream that was current at ``next()`` has done what it was given until then. Copy on that stream.
    timeout: seconds that a batch may take until RuntimeError, 0 for any time.
    collate_fn: None or ``default_collate``.
    worker_init_fn, multiprocessing_context, pin_memory_device: not used, with one warning.
    persistent_workers: the threads are always kept; as torch's it draws the workers' seed once. in_order: always True.

    Of Stoker's own:

    device: None for host memory, or a CUDA device: batches are given there, as if by ``.to(device)``, but copied ahead
        of the step on a stream of their own. They are ready for work on the stream that is current at ``next()``, and
        tensors of torch's own: keep, free and use them as any other. With ``borrow`` they are the loader's memory
        instead, which saves one copy within the device and a batch of its memory: drop a batch before asking for the
        next but ``prefetch_factor`` one, use it on the stream that was current at its ``next()`` alone, and clone what
        is kept.
    normalize_on: "auto" has the device turn bytes into floats where it can, so that a quarter of float32's bytes cross
        the bus; "host" and "device" choose.
    near_device: decode on the CPUs of the GPU's NUMA node alone, where the process may use some of them.
    return_ids: batches end with the samples' indices, int64 (N,).
    on_error: "raise" :class:`stoker.Error`; "skip" puts the next good sample in a bad one's place; "mask" gives zeros,
        and batches end with their validity, uint8 (N,).
    max_errors: different bad samples before it raises all the same.
    decode: "exact" gives the pixels of a full decode; "fast" may decode JPEGs at a smaller scale.
    strict: pictures that end early or that a decoder complains of are errors, as Pillow's cut files are; each one is
        then decoded to its end. Otherwise they are given and counted (``stalls().decoder_warnings``).
    reader: "auto", "io_uring" or "pread".
    queue_depth: reads in flight, 1 to 1024; 32 where it is None.
    index: where the rows of each JPEG begin, learned while decoding, so that later crops of it begin at any row.
        "memory" keeps it as long as the loader lives, in some 280 bytes a picture; a folder (made where it is missing)
        in a file there, too, for later runs and other ranks, which ``stoker index`` fills beforehand; "off" learns
        nothing, nor does ``strict``. Damaged and stale entries cost time, never a pixel; those made to deceive are not
        found out: let only those write to the folder who are trusted.
    memory_limit: bytes for all buffers; by default a quarter of what is free.
    report_every: batches between two lines in the log of ``logging.getLogger("stoker")``, at level INFO, or WARNING
        where memory grows or steps became slower; epochs end with one, too. 0 for none.
    report_file: each of them is added to it as a line of JSON.

    Raises ValueError naming a bad argument, UnsupportedDataset, UnsupportedTransform, and from ``next`` :class:`Error`.
    Threads may share an iterator. The GIL is free while it waits. Attributes are those of torch's, to be read.

    Not a subclass of torch's DataLoader: Hugging Face accelerate takes one apart and builds torch's own, with its
    worker processes, around the dataset, so that Stoker would not run and nothing would say so. As it is, ``prepare()``
    hands it through: move batches to the device, give a DistributedSampler, and let
    ``register_for_checkpointing(loader)`` keep its place. Lightning moves batches and keeps the place itself; give it a
    DistributedSampler too.
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Iterable[int] | None = None, batch_sampler: Iterable[list[int]] | None = None,
                 num_workers: int | Literal["auto"] = 0, collate_fn: Callable[[list[Any]], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
                 worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
                 generator: torch.Generator | None = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
                 device: str | torch.device | None = None, borrow: bool = False, normalize_on: str = "auto",
                 near_device: bool = True, return_ids: bool = False, on_error: str = "raise",
                 max_errors: int | None = None, decode: str = "exact", strict: bool = False, reader: str = "auto",
                 queue_depth: int | None = None, index: PathLike = "memory", memory_limit: int | None = None,
                 report_every: int = 500, report_file: PathLike | None = None) -> None:
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            sampler, batch_size, drop_last = _unwrap(batch_sampler)
        if batch_size is None:
            raise ValueError("batch_size: None (no batches) is not done: take batch_size=1 and index [0]")
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle exclude each other")
        if collate_fn is not None and collate_fn is not default_collate:
            raise ValueError("collate_fn: samples are batched natively; work on the batch after the loader instead")
        if timeout < 0 or (not isinstance(num_workers, str) and num_workers < 0):
            raise ValueError(f"timeout and num_workers must not be negative: {timeout}, {num_workers}")
        _warn_of_unused(worker_init_fn=worker_init_fn, multiprocessing_context=multiprocessing_context,
                        pin_memory_device=pin_memory_device or None)

        self._placement = Placement(device, borrow, pin_memory)
        files, transform = understand(dataset)
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = BatchSampler(sampler, batch_size, drop_last) if batch_sampler is None else batch_sampler
        self.num_workers = num_workers
        self.collate_fn = default_collate
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers != 0 else prefetch_factor
        self.persistent_workers = persistent_workers
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.device = self._placement.device
        self.borrow = borrow
        self.normalize_on = normalize_on
        self.return_ids = return_ids
        self.on_error = on_error
        self.report_every = report_every
        self._files = files
        self._transform = lower(transform)
        self._options = {
            "batch_size": batch_size, "drop_last": drop_last, "num_workers": num_workers,
            "prefetch_factor": prefetch_factor, "on_error": on_error, "max_errors": max_errors, "decode": decode,
            "strict": strict, "reader": reader, "queue_depth": queue_depth, "index": os.fsdecode(index),
            "memory_limit": memory_limit, "grow_slots": True, "normalize_on": normalize_on, "near_device": near_device,
            "report_every": report_every, "report_file": None if report_file is None else os.fspath(report_file),
            **self._placement.options}
        self._persistent: tuple[int, int] | None = None  # torch's base seed for kept workers, epochs since
        self._resume: dict[str, Any] | None = None
        self._order: EpochOrder | None = None  # of the newest iterator
        self._latest_core = make_core(files, self._transform, self._options)
        self._idle: _core.Loader | None = self._latest_core
        self._warned: set[str] = set()
        self._made = True
        self._warn_of_what_is_odd()

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self.batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        if _is_unsharded(self.sampler):
            self._warn_once(_UNSHARDED)
        if self._resume is None and self._order is not None and self._order.comes_again():
            self._warn_once("the sampler's set_epoch() was not called since the last epoch: its order comes again")
        transform = lower(transform_of(self.dataset))
        if transform != self._transform:  # it was changed since
            self._transform, self._idle = transform, None
        self._order = self._next_order()
        core, self._idle = self._idle, None
        if core is None:
            core = make_core(self._files, self._transform, self._options)
        self._latest_core = core
        return Batches(self, core, self._order)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in _SETTABLE and "_made" in self.__dict__:
            raise ValueError(f"{name} cannot be set once the DataLoader is made: make a new one")
        super().__setattr__(name, value)

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        """For annotations, as torch's."""
        return GenericAlias(cls, item)

    def set_epoch(self, epoch: int) -> None:
        """Passed on to a sampler that has epochs; without one there is nothing to set."""
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the newest iterator stands, after the last batch that it gave: tensors, numbers and dicts, for
        ``torch.save``. Between epochs it stands before the next one.

        The order of later epochs follows the generators of loader and sampler, which are part of the state; where there
        are none, torch's global one, which is not: keep ``torch.get_rng_state()`` beside it.
        """
        if self._resume is not None:
            return self._resume
        running = None if self._order is None or self._order.over else self._order
        return {
            "version": _STATE_VERSION, "order": None if running is None else running.state(),
            "generators": [one.get_state() for one in generators_of(self.generator, self.sampler)],
            "sampler": None if running is not None else state_of_finished(self.sampler),
            "persistent": None if self._persistent is None else list(self._persistent),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter()`` goes on where `state` was taken, exactly, whatever the number of workers.

        No picture is read to find the place: torch's samplers draw the order again from the state, another one is asked
        by its own load_state_dict(), or where it has none draws again, which is logged. With DistributedSampler in a
        world of another size, what is left of the epoch is dealt out to the ranks anew: each sample once, and as always
        a few twice where they do not divide evenly.
        Raises ValueError, here or from ``iter()``, where the sampler does not give that order again.
        """
        if state.get("version") != _STATE_VERSION:
            raise ValueError(f"state of version {state.get('version')}; this is version {_STATE_VERSION}")
        self._order = None
        self._persistent = None if state["persistent"] is None else tuple(state["persistent"])
        self._resume = state if state["order"] is not None else None
        if self._resume is None:
            if state["sampler"] is not None:
                load_finished(self.sampler, state["sampler"])
            for generator, then in zip(generators_of(self.generator, self.sampler), state["generators"], strict=True):
                generator.set_state(then)

    def stalls(self) -> _core.StallReport:
        """What held the trainer back since the newest iterator got its buffers: ``print`` it, or read its fields."""
        return self._latest_core.stalls()

    @property
    def last_report(self) -> _core.StepReport | None:
        """The newest of the periodic reports of that iterator's buffers: those steps alone, memory, CPU and GPU."""
        return self._latest_core.last_report

    def reset_stalls(self) -> None:
        """Begins the report anew."""
        self._latest_core.reset_stalls()

    def write_trace(self, path: PathLike) -> None:
        """Writes what the last batches, some to hundreds, went through, for ui.perfetto.dev and chrome://tracing.

        A row each for the critical path, the consumer, the copy engine, every worker and every read in flight; arrows
        follow the path. Raises OSError naming the path where that cannot be written; what was there then stays.
        """
        self._latest_core.write_trace(path)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items()
                if name not in ("_idle", "_order", "_latest_core", "_files", "_resume")}
        return {**kept, "state": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        place = state.pop("state")
        self.__dict__.update(state)
        self._files, _ = understand(self.dataset)
        self._latest_core = self._idle = make_core(self._files, self._transform, self._options)
        self.load_state_dict(place)

    def _warn_of_what_is_odd(self) -> None:
        samples = length_of(self.sampler)
        if self.drop_last and samples is not None and len(self) == 0:
            warnings.warn(f"drop_last: {samples} samples are less than one batch of {self.batch_size}: no batch comes",
                          stacklevel=3)
        if _is_unsharded(self.sampler):
            self._warn_once(_UNSHARDED)

    def _next_order(self) -> EpochOrder:
        generators = generators_of(self.generator, self.sampler)
        resume, self._resume = self._resume, None
        if resume is not None:
            return EpochOrder.again(self.sampler, generators, self.batch_size, resume["order"])
        return EpochOrder(self.sampler, generators, self.batch_size, self._next_dice())

    def _next_dice(self) -> int:
        """The seed of an epoch's crops and flips, drawn where torch draws one: for kept workers once."""
        if not self.persistent_workers:
            return draw_dice(self.generator)
        seed, epochs = self._persistent or (draw_dice(self.generator), 0)
        self._persistent = (seed, epochs + 1)
        return (seed + epochs) % (1 << 63)

    def _warn_once(self, message: str, kind: type[Warning] = UserWarning) -> None:
        if message not in self._warned:
            self._warned.add(message)
            warnings.warn(message, kind, stacklevel=3)


def _unwrap(batch_sampler: Any) -> tuple[Iterable[int], int, bool]:
    if type(batch_sampler) is not BatchSampler:
        raise ValueError(f"batch_sampler: {type(batch_sampler).__qualname__} makes batches of its own; they are formed "
                         "natively here: give sampler, batch_size and drop_last")
    return batch_sampler.sampler, batch_sampler.batch_size, batch_sampler.drop_last


def _warn_of_unused(**arguments: Any) -> None:
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        warnings.warn(f"{' and '.join(given)}: not used, Stoker loads in threads of this process", stacklevel=3)


def _is_unsharded(sampler: object) -> bool:
    """Whether every one of several ranks would load every sample."""
    distributed = torch.distributed
    return (distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
            and not hasattr(sampler, "num_replicas"))
