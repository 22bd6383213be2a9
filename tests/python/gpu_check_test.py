"""What ./dev gpu makes of its parts: outcomes, figures, the page, the exit status. Nothing here needs a GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from stoker import _core

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "gpu"))

import check
import figures
import outcome
import page
from busy_share import busy_share
from outcome import FAILED, NOT_RUN, PASSED, Ended
from parts import PARTS, of_sanitizer
from tables import TABLES

BUILD = Path(_core.__file__).parents[2]

BENCH = """#!/bin/sh
case $1 in
  device) echo '{"model": "half a device"}' ;;
  copies) echo 'first words' >&2; echo 'last words' >&2; exit 1 ;;
  calls) kill -SEGV $$ ;;
  memory) echo 'there is no GPU' >&2; exit 77 ;;
  finish) echo '{"checks": {"bits are right": false, "all is well": true}}' ;;
  prefetcher) echo 'no JSON' ;;
esac
"""


def _ended(code: int | None, output: str = "", errors: str = "") -> Ended:
    return Ended(code, output, errors, 7)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build folder whose gpu_bench ends in all the ways there are."""
    bench = tmp_path / "build" / "bin" / "gpu_bench"
    bench.parent.mkdir(parents=True)
    bench.write_text(BENCH)
    bench.chmod(0o755)
    return tmp_path / "build"


