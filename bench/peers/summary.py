"""What the runs come to: medians, the best worker count of each loader, ratios of interleaved runs."""

from __future__ import annotations

from statistics import median
from typing import Any

__all__ = ["FIGURES", "Spread", "best_workers", "number", "ratio_table", "ratios", "spreads", "table", "words"]

Run = dict[str, Any]
Spread = dict[str, float]

FIGURES = {
    "images_per_second": "images/s",
    "first_batch_s": "first batch, s",
    "memory_mb": "memory, MB",
    "cpu_s_per_1000": "CPU s/1,000",
    "next_us": "next(), us",
    "next_again_us": "again, us",
}
"""A run's figures and their heads in the table."""


def spread(values: list[float]) -> Spread:
    return {"median": median(values), "min": min(values), "max": max(values)}


def best_workers(runs: list[Run], loader: str) -> int:
    """The worker count with the highest median rate: the loader's one configuration in all ratios."""
    rates: dict[int, list[float]] = {}
    for run in runs:
        if run["loader"] == loader:
            rates.setdefault(run["workers"], []).append(run["images_per_second"])
    return max(rates, key=lambda workers: median(rates[workers]))


def ratios(runs: list[Run], subject: str, other: str) -> dict[str, Spread]:
    """subject / other for each figure, round by round, each at its best worker count."""
    mine, theirs = ({run["round"]: run for run in runs
                     if run["loader"] == loader and run["workers"] == best_workers(runs, loader)}
                    for loader in (subject, other))
    both = sorted(mine.keys() & theirs.keys())
    found = {}
    for figure in ("images_per_second", "first_batch_s", "memory_mb", "cpu_s_per_1000", "next_us", "next_again_us"):
        values = [mine[number][figure] / theirs[number][figure] for number in both if theirs[number][figure] > 0]
        if values:
            found[figure] = spread(values)
    return found


def spreads(runs: list[Run], loader: str, workers: int) -> dict[str, Spread]:
    """Of each figure; empty where there is no such run."""
    mine = [run for run in runs if run["loader"] == loader and run["workers"] == workers]
    return {figure: spread([run[figure] for run in mine]) for figure in FIGURES} if mine else {}


def table(runs: list[Run], loaders: list[str]) -> str:
    """One row for each loader and worker count, median (lowest to highest); * marks a loader's best."""
    rows = [["loader", "workers", *FIGURES.values()]]
    for loader in loaders:
        best = best_workers(runs, loader)
        for workers in sorted({run["workers"] for run in runs if run["loader"] == loader}):
            rows.append([loader, f"{workers}{' *' if workers == best else ''}",
                         *(words(each) for each in spreads(runs, loader, workers).values())])
    return _aligned(rows)


def ratio_table(found: dict[str, dict[str, Spread]], subject: str) -> str:
    """The ratios of `subject` to each other loader."""
    names = {figure: head.partition(", ")[0] for figure, head in FIGURES.items()}
    figures = [figure for figure in names if any(figure in each for each in found.values())]
    rows = [[f"{subject} / ...", *(names[figure] for figure in figures)]]
    for other, each in found.items():
        rows.append([other, *(words(each[figure]) if figure in each else "-" for figure in figures)])
    return _aligned(rows)


def words(values: Spread) -> str:
    middle, low, high = (number(values[name]) for name in ("median", "min", "max"))
    return f"{middle} ({low} to {high})"


def number(value: float) -> str:
    """Three digits or so."""
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4}f}"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                     for row in rows)
