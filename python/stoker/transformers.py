"""Stall reports in the logs of Hugging Face's Trainer.

    StallCallback().add_to(trainer)

Importing this imports transformers.
"""

from __future__ import annotations

from typing import Any

from stoker.reporting import figures, first_loader, framework

__all__ = ["StallCallback"]


class StallCallback(framework("transformers", "transformers").TrainerCallback):  # type: ignore[misc]
    """Adds what held the trainer back to each of its logs (``logging_steps``): ``loader/stall_share``,
    ``loader/images_per_second``, the shares of the path, ceilings and predicted gains by stage.

    The figures are those of ``loader.stalls()``: since the first batch, or since ``loader.reset_stalls()``.

    loader: by default the first loader of Stoker's in the trainer's training loader, also within accelerate's wrappers:
        what an overridden ``get_train_dataloader()`` gives, or has in an attribute named ``loader``. Where there is
        none (Trainer builds torch's own unless told otherwise), a warning says so.

    :meth:`add_to` puts it before the trainer's reporters (``report_to``), so that TensorBoard, W&B and the others have
    the figures too. With ``Trainer(callbacks=[StallCallback()])`` it comes after them: only the trainer's history, its
    progress bar and callbacks that follow do.
    """

    def __init__(self, loader: Any = None) -> None:
        self._loader = loader
        self._found = loader

    def add_to(self, trainer: Any) -> None:
        """Before all other callbacks of a trainer."""
        trainer.add_callback(self)
        callbacks = trainer.callback_handler.callbacks
        callbacks.insert(0, callbacks.pop())

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **_: Any) -> None:
        if self._loader is None:
            self._found = first_loader(train_dataloader, "stoker.transformers.StallCallback")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if self._found is None or logs is None:
            return
        added = {f"loader/{name}": value for name, value in figures(self._found.stalls()).items()}
        logs.update(added)
        if state.log_history:
            state.log_history[-1].update(added)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._found = self._loader
