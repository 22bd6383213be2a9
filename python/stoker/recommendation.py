"""What a search for a loader's setting came to, for programs, terminals and notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

__all__ = ["Lane", "Recommendation", "Setting"]

_CPP_READERS = {"auto": "kAuto", "io_uring": "kUring", "pread": "kPread"}


class Setting(NamedTuple):
    """The arguments of a loader that change how fast batches come, and nothing about what they hold."""

    num_workers: int
    prefetch_factor: int
    queue_depth: int
    reader: str


@dataclass(frozen=True)
class Lane:
    """How one setting did. Rates are images a second; a margin is half the width of the 95 % interval, None where there
    were too few runs to tell."""

    name: str
    """Of a baseline, else ""."""
    words: str
    """The setting's."""
    setting: Setting
    images_per_second: float
    margin: float | None
    of_best: float | None
    """Its rate / the best setting's, from the rounds that both ran; None: no such round."""
    of_best_margin: float | None
    runs: int
    failed: bool
    """A run of it was an error."""


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What :func:`stoker.tune` found. ``print`` it; a notebook shows it as a table. Plain data, it pickles."""

    recommended: Lane
    """The smallest setting that is as good as the best: within 2 %. Fewer workers count first, then less memory."""
    best: Lane
    baselines: tuple[Lane, ...]
    """What people start with, run in the same rounds."""
    lanes: tuple[Lane, ...]
    """All settings that were run."""
    verdict: str
    """The stall report's, of the recommended setting's median run; so are the next ones."""
    advice: str
    first_batch_seconds: float
    """From the loader's making to its first batch."""
    cpu_seconds_per_1000: float
    """Of the whole process, your step with it, for 1,000 images."""
    memory_bytes: int
    """What the process had resident more than before the run. The first runs have what your step takes once, too."""
    planned_bytes: int
    """What the loader reserved."""
    runs: int
    grid_runs: int
    """That the whole grid would have taken, at the fewest."""
    falls_beyond: bool
    """More workers than the best setting's are slower, for sure."""
    failures: tuple[str, ...]
    """Settings that could not be run, and why."""
    step_limit: float | None
    """Images a second that your step alone takes, of batches that are there already; None: not asked for."""
    complete: bool
    """False: the search was broken off, and this is of what was run until then."""
    call: str
    """What makes the loader: "stoker.Loader"."""

    @classmethod
    def of(cls, found: dict[str, Any], *, step_limit: float | None, complete: bool, call: str) -> Recommendation:
        """From what the native search found."""
        lanes = {name: _lane(found[name]) for name in ("recommended", "best")}
        lists = {name: tuple(_lane(lane) for lane in found[name]) for name in ("baselines", "lanes")}
        return cls(**{**found, **lanes, **lists, "failures": tuple(found["failures"])},
                   step_limit=step_limit, complete=complete, call=call)

    @property
    def setting(self) -> Setting:
        return self.recommended.setting

    @property
    def images_per_second(self) -> float:
        return self.recommended.images_per_second

    @property
    def margin(self) -> float | None:
        """Half the width of the 95 % interval of `images_per_second`."""
        return self.recommended.margin

    def as_arguments(self) -> dict[str, Any]:
        """For the constructor: ``stoker.Loader(folder, transform=..., **found.as_arguments())``."""
        return self.setting._asdict()

    @property
    def python_line(self) -> str:
        arguments = ", ".join(f"{name}={_quoted(value)}" for name, value in self.as_arguments().items())
        return f"{self.call}({'..., ' if self.call.startswith('stoker.') else ''}{arguments})"

    @property
    def cpp_line(self) -> str:
        workers, prefetch, depth, reader = self.setting
        return (f"stoker::LoaderOptions options{{.num_workers = {workers}, .prefetch_factor = {prefetch}, "
                f".reader = stoker::ReaderKind::{_CPP_READERS[reader]}, .queue_depth = {depth}}};")

    def __repr__(self) -> str:
        lines = [f"{name:<11} {words}" for name, words in self._rows()]
        return "\n".join([f"Recommendation{'' if self.complete else ', of a search that was broken off'}", *lines])

    def _repr_html_(self) -> str:
        named = [("take", self.recommended), ("the best", self.best), *((lane.name, lane) for lane in self.baselines)]
        rest = sorted(self.lanes, key=lambda lane: -lane.images_per_second)
        notes = "".join(f"<div>{escape(name)}: {escape(words)}</div>" for name, words in self._notes())
        broken_off = "" if self.complete else "<div>of a search that was broken off</div>"
        return (f"<div>{broken_off}{_table(named)}{notes}<pre>{escape(self.python_line)}\n{escape(self.cpp_line)}</pre>"
                f"<details><summary>all {len(rest)} settings</summary>{_table([('', lane) for lane in rest])}</details>"
                "</div>")

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("take", _lane_words(self.recommended)), ("the best", _lane_words(self.best))]
        rows += [("beside it", f"{lane.name}: {_rate_words(lane)}{_share_words(lane)}") for lane in self.baselines]
        return [*rows, *self._notes(), ("Python", self.python_line), ("C++", self.cpp_line)]

    def _notes(self) -> list[tuple[str, str]]:
        notes = [("costs", f"{self.cpu_seconds_per_1000:.2f} CPU-seconds for 1,000 images, "
                           f"{self.memory_bytes / 1e6:,.0f} MB ({self.planned_bytes / 1e6:,.0f} MB of it planned), "
                           f"first batch after {1000 * self.first_batch_seconds:,.0f} ms"),
                 ("limit", self.verdict), ("advice", self.advice)]
        if self.step_limit is not None:
            notes.append(("step", f"your step alone takes {self.step_limit:,.0f} img/s"))
        if self.falls_beyond:
            notes.append(("note", "more workers than the best number make it slower"))
        saved = self.grid_runs - self.runs
        notes.append(("runs", f"{self.runs}{f', {saved} fewer than the whole grid' if saved > 0 else ''}"))
        return notes + [("failed", failure) for failure in self.failures]


def _lane(found: dict[str, Any]) -> Lane:
    return Lane(**{**found, "setting": Setting(**found["setting"])})


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _rate_words(lane: Lane) -> str:
    if lane.images_per_second <= 0:
        return "no run succeeded" if lane.failed else "0 img/s"
    margin = "" if lane.margin is None else f" ± {100 * lane.margin / lane.images_per_second:.1f} %"
    return f"{lane.images_per_second:,.0f} img/s{margin}"


def _share_words(lane: Lane) -> str:
    return "" if lane.of_best is None else f", {lane.of_best:.2f} of the best"


def _lane_words(lane: Lane) -> str:
    return f"{lane.words:<42} {_rate_words(lane)}{_share_words(lane)}"


def _table(lanes: list[tuple[str, Lane]]) -> str:
    """Of the page's own colours, so that it reads in the dark too."""
    rows = [(name, lane.words, f"{_rate_words(lane)}{_share_words(lane)}", str(lane.runs)) for name, lane in lanes]
    head, *body = ["".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in row)
                   for tag, row in [("th", ("", "setting", "rate", "runs")), *(("td", row) for row in rows)]]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table>"
