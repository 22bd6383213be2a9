"""The plain API: a loader with an order, a ring and a resume of its own."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from stoker import _core
from stoker.cores import make_core
from stoker.datasets import PathLike, understand
from stoker.errors import Error
from stoker.lowering import lower
from stoker.output import converter
from stoker.step_log import StepLog

__all__ = ["Loader"]

_STATE_VERSION = 1


class Loader:
    """Loads batches of pictures ahead of the training step.

    Iterating gives ``(images, labels)`` for each batch: images of the transform's dtype and layout, (N, C, H, W) or
    (N, H, W, C); labels int64, (N,). With ``return_ids=True`` the samples' indices, int64 (N,), follow, and with
    ``on_error="mask"`` last their validity, uint8 (N,). Images are not copied: they lie in one of the loader's slots,
    which is used again when the last tensor over it, views counted, is gone. So let go of a batch before asking for the
    next but ``prefetch_factor`` one; what is to be kept longer must be cloned.

    Every ``iter()`` begins the next epoch, in another order. Order, crops and flips are functions of
    (seed, epoch, position): the same for every number of workers. An iterator is over once another one was made.

    dataset: a folder's path, a :class:`stoker.FileDataset`, or a torchvision dataset (see :mod:`stoker.datasets`).
    batch_size: samples, 1 to 65536.
    transform: :func:`stoker.train`, a :class:`stoker.Transform`, a list of ops, or a torchvision transform; by default
        the dataset's own.
    shuffle, seed, drop_last: the order. With several ranks, each gets the same number of samples.
    num_workers: decoding threads; 0 decodes on the reading thread. "auto" (or -1) begins with one for each usable CPU,
        shared with the other ranks of the machine, and then lets no more of them work than your step keeps busy:
        ``stalls().workers``.
    prefetch_factor: batches ready or being filled ahead, for all workers together, 1 to 64.
    output: "torch", "numpy" (no bfloat16), "jax" or "dlpack".
    device: "cpu"; "cuda", "cuda:N" or a GPU's UUID, where batches are then given, copied ahead of the step on a stream
        of their own; "auto", a GPU where there is one; "sim" copies through a simulated device and back. On a GPU,
        tensors of output="torch" are ready for work on the stream that is current at ``next()``, and torch's own unless
        `borrow` is set; borrowed ones, and those of other outputs, are the loader's memory, to be let go of as above.
    normalize_on: "auto" has the device turn bytes into floats where it can; "host" and "device" choose.
    near_device: decode on the CPUs of the GPU's NUMA node alone, where the process may use some of them.
    rank, world_size: by default torch.distributed's where it is initialised, else RANK and WORLD_SIZE, else one rank.
    on_error: "raise"; "skip" puts the next good sample in a bad one's place; "mask" gives zeros and valid = 0.
    max_errors: different bad samples before it raises all the same.
    return_ids: see above.
    decode: "exact" gives the pixels of a full decode; "fast" may decode JPEGs at a smaller scale.
    reader: "auto", "io_uring" or "pread".
    queue_depth: reads in flight, 1 to 1024.
    index: where the rows of each JPEG begin, learned while decoding, so that later crops of it begin at any row.
        "memory" keeps it as long as the loader lives, in some 280 bytes a picture; a folder (made where it is missing)
        in a file there, too, for later runs and other ranks, which ``stoker index`` fills beforehand; "off" learns
        nothing, nor does ``strict``. Damaged and stale entries cost time, never a pixel; those made to deceive are not
        found out: let only those write to the folder who are trusted.
    memory_limit: bytes for all buffers; by default a quarter of what is free.
    read_deadline: seconds until a read that hangs is that sample's error.
    max_pixels, max_file_bytes: larger pictures are errors. apply_exif: turn pictures as their EXIF says.
    strict: decoders' warnings are errors.
    report_every: batches between two lines in the log of ``logging.getLogger("stoker")``, at level INFO, or WARNING
        where memory grows or steps became slower; epochs end with one, too. 0 for none.
    report_file: each of them is added to it as a line of JSON.

    Raises ValueError naming a bad option, :class:`stoker.Error` where loading fails, UnsupportedTransform and
    UnsupportedDataset. Threads may share a loader; their calls take turns. The GIL is free while it waits. After fork()
    a loader that was used before raises Error in the child.
    """

    def __init__(self, dataset: Any, batch_size: int = 64, transform: object = None, *, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False, num_workers: int | Literal["auto"] = "auto",
                 prefetch_factor: int = 2,
                 output: str = "torch", device: str = "cpu", borrow: bool = False, normalize_on: str = "auto",
                 near_device: bool = True, rank: int | None = None, world_size: int | None = None,
                 on_error: str = "raise", max_errors: int | None = None, return_ids: bool = False,
                 decode: str = "exact", reader: str = "auto", queue_depth: int | None = None,
                 index: PathLike = "memory", memory_limit: int | None = None, read_deadline: float | None = None,
                 max_pixels: int | None = None, max_file_bytes: int | None = None, apply_exif: bool = False,
                 strict: bool = False, report_every: int = 500, report_file: PathLike | None = None) -> None:
        self._arguments = {name: value for name, value in locals().items() if name != "self"}
        files, own_transform = understand(dataset)
        rank, world_size = _place_in_world(rank, world_size)
        self.dataset = dataset
        self.batch_size = batch_size
        recipe = lower(own_transform if transform is None else transform)
        self._files = files
        self._recipe = recipe
        self._return_ids = return_ids
        self._return_valid = on_error == "mask"
        self._world_size = world_size
        self._order = {"seed": seed, "shuffle": shuffle, "samples": len(files)}
        self._core = make_core(files, recipe, {
            "batch_size": batch_size, "drop_last": drop_last, "shuffle": shuffle, "seed": seed, "rank": rank,
            "world_size": world_size, "num_workers": num_workers, "prefetch_factor": prefetch_factor,
            "device": device, "normalize_on": normalize_on, "near_device": near_device,
            "on_error": on_error, "max_errors": max_errors, "decode": decode, "reader": reader,
            "queue_depth": queue_depth, "index": os.fsdecode(index), "memory_limit": memory_limit,
            "read_deadline": read_deadline,
            "max_pixels": max_pixels, "max_file_bytes": max_file_bytes, "apply_exif": apply_exif, "strict": strict,
            "report_every": report_every, "report_file": None if report_file is None else os.fspath(report_file),
        })
        self._convert, self._stream = converter(output, recipe.dtype, self._core.device, borrow)
        if drop_last and len(self) == 0:
            warnings.warn(f"drop_last: {len(files)} samples for {world_size} ranks are less than one batch of "
                          f"{batch_size}: no batch comes", stacklevel=2)
        self._log = StepLog(self._core, files, report_every)
        self._next_epoch = 0
        self._resume_at = 0  # samples of the next epoch that are done, over all ranks
        self._current: _Place | None = None

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank."""
        return self._core.batches_per_epoch

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        place = _Place(self._next_epoch, self._resume_at)
        run = self._core.start_epoch(place.epoch, place.done)
        self._current, self._next_epoch, self._resume_at = place, place.epoch + 1, 0
        return _Epoch(self, run, place)

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` gives this epoch; without a call they count up from 0."""
        self._next_epoch, self._resume_at, self._current = epoch, 0, None

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, after the last batch given out: small, and the same on every rank."""
        epoch, done = self._next_epoch, self._resume_at
        if self._current is not None and not self._current.over:
            epoch, done = self._current.epoch, self._current.done
        return {"version": _STATE_VERSION, "epoch": epoch, "done": done, **self._order}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter()`` goes on where `state` was taken, exactly, in O(1).

        With any number of workers, and with another world size: what is left of the epoch is dealt out to the ranks
        anew, each sample once (and as always a few twice where they do not divide evenly).
        Raises ValueError where the loader's seed, shuffle or dataset is another one.
        """
        if state.get("version") != _STATE_VERSION:
            raise ValueError(f"state of version {state.get('version')}; this is version {_STATE_VERSION}")
        for name, value in self._order.items():
            if state[name] != value:
                raise ValueError(f"the state was taken with {name}={state[name]}, this loader has {value}")
        self._next_epoch, self._resume_at, self._current = state["epoch"], state["done"], None

    def stalls(self) -> _core.StallReport:
        """What held the trainer back since the first batch; ``print`` it, or read its fields."""
        return self._core.stalls()

    @property
    def last_report(self) -> _core.StepReport | None:
        """The newest of the periodic reports: the stalls of those steps alone, memory, CPU and GPU."""
        return self._core.last_report

    def reset_stalls(self) -> None:
        """Begins the report anew."""
        self._core.reset_stalls()

    def write_trace(self, path: PathLike) -> None:
        """Writes what the last batches, some to hundreds, went through, for ui.perfetto.dev and chrome://tracing.

        A row each for the critical path, the consumer, the copy engine, every worker and every read in flight; arrows
        follow the path. Raises OSError naming the path where that cannot be written; what was there then stays.
        """
        self._core.write_trace(path)

    def close(self) -> None:
        """Ends the threads and gives the memory back; batches stay valid. Also done by dropping the loader."""
        self._core.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"arguments": self._arguments, "state": self.state_dict()}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__init__(**pickled["arguments"])  # type: ignore[misc]
        self.load_state_dict(pickled["state"])


@dataclass
class _Place:
    """How far an epoch has come."""

    epoch: int
    done: int  # samples, over all ranks
    over: bool = False


class _Epoch(Iterator[tuple[Any, ...]]):
    """Holds the loader; the loader holds only its place, so that it goes with the last reference to it."""

    def __init__(self, loader: Loader, run: int, place: _Place) -> None:
        self._loader = loader
        self._run = run
        self._place = place
        self._begun_at = place.done
        self._counting = Lock()

    def __next__(self) -> tuple[Any, ...]:
        loader, place = self._loader, self._place
        batch = None if place.over else loader._core.next(self._run, 0.0, loader._stream())
        if batch is None:
            if not place.over and loader._core.run != self._run:
                raise Error("another iterator of this loader was made since: a stoker.Loader has one at a time; for "
                            "two at once make two loaders", stage="next")
            place.over = True
            loader._log.epoch_ended()
            raise StopIteration
        with self._counting:  # threads may come here in another order than their batches have
            positions = batch.position + len(batch.labels)
            samples: int = loader._order["samples"]
            place.done = max(place.done, min(self._begun_at + positions * loader._world_size, samples))
        loader._log.batch_given()
        fields: list[Any] = [loader._convert(batch.images), loader._convert(batch.labels)]
        if loader._return_ids:
            fields.append(loader._convert(batch.ids))
        if loader._return_valid:
            fields.append(loader._convert(batch.valid))
        return tuple(fields)

    def __reduce__(self) -> Any:
        raise TypeError("an iterator over a stoker.Loader is alive and does not pickle: pickle the loader")


def _place_in_world(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size: give both or neither")
    if rank is not None and world_size is not None:
        return rank, world_size
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
