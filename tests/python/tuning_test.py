"""stoker.tune with real loaders. What it searches for is tests/loader/tuning's."""

from __future__ import annotations

import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from stoker.torch import DataLoader
from trials import BATCH, EVAL, NAMES, SAMPLES, ids, small_folder, tune


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_folder(tmp_path_factory)


@pytest.fixture
def loader(folder: Path) -> stoker.Loader:
    return stoker.Loader(folder, BATCH, EVAL, output="numpy", num_workers=1, return_ids=True)


@pytest.fixture
def drop_in(folder: Path) -> DataLoader:
    dataset = stoker.FolderDataset(folder, transform=EVAL)
    return DataLoader(dataset, BATCH, shuffle=True, generator=torch.Generator().manual_seed(5), return_ids=True)


class Maker:
    """Makes loaders, and keeps them."""

    def __init__(self, folder: Path, kind: type = stoker.Loader, **arguments: Any) -> None:
        self.made: list[Any] = []
        self._dataset = stoker.FolderDataset(folder, transform=EVAL)
        self._kind, self._arguments = kind, arguments

    def __call__(self, **setting: Any) -> Any:
        assert setting.keys() == NAMES
        self.made.append(self._kind(self._dataset, BATCH, **self._arguments, **setting))
        return self.made[-1]

    def all_are_closed(self) -> bool:
        return len(self.made) > 0 and all(_is_closed(loader) for loader in self.made)


def _is_closed(loader: Any) -> bool:
    try:
        loader.stalls()
    except stoker.Error as error:
        return "closed" in str(error)
    return False


# What is tuned.


def test_a_loader_is_left_where_it_stood(loader: stoker.Loader) -> None:
    iterator = iter(loader)
    came = ids([next(iterator)])
    state, given = loader.state_dict(), loader.stalls().batches
    recommended = tune(loader)
    assert (loader.state_dict(), loader.stalls().batches) == (state, given)
    assert sorted(came + ids(iterator)) == list(range(SAMPLES))
    assert recommended.call == "stoker.Loader"


def test_the_arguments_make_a_loader(loader: stoker.Loader, folder: Path) -> None:
    arguments = tune(loader).as_arguments()
    assert arguments.keys() == NAMES
    for made in (stoker.Loader(folder, BATCH, EVAL, **arguments),
                 DataLoader(stoker.FolderDataset(folder, transform=EVAL), BATCH, **arguments)):
        assert sum(len(labels) for _, labels in made) == SAMPLES


def test_a_drop_in_reads_as_it_is_told(folder: Path) -> None:
    dataset = stoker.FolderDataset(folder, transform=EVAL)
    loader = DataLoader(dataset, BATCH, reader="pread")
    list(loader)
    assert loader.stalls().reader.startswith("pread")
    for odd in ({"reader": "mmap"}, {"queue_depth": 0}):
        with pytest.raises(ValueError, match=next(iter(odd))):
            DataLoader(dataset, BATCH, **odd)


def test_a_drop_in_and_its_generators_are_left_where_they_stood(drop_in: DataLoader) -> None:
    state = torch.get_rng_state()
    want = ids(drop_in)
    assert drop_in.generator is not None
    drop_in.generator.manual_seed(5)
    recommended = tune(drop_in, lambda batch: torch.rand(3))
    assert ids(drop_in) == want
    assert torch.equal(torch.get_rng_state(), state)
    assert recommended.call == "stoker.torch.DataLoader"


def test_a_drop_in_with_a_distributed_sampler_is_not_warned_of(folder: Path, recwarn: Any) -> None:
    dataset = stoker.FolderDataset(folder, transform=EVAL)
    sampler: Any = torch.utils.data.DistributedSampler(dataset, 2, 0)  # type: ignore[arg-type]
    sampler.set_epoch(7)
    tune(DataLoader(dataset, BATCH, sampler=sampler))
    assert sampler.epoch == 7
    assert not recwarn.list


