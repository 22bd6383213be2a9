"""The setting that your own training step needs, found by trials."""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

from stoker import _core
from stoker.cores import make_core
from stoker.loader import Loader
from stoker.recommendation import Recommendation
from stoker.replaying import replay as replay_batches

if TYPE_CHECKING:
    from stoker.torch import DataLoader

__all__ = ["tune"]

_FEWEST_BATCHES = 8
"""That a trial's measured part has, however slow they are."""


def tune(loader: Loader | DataLoader | Callable[..., Loader | DataLoader], step: Callable[[Any], object] | None = None,
         *, seconds: float = 1.0, warm_up: float = 0.5, rounds: int = 3, most_rounds: int = 7, full: bool = False,
         replay: int = 0, progress: bool = True) -> Recommendation:
    """Finds the smallest setting of a loader that is as good as the best, for your own training step.

        found = stoker.tune(loader, step=lambda batch: train_step(*batch))
        loader = stoker.Loader("photos/train", transform=stoker.train(224), **found.as_arguments())

    Makes some 20 to 60 trials, each with a fresh loader and another ``num_workers``, ``prefetch_factor``,
    ``queue_depth`` and ``reader``; the loaders' own stall reports time them and tell which are worth a trial. Settings
    are raced against each other in interleaved rounds until their intervals part. ``stoker bench`` does the same from a
    shell, for a step of a given time, and keeps an eye on what else the machine does meanwhile.

    loader: a :class:`stoker.Loader` or :class:`stoker.torch.DataLoader`, whose other arguments the trials' loaders
        have; it is not iterated itself, its place and its generators' stay as they are, and so does torch's global
        generator for a DataLoader. It keeps its buffers meanwhile. Or a callable that makes one:
        ``lambda **setting: stoker.Loader("photos/train", transform=stoker.train(224), **setting)``.
    step: called in this thread with each batch as the loader yields it. It really runs: it trains the model, with some
        hundreds to thousands of batches, so give it a copy of model and optimizer where that is not wanted. None takes
        the batches and does nothing: the loader's own limit. Where ``device`` gives batches on a GPU, work that the
        step only queues there counts all the same, without a ``torch.cuda.synchronize()``: a batch's memory comes back
        when the GPU has done with it, so that the loop goes at the GPU's pace. With batches in host memory end the step
        with something that waits for the GPU, as ``loss.item()`` does. Of several ranks let one tune, with a step that
        does not wait for the others: they would take different numbers of batches.
    seconds: that each trial is measured, and at least 8 batches of it. warm_up: seconds before that, and at least until
        every slot was used three times.
    rounds, most_rounds: each setting that is in a race is run at least, and at most, so many times.
    full: every combination instead of those that the model predicts to matter: hundreds of trials.
    replay: so many batches are kept and given to the step again and again first, to measure the step alone
        (:func:`stoker.replay`): ``step_limit``. 0: not measured.
    progress: a line on stderr, where that is a terminal or a notebook.

    Trials go on through the epochs, so that a data set larger than memory is read as in training; what fits is read
    once and then comes out of the page cache. Trials that cannot be made, for want of memory or of io_uring, are
    ``failures``; where none can be, the first one's error is raised. Raises ValueError naming a bad argument,
    :class:`stoker.Error` for a bad sample, and whatever `step` raises. What ends it early, Ctrl-C too, is raised with
    what was found until then as its ``partial``, a :class:`Recommendation` or None (in a notebook
    ``sys.last_value.partial``); the trial's loader is closed.
    """
    _check(seconds, warm_up, rounds, most_rounds, replay, step)
    make, call = _maker(loader)
    search = _core.Search(full=full, rounds=rounds, most_rounds=most_rounds)
    trials = _Trials(make, step, warm_up, seconds)
    limit: float | None = None

    def found(complete: bool) -> Recommendation | None:
        nested = search.found()
        return None if nested is None else Recommendation.of(nested, step_limit=limit, complete=complete, call=call)

    try:
        with _generators_kept(loader), _Progress(progress) as line:
            if replay > 0 and (setting := search.next()) is not None:
                limit = trials.step_limit(setting, replay)
            first_error = _search(search, trials, line)
        result = found(True)
        if result is None:
            raise first_error or RuntimeError("no trial was made")
        return result
    except BaseException as error:
        error.partial = found(False)  # type: ignore[attr-defined]
        raise


