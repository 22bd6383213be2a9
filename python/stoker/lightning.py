"""Stall reports through Lightning's loggers.

    Trainer(callbacks=[StallCallback(every_n_steps=500)])

Importing this imports lightning, or pytorch_lightning where that is what the program uses.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from stoker.reporting import figures, first_loader, framework

__all__ = ["StallCallback"]

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def _callback_class() -> Any:
    imported = [name for name in _NAMES if sys.modules.get(name) is not None]
    installed = [name for name in _NAMES if find_spec(name.split(".")[0]) is not None]
    return framework([*imported, *installed, *_NAMES][0], "lightning").Callback


class StallCallback(_callback_class()):  # type: ignore[misc]
    """Logs what held the trainer back to all its loggers: ``loader/stall_share``, ``loader/images_per_second``, the
    shares of the path, ceilings and predicted gains by stage.

    The figures are those of ``loader.stalls()``: since the first batch, or since ``loader.reset_stalls()``. Each rank
    has its own; Lightning's loggers write those of rank 0.

    loader: by default the first loader of Stoker's among the trainer's training loaders, also inside a CombinedLoader;
        where there is none, a warning says so.
    every_n_steps: optimizer steps between two reports. The end of the training is always reported.
    """

    def __init__(self, loader: Any = None, every_n_steps: int = 500) -> None:
        super().__init__()
        if every_n_steps < 1:
            raise ValueError(f"every_n_steps: {every_n_steps}, at least 1")
        self._loader = loader
        self._found = loader
        self._every_n_steps = every_n_steps
        self._logged_at = -1

    def on_train_start(self, trainer: Any, _: Any) -> None:
        if self._loader is None:
            self._found = first_loader(trainer.train_dataloader, "stoker.lightning.StallCallback")
        self._logged_at = trainer.global_step

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step % self._every_n_steps == 0:
            self._log(trainer)

    def on_train_end(self, trainer: Any, _: Any) -> None:
        self._log(trainer)
        self._found = self._loader

    def _log(self, trainer: Any) -> None:
        step = trainer.global_step
        if self._found is None or step == self._logged_at:  # batches of one step, with accumulated gradients
            return
        self._logged_at = step
        metrics = {f"loader/{name}": value for name, value in figures(self._found.stalls()).items()}
        for logger in trainer.loggers:
            logger.log_metrics(metrics, step)