def _check(build: Path, out: Path, parts: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """The exit status, the JSON and the page."""
    status = check.main(["--build", str(build), "--out", str(out), "--only", parts, *options])
    return status, json.loads((out / "gpu.json").read_text()), (out / "gpu.md").read_text()


# Parts.


def test_a_part_that_fails_is_named_and_the_others_go_on(build: Path, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    status, report, text = _check(build, tmp_path / "out", "device,copies,calls,memory,finish,prefetcher")
    assert status == 1
    ends = {name: (section["status"], section["reason"]) for name, section in report["sections"].items()}
    assert ends == {
        "device": (PASSED, ""), "copies": (FAILED, "last words"), "calls": (FAILED, ends["calls"][1]),
        "memory": (NOT_RUN, "there is no GPU"), "finish": (FAILED, "not so: bits are right"),
        "prefetcher": (FAILED, "what it printed is no JSON: no JSON")}
    assert "SIGSEGV" in ends["calls"][1]
    assert capsys.readouterr().out == text
    assert "Its results are not complete" in text  # half a device's
    assert "**FAILED**: last words." in text
    assert "Not run: there is no GPU." in text
    assert "- bits are right: **NO**\n- all is well: yes" in text


def test_the_exit_status_is_that_of_skipped_tests_where_nothing_could_run(build: Path, tmp_path: Path) -> None:
    assert _check(build, tmp_path, "memory")[0] == 77
    assert _check(build, tmp_path, "memory,device")[0] == 0
    assert _check(build, tmp_path, "memory,device,copies")[0] == 1


def test_what_was_not_built_cannot_run(tmp_path: Path) -> None:
    status, report, _ = _check(tmp_path, tmp_path / "out", "conformance,loader")
    assert status == 77
    for section in report["sections"].values():
        assert section["status"] == NOT_RUN
        assert "No such file" in section["reason"]


def test_no_part_begins_when_the_time_is_used_up(build: Path, tmp_path: Path) -> None:
    _, report, _ = _check(build, tmp_path, "device", "--seconds", "9")
    assert report["sections"]["device"]["reason"] == "the 9 s for all parts were used up"


def test_a_part_that_hangs_is_ended_with_all_that_it_started() -> None:
    # The grandchild holds the pipe open: left alone, reading to its end would take as long as it does.
    ended = outcome.run(["sh", "-c", "echo begun; sleep 1000 & wait"], 0.5)
    assert (ended.code, ended.output) == (None, "begun\n")
    assert outcome.of_json(ended) == outcome.Outcome(FAILED, "it took longer than 0 s")


def test_an_unknown_part_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        check.arguments(["--only", "device,dallee"])
    assert "there is no dallee" in capsys.readouterr().err


def test_results_of_googletest() -> None:
    def test(name: str, result: str = "COMPLETED", **more: object) -> dict[str, object]:
        return {"name": name, "result": result, **more}

    suites = [{"testsuite": [test("Runs/Cuda"), test("Waits/Cuda", "SKIPPED", skipped=[{"message": "at:7\none GPU"}])]}]
    report = json.dumps({"testsuites": suites})
    good = outcome.of_googletest(_ended(0), report)
    assert good == outcome.Outcome(PASSED, "", {"passed": ["Runs"], "failed": [], "skipped": {"Waits": "one GPU"}})
    suites.append({"testsuite": [test("Copies/Cuda", failures=[{"failure": "2 != 1"}])]})
    bad = outcome.of_googletest(_ended(1), json.dumps({"testsuites": suites}))
    assert (bad.status, bad.results["failed"]) == (FAILED, ["Copies"])
    # Broken at its exit, or before its first test.
    assert outcome.of_googletest(_ended(1, errors="a rule was broken"), report).status == FAILED
    assert outcome.of_googletest(_ended(1, errors="no context"), None) == outcome.Outcome(FAILED, "no context")


def test_results_of_pytest() -> None:
    skipped = '<testcase name="b"><skipped message="no GPU"/></testcase>'
    only_skipped = outcome.of_pytest(_ended(0), f"<testsuites><testsuite>{skipped}</testsuite></testsuites>")
    assert (only_skipped.status, only_skipped.reason) == (NOT_RUN, "no GPU")
    some = outcome.of_pytest(_ended(0), f'<testsuite><testcase name="a"/>{skipped}</testsuite>')
    assert (some.status, some.results["passed"]) == (PASSED, ["a"])
    for kind in ("failure", "error"):
        report = f'<testsuite><testcase name="a"/><testcase name="c"><{kind}/></testcase></testsuite>'
        assert outcome.of_pytest(_ended(1), report).results["failed"] == ["c"]


@pytest.mark.parametrize(("ended", "status", "reason"), [
    (_ended(0, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors"), PASSED, ""),
    (_ended(9, "========= Invalid __global__ read\n========= ERROR SUMMARY: 2 errors"), FAILED, "2 errors"),
    (_ended(1, "========= ERROR SUMMARY: 0 errors", "a test failed"), FAILED, "exit status 1: a test failed"),
    (_ended(1, "========= Error: Device not supported"), NOT_RUN, "Device not supported"),
    (_ended(1, "", "unknown option"), FAILED, "unknown option"),
    (_ended(77, "", "no GPU"), NOT_RUN, "no GPU"),
])
def test_results_of_compute_sanitizer(ended: Ended, status: str, reason: str) -> None:
    read = of_sanitizer(ended)
    assert (read.status, read.reason) == (status, reason)


# Figures.


def test_the_interval_holds_the_median_at_95_percent() -> None:
    # For 9 values the second and the eighth: the median is outside with 2 * (1 + 9) / 512.
    assert figures.interval([5, 1, 9, 3, 7, 2, 8, 4, 6]) == (2, 8)
    assert figures.interval([3, 1, 2]) == (1, 3)
    assert figures.interval([1]) == (1, 1)


def test_figures_have_the_units_that_people_read() -> None:
    assert [figures.size(64 << 10), figures.size(256 << 20), figures.size(1)] == ["64 KiB", "256 MiB", "1 B"]
    assert [figures.time(1.5e-7), figures.time(2.5e-3), figures.time(0)] == ["150 ns", "2.5 ms", "0 ns"]
    assert figures.rate(1e9, [0.5, 0.25, 0.2]) == "4 GB/s (2 to 5)"


def test_the_device_is_busy_while_any_kernel_runs() -> None:
    def event(ts: float, dur: float, cat: str = "kernel") -> dict[str, Any]:
        return {"ph": "X", "cat": cat, "ts": ts, "dur": dur}

    # 0 to 4 with one inside and one that overlaps, a gap of 4, 8 to 10; a copy in the gap is no kernel.
    events = [event(8, 2), event(0, 3), event(1, 1), event(2, 2), event(4, 4, "gpu_memcpy"), {"ph": "M"}]
    assert busy_share(events) == pytest.approx(6 / 10)
    assert busy_share([]) == 0


# The page.


def test_every_part_has_a_table() -> None:
    assert list(TABLES) == [part.name for part in PARTS]


def test_all_parts_together_have_less_than_six_minutes() -> None:
    assert check.arguments([]).seconds < 360


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], str]:
    """A whole run on the simulated driver."""
    if not (BUILD / "bin" / "gpu_bench").exists() or not (BUILD / "fake_cuda" / "libcuda.so.1").exists():
        pytest.skip("gpu_bench and fake_cuda are not built")
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "build").mkdir()  # the pictures go beside it
    for name in ("bin", "fake_cuda", "lib", "python"):
        (folder / "build" / name).symlink_to(BUILD / name)
    parts = ",".join(part.name for part in PARTS)
    return _check(folder / "build", folder / "out", parts, "--fake")


def test_all_but_torchs_parts_run_on_the_simulated_driver(simulated: tuple[int, dict[str, Any], str]) -> None:
    status, report, text = simulated
    ends = {name: section["status"] for name, section in report["sections"].items()}
    assert status == 0, text
    assert list(ends) == [part.name for part in PARTS]
    assert [name for name, end in ends.items() if end == NOT_RUN] == ["torch", "train", "sanitizer"] + (
        [] if report["sections"]["device"]["results"]["has_kernel"] else ["finish"])
    assert "not complete" not in text
    assert "loaded" in text or "no nvcc" in text


def test_the_page_says_that_the_driver_was_simulated(simulated: tuple[int, dict[str, Any], str]) -> None:
    _, report, text = simulated
    assert report["fake"] is True
    assert "No figure below is a measurement of a GPU" in text
    assert all(line.endswith("(simulated)") for line in text.splitlines() if line.startswith("## "))
    assert "simulated" not in page.make_page({**report, "fake": False, "driver": {"name": "NVIDIA 580", "gpus": []},
                                              "sections": {}})


def test_the_json_says_where_it_was_made(simulated: tuple[int, dict[str, Any], str]) -> None:
    _, report, _ = simulated
    assert report["schema_version"] == 1
    assert report["machine"].keys() >= {"cpu", "cpus", "usable_cpus", "memory_gb", "kernel", "system", "python"}
    assert report.keys() >= {"date", "seconds", "source", "driver", "build_as_is"}
    assert report["sections"]["device"]["results"]["model"] == "Fake GPU 0"
