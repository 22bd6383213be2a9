"""What loaders in the comparison share: conversion, crops, the difference from Pillow, and a loader of one's own."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms  # type: ignore[import-untyped]

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "peers"))

import crop_box
import parity
import prepared
import rival
from tar_files import write_tar

COMPARE = Path(rival.__file__).with_name("compare.py")

FAKE = """
import numpy as np
VERSIONS, PROMISE = "fake 1.0", "black pictures"

def make(job):
    assert (job.prepared / "converted").exists() and len(job.files) == job.repeat * 60
    starts = range(0, len(job.files) - job.batch_size + 1, job.batch_size)
    black = np.zeros((job.batch_size, 3, 224, 224), np.float32)
    return [(black, job.labels[at:at + job.batch_size]) for at in starts]

def fixed(job):
    assert (job.prepared / "converted").exists() and len(job.files) == 56
    return [(np.zeros((8, 3, 224, 224)), job.labels[at:at + 8]) for at in range(0, 56, 8)]

def prepare(files, labels, folder):
    (folder / "converted").write_text(f"{len(files)} files")
"""
CRASHES = """
import os, signal, sys
print("out of luck", file=sys.stderr, flush=True)
os.kill(os.getpid(), signal.SIGSEGV)
"""
MISSING = "import no_such_library"


class Rival:
    """A module's names."""

    VERSIONS = PROMISE = "1.0"
    make: Callable[[rival.Job], Iterable[rival.Batch]]

    def __init__(self, fixed: Callable[[rival.Job], Iterable[rival.Batch]], prepare: Any = None) -> None:
        self.fixed = fixed
        if prepare:
            self.prepare = prepare


def _none(job: rival.Job) -> Iterable[rival.Batch]:
    raise NotImplementedError("its pass has no centre crop")


def _files(folder: Path) -> tuple[list[str], list[int]]:
    files = sorted(map(str, folder.rglob("*.jpg")))
    return files, [at // 20 for at in range(len(files))]


def test_ones_own_loaders_are_measured_and_bad_ones_left_out(photo_folder: Path, tmp_path: Path) -> None:
    # An empty torch is quicker to import: it is there to be taken off the memory.
    for name, source in {"fake": FAKE, "crashes": CRASHES, "missing": MISSING, "torch": "", "torchvision": ""}.items():
        (tmp_path / f"{name}.py").write_text(source)
    loaders = [str(tmp_path / f"{name}.py") for name in ("crashes", "fake", "missing")]
    done = subprocess.run(
        [sys.executable, str(COMPARE), str(photo_folder), "--loaders", ",".join(loaders), "--workers", "1",
         "--rounds", "1", "--batch-size", "8", "--seconds", "0.05", "--warm-up", "0", "--next-calls", "1", "--prepared",
         str(tmp_path / "kept"), "--json", str(tmp_path / "result.json")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr  # one failed
    result = json.loads((tmp_path / "result.json").read_text())
    crashes, fake, missing = loaders
    assert result["left_out"] == {crashes: "failed before it was measured: ended by SIGSEGV: out of luck",
                                  missing: "not installed (No module named 'no_such_library')"}
    assert [run["loader"] for run in result["runs"]] == [fake]
    about = result["loaders"][fake]
    assert about["parity"]["pictures"] == 56 and about["parity"]["max"] > 99
    assert about["prepared"]["mb"] == pytest.approx(len("60 files") / 1e6)
    assert [file.read_text() for file in (tmp_path / "kept").rglob("converted")] == ["60 files"]


def test_what_was_converted_is_found_again_until_a_file_changes(photo_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"12")
    calls = []

    def prepare(files: list[str], labels: list[int], folder: Path) -> None:
        calls.append(files)
        (folder / "made").write_bytes(b"123")

    made, root, files = Rival(_none, prepare), tmp_path / "kept", [str(tmp_path / "a.jpg")]
    first, again = (prepared.prepared(made, files, [0], root) for _ in range(2))
    assert first and again
    assert (first["mb"], first["files_mb"], again["seconds"], len(calls)) == (3e-6, 2e-6, 0, 1)
    assert (prepared.folder_for(made, files, [0], root) / "made").exists()
    (tmp_path / "a.jpg").write_bytes(b"123")
    prepared.prepared(made, files, [0], root)
    assert len(calls) == 2
    assert prepared.prepared(Rival(_none), files, [0], root) is None


def test_a_conversion_that_failed_half_way_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"12")

    def fails(files: list[str], labels: list[int], folder: Path) -> None:
        (folder / "half").write_bytes(b"1")
        raise OSError(28, "No space left on device")

    made, files = Rival(_none, fails), [str(tmp_path / "a.jpg")]
    with pytest.raises(OSError, match="No space"):
        prepared.prepared(made, files, [0], tmp_path / "kept")
    made.prepare = lambda files, labels, folder: (folder / "whole").write_bytes(b"12")
    assert prepared.prepared(made, files, [0], tmp_path / "kept") is not None
    assert [file.name for file in prepared.folder_for(made, files, [0], tmp_path / "kept").iterdir()] == ["whole"]


def test_a_tar_has_the_files_bytes_and_labels(photo_folder: Path, tmp_path: Path) -> None:
    files, labels = _files(photo_folder)
    write_tar(tmp_path / "a.tar", list(enumerate(files))[19:21], labels)
    with tarfile.open(tmp_path / "a.tar") as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    assert members == {"00000019.jpg": Path(files[19]).read_bytes(), "00000019.cls": b"0",
                       "00000020.jpg": Path(files[20]).read_bytes(), "00000020.cls": b"1"}


def test_a_loader_without_a_fixed_pipeline_says_why(photo_folder: Path) -> None:
    job = rival.Job(*_files(photo_folder), 1, 8, 1, Path())
    assert parity.parity(Rival(_none), job) == {"none": "its pass has no centre crop"}


@pytest.mark.parametrize(("width", "height"), [(500, 375), (257, 256), (225, 341), (100, 1300), (1, 1)])
def test_random_boxes_are_spread_as_torchvisions(width: int, height: int) -> None:
    dice = random.Random(1)
    ours = np.array([crop_box.random_box(width, height, dice) for _ in range(3000)])
    assert (ours >= 0).all() and (ours[:, 2:] > 0).all()
    assert (ours[:, 0] + ours[:, 2] <= width).all() and (ours[:, 1] + ours[:, 3] <= height).all()
    torch.manual_seed(1)
    picture = torch.empty(1, 1, 1).expand(3, height, width)
    theirs = np.array([transforms.RandomResizedCrop.get_params(picture, list(rival.AREA), list(rival.RATIO))
                       for _ in range(3000)])[:, [1, 0, 3, 2]]  # left, top, width, height
    spread = theirs.std(axis=0)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 5 * spread * (2 / 3000) ** 0.5 + 1e-9).all()
    assert (np.abs(ours.std(axis=0) - spread) <= 0.1 * spread + 1e-9).all()


def test_a_crop_is_as_often_wide_as_it_is_high() -> None:
    dice = random.Random(1)
    boxes = np.array([crop_box.random_box(1000, 1000, dice) for _ in range(4000)])
    assert abs((boxes[:, 2] > boxes[:, 3]).mean() - 0.5) < 0.04  # five standard deviations
