"""The comparison's rounds with made-up measurements: what is run, left out, kept, gone on with, printed and drawn."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "peers"))

import compare
import measure
import options
import plot
from comparison import Comparison
from fresh_process import Failed

LOADERS = ["stoker", "torch-pil", "dali"]
RATES = {"stoker": 900.0, "torch-pil": 300.0, "dali": 600.0}

Call = tuple[str, int]
"""Loader and workers of a run; 0 workers where it is introduced."""


class Machine:
    """Stands in for the processes."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.trouble: dict[Call, BaseException] = {}
        """Call -> what it raises."""
        self.versions = {loader: f"{loader} 1.0, torch 2" for loader in LOADERS}
        self.share = {1: 0.5, 2: 1.0, 4: 0.9}
        """Workers -> rate, of the loader's best."""

    def __call__(self, _: Comparison, loader: str, workers: int, limit: float, *options: str) -> dict[str, Any]:
        call = (loader, 0 if "--introduce" in options else workers)
        self.calls.append(call)
        if call in self.trouble:
            raise self.trouble[call]
        if not call[1]:
            about = {"versions": self.versions[loader], "promise": "whole decode"}
            if loader == "dali":
                return {**about, "parity": {"none": "it has no centre crop"},
                        "prepared": {"mb": 75.0, "files_mb": 100.0, "seconds": 2.5}}
            return {**about, "parity": {"pictures": 56, "mean": 0.25, "max": 2.0}, "prepared": None}
        return {"images": 10, "images_per_second": RATES[loader] * self.share[workers] + len(self.calls) / 1000,
                "first_batch_s": 0.5, "cpu_s_per_1000": 2.0, "memory_mb": 200.0, "imports_mb": 700.0,
                "in_flight_mb": 0.0, "next_us": 100.0, "next_again_us": 50.0}

    @property
    def runs(self) -> list[Call]:
        return [call for call in self.calls if call[1]]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(Comparison, "process", lambda *arguments: made(*arguments))
    return made


Compare = Callable[..., int]


