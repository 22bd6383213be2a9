"""The native loaders that are alive, closed before the interpreter goes."""

from __future__ import annotations

import atexit
import weakref
from typing import Any

from stoker import _core
from stoker.datasets import FileDataset
from stoker.transforms import Transform

__all__ = ["close_at_exit", "make_core"]

_alive: weakref.WeakSet[_core.Loader | _core.ForeignBatches] = weakref.WeakSet()


def make_core(dataset: FileDataset, transform: Transform, options: dict[str, Any]) -> _core.Loader:
    """A native loader; options that are None are left at their defaults."""
    given = {name: value for name, value in options.items() if value is not None}
    core = _core.Loader(dataset.source, transform, given)
    close_at_exit(core)
    return core


def close_at_exit(core: _core.Loader | _core.ForeignBatches) -> None:
    _alive.add(core)


@atexit.register
def _close_all() -> None:
    # Only daemon threads are left: like all of them they end in silence, here where they wait in next().
    _core.leave()
    for core in list(_alive):
        core.close()
