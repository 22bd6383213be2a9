"""One epoch of the drop-in."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.dlpack import from_dlpack

from stoker import _core
from stoker.sampling import EpochOrder
from stoker.step_log import StepLog

if TYPE_CHECKING:
    from stoker.torch import DataLoader

__all__ = ["Batches"]


class Batches(Iterator[list[torch.Tensor]]):
    """The iterator. Owns its native loader until it ends or is dropped; the DataLoader keeps one for the next."""

    def __init__(self, loader: DataLoader, core: _core.Loader, order: EpochOrder) -> None:
        self._loader = loader
        self._core: _core.Loader | None = core
        self._transform = loader._transform  # the native loader's
        self._log = StepLog(core, loader._files, loader.report_every)
        self._order = order
        self._run = 0  # the native loader's number of the chunk under way
        self._between_chunks = Lock()
        if loader.num_workers != 0:  # else, as torch's, nothing is drawn before the first batch is asked for
            self._next_chunk(0)

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> list[torch.Tensor]:
        loader = self._loader
        while (core := self._core) is not None:
            run = self._run
            batch = core.next(run, loader.timeout, loader._placement.stream())
            if batch is not None:
                break
            self._next_chunk(run)
        else:
            raise StopIteration
        self._order.give(batch.position + len(batch.labels))
        if core.over_budget:
            loader._warn_once("the batches that are kept have taken more memory than the loader's memory_limit: clone "
                              "what is to be kept, or let go of batches", ResourceWarning)
        self._log.batch_given()
        arrays = [batch.images, batch.labels]
        if loader.return_ids:
            arrays.append(batch.ids)
        if loader.on_error == "mask":
            arrays.append(batch.valid)
        fields = [from_dlpack(array) for array in arrays]
        return [field.clone() for field in fields] if loader._placement.copies else fields

    def _next_chunk(self, run: int) -> None:
        """Begins the chunk of the order that follows `run`, or ends, unless another thread did."""
        with self._between_chunks:
            core = self._core
            if core is None or run != self._run:
                return
            order = self._order
            ids = order.chunk()
            if len(ids) > 0:
                self._run = core.start_list(order.dice, ids, order.chunk_at, order.rank, order.world_size)
            else:
                order.over = True
                self._log.epoch_ended()
                self._give_back()

    def _give_back(self) -> None:
        core, self._core = self._core, None
        if core is None:
            return
        if self._loader._idle is None and self._loader._transform is self._transform:
            self._loader._idle = core
        else:
            core.close()

    def __del__(self) -> None:
        if getattr(self, "_core", None) is not None:
            self._give_back()

    def __reduce__(self) -> Any:
        raise TypeError("an iterator over a DataLoader is alive and does not pickle: pickle the loader")