@pytest.fixture
def run(photo_folder: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """compare.py with these options; its exit code."""
    def compared(*given: object) -> int:
        monkeypatch.setattr(sys, "argv", ["compare.py", str(photo_folder), "--batch-size", "8", "--loaders",
                                          ",".join(LOADERS), *map(str, given)])
        return compare.main()
    return compared


def test_rounds_go_through_workers_and_loaders_in_turn(run: Compare, machine: Machine) -> None:
    machine.share[1] = 0.8
    assert run("--workers", "1,2", "--rounds", 2) == 0
    assert machine.calls[:3] == [(loader, 0) for loader in LOADERS]
    assert machine.calls[3:] == 2 * [(loader, workers) for workers in (1, 2) for loader in LOADERS]


def test_a_worker_count_far_below_the_best_is_not_measured_again(run: Compare, machine: Machine) -> None:
    run("--workers", "1,2,4", "--rounds", 2)
    assert machine.runs[9:] == [(loader, workers) for workers in (2, 4) for loader in LOADERS]


@pytest.mark.parametrize(("cores", "workers"), [(1, [1, 2]), (2, [1, 2, 4]), (3, [1, 3, 6]), (16, [1, 8, 16, 32])])
def test_worker_counts_come_from_the_cores(cores: int, workers: list[int]) -> None:
    assert options.usual_workers(cores) == workers


def test_a_missing_loader_is_named_with_what_installs_it(run: Compare, machine: Machine,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    machine.trouble["dali", 0] = Failed("ended with 3", "No module named 'nvidia'", measure.NOT_INSTALLED)
    assert run("--workers", 1, "--rounds", 1) == 0
    printed, said = capsys.readouterr()
    named = "not installed (No module named 'nvidia'): pip install -c bench/peers/requirements.txt nvidia-dali-cuda130"
    assert f"dali is left out, {named}" in said.partition("round 1/1")[0]
    assert f"dali: {named}" in printed
    assert machine.runs == [("stoker", 1), ("torch-pil", 1)]


def test_a_loader_that_dies_is_left_out_and_the_rest_goes_on(run: Compare, machine: Machine, tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    machine.trouble["dali", 4] = Failed("ended by SIGSEGV", "out of luck")
    assert run("--workers", "2,4", "--rounds", 2, "--json", tmp_path / "a.json") == 1
    result = json.loads((tmp_path / "a.json").read_text())
    assert result["left_out"] == {"dali": "failed with workers=4: ended by SIGSEGV: out of luck"}
    assert {run["loader"] for run in result["runs"]} == {"stoker", "torch-pil"}
    assert len(result["runs"]) == 8
    assert "dali: failed with workers=4: ended by SIGSEGV: out of luck" in capsys.readouterr().out


def test_an_interrupt_keeps_what_was_measured_and_resume_does_the_rest(
        run: Compare, machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kept.json"
    machine.trouble["dali", 2] = KeyboardInterrupt()
    assert run("--workers", "2,4", "--rounds", 1, "--json", file) == 130
    printed, said = capsys.readouterr()
    assert f"--resume {file} goes on" in said
    assert "stoker / ..." in printed
    assert "dali: not measured yet" in printed
    assert [run["loader"] for run in json.loads(file.read_text())["runs"]] == ["stoker", "torch-pil"]

    machine.trouble.clear()
    machine.calls.clear()
    assert run("--workers", "2,4", "--rounds", 1, "--resume", file) == 0
    assert machine.runs == [("dali", 2), ("stoker", 4), ("torch-pil", 4), ("dali", 4)]
    result = json.loads(file.read_text())
    assert len(result["runs"]) == 6
    assert result["left_out"] == {}
    assert result["command"].count("compare.py") == 2


def test_resume_refuses_another_job(run: Compare, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kept.json"
    run("--workers", 1, "--rounds", 1, "--json", file)
    with pytest.raises(SystemExit):
        run("--workers", 1, "--rounds", 1, "--resume", file, "--seconds", 5)
    assert f"--resume: {file} was measured with seconds 8, not 5.0" in capsys.readouterr().err
    file.write_text("[1, 2]")
    with pytest.raises(SystemExit):
        run("--resume", file)
    assert "is not what --json of this command writes" in capsys.readouterr().err


def test_resume_measures_another_version_anew(run: Compare, machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    run("--workers", 2, "--rounds", 1, "--json", file)
    machine.versions["dali"] = "dali 2.0"
    machine.calls.clear()
    run("--workers", 2, "--rounds", 2, "--resume", file)
    assert machine.runs.count(("dali", 2)) == 2
    assert machine.runs.count(("stoker", 2)) == 1


def test_a_full_disk_is_said_after_the_result(run: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--workers", 1, "--rounds", 1, "--json", "/dev/full") == 1
    printed, said = capsys.readouterr()
    assert "--json: could not write /dev/full: No space left on device" in said
    assert "stoker / ..." in printed


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.json"
    file.write_text("before")

    def full(self: Path, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        compare.write_json({}, file)
    assert file.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.json"]


def test_markdown_has_a_row_for_each_loader(run: Compare, capsys: pytest.CaptureFixture[str]) -> None:
    run("--workers", "1,2", "--rounds", 1, "--markdown")
    head, line, *rest = capsys.readouterr().out.splitlines()
    assert head.split(" | ")[:4] == ["| loader", "images/s, 1 worker", "images/s", "stoker / it"]
    assert set(line) == {"|", "-"}
    assert [row.split(" | ")[0] for row in rest[:3]] == [f"| {name} ({name} 1.0)" for name in LOADERS]
    assert rest[1].split(" | ")[1:] == ["150", "300 (300 to 300)", "3.00 (3.00 to 3.00)", "0.50", "200", "2.00", "2",
                                        "mean 0.25, largest 2 |"]
    assert rest[2].endswith("| it has no centre crop |")
    assert "2 rounds" not in rest[4] and "60 pictures" in rest[4] and "`python compare.py" in rest[4]
    assert "100 MB of files to 75 MB in 2.5 s" in rest[-1]


def test_a_plot_without_matplotlib_is_refused_at_the_start(run: Compare, machine: Machine, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        run("--plot", tmp_path / "rates.svg")
    assert "pip install matplotlib" in capsys.readouterr().err
    assert machine.calls == []


def test_the_plot_has_both_colour_schemes() -> None:
    svg = plot.styled('<?xml version="1.0"?>\n<svg width="1">\n<path style="fill: #030303; stroke: #010101"/></svg>')
    root = ElementTree.fromstring(svg)
    assert 'style="fill: var(--subject); stroke: var(--ink)"' in svg
    assert "@media(prefers-color-scheme:dark){svg{--ink:#e6edf3" in (root[0].text or "")


def test_the_plot_shows_the_first_loader_on_top_then_the_fastest(run: Compare, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "rates.svg"
    assert run("--workers", 2, "--rounds", 2, "--plot", file) == 0
    texts = [each.text or "" for each in ElementTree.parse(file).iter() if each.tag.endswith("}text")]
    assert [text for text in texts if text in LOADERS] == ["stoker", "dali", "torch-pil"]
    rates = [text for text in texts if text in ("900", "600", "300")]
    assert rates[-3:] == ["900", "600", "300"]  # after the axis' own