@pytest.mark.parametrize("kind", [stoker.Loader, DataLoader])
def test_what_makes_loaders_is_asked_for_settings_and_they_are_closed(folder: Path, kind: type) -> None:
    make = Maker(folder, kind)
    recommended = tune(make)
    assert make.all_are_closed()
    assert len(make.made) == recommended.runs
    assert recommended.call == "make"


def test_trials_have_an_epoch_each(folder: Path) -> None:
    epochs: list[int] = []

    class Noted(stoker.Loader):
        def set_epoch(self, epoch: int) -> None:
            epochs.append(epoch)
            super().set_epoch(epoch)

    recommended = tune(Maker(folder, Noted))
    assert epochs == list(range(len(epochs)))
    assert len(epochs) >= recommended.runs


def test_every_combination_is_many_more(folder: Path, loader: stoker.Loader) -> None:
    class Enough(Exception):
        pass

    trials = iter(range(40))

    def make(**setting: Any) -> stoker.Loader:
        if next(trials, None) is None:
            raise Enough
        return stoker.Loader(folder, SAMPLES, EVAL, output="numpy", **setting)

    with pytest.raises(Enough) as stopped:
        tune(make, full=True)
    settings = {lane.setting for lane in stopped.value.partial.lanes}  # type: ignore[attr-defined]
    assert len(settings) == 40
    assert {setting.queue_depth for setting in settings} == {8, 32, 128}


# The step.


@pytest.mark.parametrize("kind", ["loader", "drop_in"])
def test_the_step_is_given_what_the_loader_yields(kind: str, request: pytest.FixtureRequest) -> None:
    loader = request.getfixturevalue(kind)
    kinds = {type(batch) for batch in loader}
    seen: list[Any] = []
    recommended = tune(loader, lambda batch: seen.append((type(batch), *(len(field) for field in batch))))
    assert {kind for kind, *_ in seen} == kinds
    assert {lengths for _, *rest in seen for lengths in [tuple(rest)]} == {(BATCH,) * 3, (SAMPLES % BATCH,) * 3}
    assert len(seen) > 8 * recommended.runs


