"""What the reports to TensorBoard, Lightning, transformers and Prometheus have in common."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from stoker import _core

__all__ = ["figures", "first_loader", "framework"]

_INSIDE = ("iterables", "base_dataloader", "dataloader", "loader", "dataset", "_dataloader", "_loader")
"""What Lightning's CombinedLoader, accelerate's wrappers and most others call the loader that they have inside; torch's
and theirs also have iterable data sets, which may be ours within a few lines of the user's."""


def figures(report: _core.StallReport) -> dict[str, float]:
    """The figures of a report that make curves, by name; none before the first batch. What is not known is left out."""
    if report.batches == 0:
        return {}
    named: dict[str, float | None] = {
        "stall_share": report.stall_share,
        "device_stall_share": report.device_stall_share,
        f"{report.counts}_per_second": report.images_per_second,
        "on_cpu_share": report.on_cpu_share,
        "cached_share": report.cached_share if report.cached_known else None,
        **{f"shares/{stage}": share for stage, share in report.shares.items()},
        **{f"ceilings/{stage}": rate or None for stage, rate in report.ceilings.items()},
        **{f"gains/{stage}": gain for stage, gain in report.gains.items()},
    }
    return {name: value for name, value in named.items() if value is not None}


def first_loader(found: object, callback: str) -> Any:
    """The first loader with a stall report in what a framework calls its data loader; None, with a warning that names
    the callback, where there is none."""
    for loader in _loaders_in(found, set()):
        return loader
    warnings.warn(f"{callback} reports nothing: there is no loader of Stoker's in the trainer's "
                  f"{type(found).__qualname__}; give it as {callback}(loader=...)", stacklevel=3)
    return None


def framework(name: str, package: str) -> Any:
    """A module that is not ours. Raises ImportError naming the package to install where it is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there, but something that it needs is not
        raise ModuleNotFoundError(f"{name} is not installed: pip install {package}", name=error.name) from error


def _loaders_in(found: object, seen: set[int]) -> Iterator[Any]:
    if found is None or isinstance(found, (str, bytes)) or id(found) in seen:
        return
    seen.add(id(found))
    if callable(getattr(found, "stalls", None)):
        yield found
        return
    if isinstance(found, Mapping):
        inside = list(found.values())
    elif isinstance(found, (list, tuple)):
        inside = list(found)
    else:
        inside = [getattr(found, name, None) for name in _INSIDE]
    for each in inside:
        yield from _loaders_in(each, seen)
