"""The comparison with other loaders: that it runs, and what it says of itself. Never how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMPARE = Path(__file__).resolve().parents[2] / "bench" / "peers" / "compare.py"
LOADERS = ["stoker", "stoker-learned", "torchvision-io", "torch-pil"]
FIGURES = ["images_per_second", "first_batch_s", "cpu_s_per_1000", "memory_mb", "in_flight_mb", "next_us",
           "next_again_us"]


def _compare(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(COMPARE), *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, check=False)


@pytest.fixture(scope="module")
def compared(photo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """One short round of the loaders that need nothing but torch: the JSON and what was printed."""
    file = tmp_path_factory.mktemp("peers") / "result.json"
    done = _compare(photo_folder, "--loaders", ",".join(LOADERS), "--workers", 1, "--rounds", 1, "--batch-size", 8,
                    "--seconds", 0.2, "--warm-up", 0.1, "--next-calls", 1, "--json", file)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text()), done.stdout


def test_every_loader_is_measured_once_a_round(compared: tuple[dict[str, Any], str]) -> None:
    result, _ = compared
    assert [(run["loader"], run["workers"], run["round"]) for run in result["runs"]] == [
        (loader, 1, 1) for loader in LOADERS]
    for run in result["runs"]:
        assert run["images"] > 0
        assert all(isinstance(run[figure], float) for figure in FIGURES)
    assert result["left_out"] == {}


def test_the_json_says_how_it_was_made(compared: tuple[dict[str, Any], str]) -> None:
    result, _ = compared
    assert result["schema_version"] == 1
    assert "compare.py" in result["command"]
    assert result["machine"].keys() >= {"cpu", "cpus", "kernel", "memory_gb", "python"}
    assert result["job"] == {"pictures": 60, "batch_size": 8, "seconds": 0.2, "warm_up": 0.1, "cold": False,
                             "rounds": 1, "cores": result["job"]["cores"]}
    for loader in LOADERS:
        assert "torch 2" in result["loaders"][loader]["versions"]
        assert result["loaders"][loader]["best_workers"] == 1


def test_pixels_are_pillows(compared: tuple[dict[str, Any], str]) -> None:
    result, _ = compared
    parities = {loader: result["loaders"][loader]["parity"] for loader in LOADERS}
    assert all(parity["pictures"] == 56 for parity in parities.values())  # whole batches
    assert parities["torch-pil"]["max"] < 0.01  # the same thing twice
    assert parities["stoker-learned"] == parities["stoker"]
    assert parities["stoker"]["max"] <= 1.01
    assert parities["torchvision-io"]["mean"] < 0.5


def test_ratios_are_of_the_first_loader_to_the_others(compared: tuple[dict[str, Any], str]) -> None:
    result, printed = compared
    rates = {run["loader"]: run["images_per_second"] for run in result["runs"]}
    assert list(result["ratios"]) == LOADERS[1:]
    for other, ratios in result["ratios"].items():
        assert ratios["images_per_second"]["median"] == pytest.approx(rates["stoker"] / rates[other])
    assert "stoker / ..." in printed
    assert result["command"] in printed


def test_a_loader_that_fails_is_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    done = _compare(tmp_path, "--loaders", "stoker", "--workers", 1, "--rounds", 1, "--batch-size", 1)
    assert done.returncode == 1
    assert "stoker failed before it was measured" in done.stderr
    assert "broken.jpg" in done.stderr


@pytest.mark.parametrize(("option", "value"), [
    ("--loaders", "stoker,dallee"), ("--workers", "0"), ("--workers", "two"), ("--cores", "99999"), ("--rounds", "0"),
    ("--batch-size", "61"), ("--next-calls", "0"), ("--json", "no/such/folder/result.json"),
    ("--resume", "no_such.json"),
])
def test_a_wrong_option_is_named(photo_folder: Path, option: str, value: str) -> None:
    done = _compare(photo_folder, "--batch-size", 8, option, value)
    assert done.returncode == 2
    assert (option if option != "--batch-size" else "60 JPEG files") in done.stderr.splitlines()[-1]