def test_what_the_step_raises_is_raised(folder: Path) -> None:
    make = Maker(folder)
    with pytest.raises(ZeroDivisionError) as raised:
        tune(make, lambda batch: 1 // 0)
    assert raised.value.partial is None  # type: ignore[attr-defined]
    assert len(make.made) == 1
    assert make.all_are_closed()


@pytest.mark.parametrize("kind", [stoker.Loader, DataLoader])
def test_ctrl_c_keeps_what_was_found(folder: Path, kind: type) -> None:
    make = Maker(folder, kind)

    def step(batch: object) -> None:
        if len(make.made) == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stopped:
        tune(make, step)
    partial = stopped.value.partial  # type: ignore[attr-defined]
    assert (partial.runs, partial.complete) == (3, False)
    assert sum(lane.runs for lane in partial.lanes) == 3
    assert "broken off" in repr(partial)
    assert "broken off" in partial._repr_html_()
    assert make.all_are_closed()


def test_the_step_alone_is_measured_with_copies(folder: Path, loader: stoker.Loader) -> None:
    with_it = tune(loader, lambda batch: batch[0].fill(0), replay=2)
    assert with_it.step_limit is not None
    assert with_it.step_limit > 0
    assert f"your step alone takes {with_it.step_limit:,.0f} img/s" in repr(with_it)
    without = tune(loader)
    assert without.step_limit is None
    assert "step alone" not in repr(without)


# What goes wrong.


def test_settings_that_cannot_be_run_are_named(folder: Path) -> None:
    make = Maker(folder)

    def sometimes(**setting: Any) -> Any:
        if setting["num_workers"] > 1:
            raise ValueError("too many of them")
        return make(**setting)

    recommended = tune(sometimes)
    assert recommended.setting.num_workers == 1
    assert any("2 workers" in failure and "too many of them" in failure for failure in recommended.failures)
    assert "too many of them" in repr(recommended)


def test_a_step_that_keeps_more_batches_than_a_setting_has_fails_the_setting(folder: Path) -> None:
    kept: list[Any] = []

    def step(batch: Any) -> None:
        kept.append(batch)
        del kept[:-3]

    recommended = tune(Maker(folder, output="numpy"), step)
    assert any("prefetch 1" in failure and "holds all" in failure for failure in recommended.failures)
    assert recommended.setting.prefetch_factor > 1


def test_where_no_setting_can_be_run_the_first_error_is_raised(folder: Path) -> None:
    with pytest.raises(stoker.Error, match="memory_limit") as raised:
        tune(Maker(folder, memory_limit=1000))
    assert raised.value.partial is None  # type: ignore[attr-defined]


def test_a_bad_sample_is_no_fault_of_the_setting_and_raised(folder: Path, make_broken: Any) -> None:
    good = [str(path) for path in folder.rglob("*.jpg")]
    trials = iter([good, good, good])

    def make(**setting: Any) -> stoker.Loader:
        paths = next(trials, [*good, str(make_broken("text"))])
        return stoker.Loader(stoker.FileDataset(paths, [0] * len(paths)), BATCH, EVAL, output="numpy", **setting)

    with pytest.raises(stoker.Error, match=r"text\.jpg") as raised:
        tune(make)
    assert raised.value.index == len(good)
    assert raised.value.partial.runs == 3  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:drop_last")
def test_an_epoch_without_batches_is_an_error(folder: Path) -> None:
    loader = stoker.Loader(folder, SAMPLES + 1, EVAL, drop_last=True)
    for attempt in (tune, stoker.replay):
        with pytest.raises(ValueError, match="epoch"):
            attempt(loader)


@pytest.mark.parametrize("arguments", [
    {"seconds": 0}, {"seconds": float("nan")}, {"warm_up": -1}, {"rounds": 0}, {"most_rounds": 2, "rounds": 3},
    {"replay": -1, "step": print}, {"replay": 2},
])
def test_a_bad_argument_is_named(loader: stoker.Loader, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        tune(loader, **arguments)


@pytest.mark.parametrize("loader", [3, list, lambda **_: [1]])
def test_what_is_no_loader_is_named(loader: Any) -> None:
    with pytest.raises(TypeError, match=r"loader|keyword"):
        tune(loader)


# What it shows and leaves.


def test_a_line_tells_how_far_it_is_and_goes(loader: stoker.Loader, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    tune(loader)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    tune(loader, progress=False)
    assert capsys.readouterr().err == ""
    recommended = tune(loader)
    said = capsys.readouterr().err.split("\r")
    assert said[1].startswith("tune: 0 trials, begins; probes: 1 worker, prefetch 2")
    assert sum("trials" in line for line in said) == recommended.runs
    assert any("s left; number of workers" in line for line in said)
    assert [line.strip() for line in said[-2:]] == ["", ""]


def test_nothing_is_left_behind_and_torch_is_not_needed(folder: Path, run_script: Any) -> None:
    run_script(textwrap.dedent("""
        import os, sys
        os.environ["LOCAL_WORLD_SIZE"] = "100000"  # few settings
        import stoker

        def megabytes():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

        loader = stoker.Loader(sys.argv[1], 8, stoker.train(128), output="numpy", num_workers=1)
        def use():
            stoker.tune(loader, len, seconds=0.005, warm_up=0, rounds=1, most_rounds=1, replay=2)
        use()
        before, threads = megabytes(), len(os.listdir("/proc/self/task"))
        for _ in range(4):  # dozens of loaders with 5 MB each
            use()
        assert len(os.listdir("/proc/self/task")) <= threads + 1  # oneTBB's may come and go
        assert megabytes() - before < 20, (before, megabytes())
        assert "torch" not in sys.modules
        """), folder)
