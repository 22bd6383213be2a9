"""A figure is the list of its rounds; this is how it is read and written."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median

_SIZES = ["B", "KiB", "MiB", "GiB"]
_TIMES = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median lies with 95 % confidence, whatever the distribution; for fewer than 6 values all of them."""
    ordered, n = sorted(values), len(values)
    outside, rank = 0.0, 0
    while rank < n // 2 and (outside := outside + comb(n, rank) / 2 ** n) <= 0.025:
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[n - 1 - rank]


def size(count: float) -> str:
    """Bytes, as 64 KiB."""
    for unit in _SIZES[:-1]:
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} {_SIZES[-1]}"


def time(seconds: float) -> str:
    """Seconds, as 1.23 ms."""
    for factor, unit in _TIMES:
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def times(seconds: Sequence[float]) -> str:
    """The median and the interval."""
    low, high = interval(seconds)
    return f"{time(median(seconds))} ({time(low)} to {time(high)})"


def rate(count: float, seconds: Sequence[float]) -> str:
    """Bytes a second of the median round, in GB/s, and the interval."""
    slow, fast = (count / value / 1e9 if value > 0 else 0.0 for value in reversed(interval(seconds)))
    middle = median(seconds)
    return f"{count / middle / 1e9 if middle > 0 else 0.0:.3g} GB/s ({slow:.3g} to {fast:.3g})"


def ratio(values: Sequence[float]) -> str:
    """The median and the interval."""
    low, high = interval(values)
    return f"{median(values):.3f} ({low:.3f} to {high:.3f})"


def share(value: float) -> str:
    return f"{100 * value:.1f} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], figures: bool = True) -> list[str]:
    """A Markdown table's lines; the first column is words, the others are figures, or words too."""
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    others = "|---:" if figures else "|---"
    return [line(head), "|---" + others * (len(head) - 1) + "|", *map(line, rows)]