class _SettingFailed(Exception):
    """A trial could not be made, and `cause` is the setting's fault as far as one can tell."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause) or type(cause).__qualname__)
        self.cause = cause


class _Trials:
    """Runs loaders made by `make`, with `step` as their trainer. Times are seconds."""

    def __init__(self, make: Callable[..., Any], step: Callable[[Any], object] | None, warm_up: float,
                 seconds: float) -> None:
        self._make = make
        self._step = step
        self._warm_up = warm_up
        self._seconds = seconds
        self._epochs = itertools.count()

    def measure(self, setting: dict[str, Any]) -> tuple[_core.StallReport, float, float, int]:
        """What a search is told of a run."""
        memory, start = _resident_bytes(), time.monotonic()
        try:
            loader = self._make(**setting)
        except (RuntimeError, ValueError, MemoryError, OSError) as error:
            raise _SettingFailed(error) from None
        batches = _batches_of(_checked(loader), self._epochs)
        try:
            batch = next(batches)
            first = time.monotonic() - start
            if self._step is not None:
                self._step(batch)
            del batch
            self._run(batches, self._warm_up, 3 * (setting["prefetch_factor"] + 1))
            loader.reset_stalls()
            cpu = _cpu_seconds()
            self._run(batches, self._seconds, _FEWEST_BATCHES)
            report: _core.StallReport = loader.stalls()
            cpu_seconds = _cpu_seconds() - cpu
            return report, first, cpu_seconds * 1000 / max(report.samples, 1), max(_resident_bytes() - memory, 0)
        finally:
            batches.close()
            _close(loader)

    def step_limit(self, setting: dict[str, Any], count: int) -> float:
        """Images a second of the step alone."""
        loader = _checked(self._make(**setting))
        try:
            batches = itertools.cycle(replay_batches(loader, count))
        finally:
            _close(loader)
        self._run(batches, self._warm_up, 1)
        _wait_for_gpu()
        start = time.monotonic()
        samples = self._run(batches, self._seconds, _FEWEST_BATCHES)
        _wait_for_gpu()
        return samples / (time.monotonic() - start)

    def _run(self, batches: Iterator[Any], seconds: float, fewest: int) -> int:
        """Trains until both are over; gives the number of samples."""
        end, samples, taken = time.monotonic() + seconds, 0, 0
        while taken < fewest or time.monotonic() < end:
            batch = next(batches)
            if self._step is not None:
                self._step(batch)
            samples += len(batch[1])  # the labels
            taken += 1
        return samples


class _Progress:
    """One line, written over and over."""

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._start = time.monotonic()
        self._width = 0

    def __enter__(self) -> _Progress:
        return self

    def show(self, runs: int, left: int, words: str) -> None:
        if not self._shown:
            return
        rest = f"at most {left * (time.monotonic() - self._start) / runs:.0f} s left" if runs > 0 else "begins"
        line = f"tune: {runs} trials, {rest}; {words}"[: shutil.get_terminal_size().columns - 1]
        print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(line)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


def _search(search: _core.Search, trials: _Trials, line: _Progress) -> Exception | None:
    """Makes the trials that a search asks for. The first error of a setting that could not be run."""
    first_error: Exception | None = None
    for runs in itertools.count():
        setting = search.next()
        if setting is None:
            break
        line.show(runs, search.runs_left, search.words)
        try:
            search.add(*trials.measure(setting))
        except _SettingFailed as failed:
            search.fail(str(failed))
            first_error = first_error or failed.cause
    return first_error


def _batches_of(loader: Any, epochs: Iterator[int]) -> Generator[Any, None, None]:
    """Epoch after epoch. Raises _SettingFailed where loading fails, but for a bad sample, which has an index."""
    while True:
        loader.set_epoch(next(epochs))
        none_came = True
        try:
            for batch in loader:
                none_came = False
                yield batch
        except RuntimeError as error:
            if getattr(error, "index", -1) >= 0:
                raise
            raise _SettingFailed(error) from None
        if none_came:
            raise ValueError("loader: an epoch has no batch")


def _maker(loader: Any) -> tuple[Callable[..., Any], str]:
    """What makes a trial's loader, from a setting's names, and what to call that."""
    if isinstance(loader, Loader):
        arguments = {**loader._arguments, "dataset": loader._files, "transform": loader._recipe, "report_every": 0,
                     "report_file": None}
        return lambda **setting: Loader(**{**arguments, **setting}), "stoker.Loader"
    if _is_drop_in(loader):
        return lambda **setting: _twin(loader, setting), "stoker.torch.DataLoader"
    if not callable(loader):
        raise TypeError(f"loader: a stoker.Loader, a stoker.torch.DataLoader or what makes one, not a "
                        f"{type(loader).__qualname__}")
    name = getattr(loader, "__name__", "make")
    return loader, name if name.isidentifier() else "make"


def _twin(loader: DataLoader, setting: dict[str, Any]) -> DataLoader:
    """Of the same batches; its sampler has epochs of its own but draws from the same generators."""
    twin = object.__new__(type(loader))
    options = {**loader._options, **setting, "report_every": 0, "report_file": None}
    core = make_core(loader._files, loader._transform, options)
    twin.__dict__.update(loader.__dict__, sampler=copy.copy(loader.sampler), report_every=0, _options=options,
                         _order=None, _resume=None, _latest_core=core, _idle=core, _warned=set(loader._warned),
                         **{name: setting[name] for name in ("num_workers", "prefetch_factor")})
    return twin


def _is_drop_in(loader: object) -> bool:
    module = sys.modules.get("stoker.torch")  # else there is none
    return module is not None and isinstance(loader, module.DataLoader)


def _checked(loader: Any) -> Any:
    if not isinstance(loader, Loader) and not _is_drop_in(loader):
        raise TypeError(f"loader: it made a {type(loader).__qualname__}, no stoker.Loader or stoker.torch.DataLoader")
    return loader


def _close(loader: Any) -> None:
    """At once, however long an exception's traceback holds the loader."""
    (loader._latest_core if _is_drop_in(loader) else loader).close()


@contextlib.contextmanager
def _generators_kept(loader: Any) -> Iterator[None]:
    """Has those that a DataLoader draws from left as they were."""
    if not _is_drop_in(loader):
        yield
        return
    import torch

    from stoker.sampling import generators_of

    generators = generators_of(loader.generator, loader.sampler)
    states = [one.get_state() for one in generators]
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        for one, state in zip(generators, states, strict=True):
            one.set_state(state)


def _wait_for_gpu() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _resident_bytes() -> int:
    """Of the process now; 0 where the kernel does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _check(seconds: float, warm_up: float, rounds: int, most_rounds: int, replay: int,
           step: Callable[[Any], object] | None) -> None:
    if not seconds > 0 or not warm_up >= 0:
        raise ValueError(f"seconds and warm_up: {seconds}, {warm_up} (allowed: more than 0, and 0 or more)")
    if not 1 <= rounds <= most_rounds:
        raise ValueError(f"rounds and most_rounds: {rounds}, {most_rounds} (allowed: 1 or more, and no fewer)")
    if replay < 0:
        raise ValueError(f"replay: {replay} (allowed: 0 or more)")
    if replay > 0 and step is None:
        raise ValueError("replay: without a step there is nothing to measure")
