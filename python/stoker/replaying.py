"""A training loop's own limit: batches that are there already, given again and again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["Replay", "replay"]


class Replay:
    """What :func:`replay` gives: an iterable as long as the loader's epoch. It holds nothing of the loader's."""

    def __init__(self, batches: list[Any], length: int) -> None:
        self._batches = batches
        self._length = length

    def __len__(self) -> int:
        """Batches, as many as an epoch of the loader has."""
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(itertools.cycle(self._batches), self._length)


def replay(loader: Iterable[Any], batches: int = 8) -> Replay:
    """Takes some batches once and gives them again and again: how fast your training loop is with a loader that takes
    no time. If it is no faster than with `loader`, no loader makes it faster.

        for images, labels in stoker.replay(loader):  # in place of `loader`
            ...

    loader: a :class:`stoker.Loader`, a :class:`stoker.torch.DataLoader` or any other with a length. An epoch of it is
        begun and left here; afterwards it is not used.
    batches: how many, 1 or more; no more than an epoch has. They are copied, on the device where they are there, and
        kept: all of them are in memory at once. Every round gives the same objects, so that a step that changes a batch
        in place meets it changed in the next one.

    Raises ValueError for less than one batch, here or in an epoch, TypeError where `loader` has no length or its
    batches cannot be copied (``output="dlpack"``), and what the loader raises.
    """
    if batches < 1:
        raise ValueError(f"batches: {batches} (allowed: 1 or more)")
    length = len(loader)  # type: ignore[arg-type]
    kept = [_copy(batch) for batch in itertools.islice(loader, min(batches, length))]
    if not kept:
        raise ValueError("batches: an epoch of the loader has none")
    return Replay(kept, length)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(field) for name, field in value.items()}
    if isinstance(value, (list, tuple)):
        fields = [_copy(field) for field in value]
        return type(value)(*fields) if hasattr(value, "_fields") else type(value)(fields)
    for method in ("clone", "copy"):  # torch's; NumPy's and JAX's
        if callable(copy := getattr(value, method, None)):
            return copy()
    if hasattr(value, "__dlpack__"):
        raise TypeError(f'{type(value).__qualname__} cannot be copied: take another output than "dlpack"')
    return value
