"""Stall reports as TensorBoard scalars.

    log_stalls(writer, loader, step)  # in the training loop, every few hundred steps
"""

from __future__ import annotations

from typing import Any, Protocol

from stoker import _core
from stoker.reporting import figures

__all__ = ["Loader", "log_stalls"]


class Loader(Protocol):
    """Any loader of Stoker's."""

    def stalls(self) -> _core.StallReport: ...


def log_stalls(writer: Any, loader: Loader, step: int, tag: str = "loader") -> None:
    """Writes ``loader/stall_share``, ``loader/images_per_second``, the shares of the path, ceilings and predicted gains
    by stage, and the verdict as text. Before the first batch there is nothing to write.

    The figures are those of ``loader.stalls()``: since the first batch, or since ``loader.reset_stalls()``.

    writer: a SummaryWriter of torch.utils.tensorboard (``pip install tensorboard``) or of tensorboardX, or whatever has
        their ``add_scalar(tag, value, step)``; ``add_text`` is optional.
    loader: :class:`stoker.Loader`, :class:`stoker.torch.DataLoader` or :class:`stoker.torch.Prefetcher`.
    """
    report = loader.stalls()
    scalars = figures(report)
    for name, value in scalars.items():
        writer.add_scalar(f"{tag}/{name}", value, step)
    if scalars and hasattr(writer, "add_text"):
        writer.add_text(f"{tag}/verdict", f"{report.verdict}. {report.advice}", step)
