"""The parts of the check: what each one runs, for how long at most, and how its end is read."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from outcome import FAILED, NOT_RUN, PASSED, Ended, Outcome, not_finished, of_googletest, of_json, of_pytest
from outcome import run as run_process

HERE = Path(__file__).resolve().parent

_NOT_ON_FAKE = "the simulated driver runs nothing but Stoker's own calls"
_TORCH_HERE = """
import importlib, sys
for name in ("torch", "torchvision", "pytest", "stoker.torch"):
    try:
        importlib.import_module(name)
    except ImportError as error:
        sys.exit(f"{name} cannot be imported: {error}")
import torch
torch.cuda.is_available() or sys.exit("torch sees no CUDA device")
"""


@dataclass
class Job:
    build: Path  # the build folder
    scratch: Path  # for what the parts write
    photos: Path
    python: str  # that has torch
    fake: bool

    def binary(self, name: str) -> str:
        return str(self.build / "bin" / name)

    def environment(self, mode: str = "modelled") -> dict[str, str]:
        package = os.pathsep.join([str(self.build / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
        if not self.fake:
            return {"PYTHONPATH": package}
        libraries = [str(self.build / "fake_cuda"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return {"PYTHONPATH": package, "LD_LIBRARY_PATH": os.pathsep.join(libraries),
                "STOKER_FAKE_CUDA": f"mode={mode}"}


@dataclass
class Part:
    name: str
    title: str
    limit: float  # seconds
    run: Callable[[Job, float], Outcome]


def _measure(part: str) -> Callable[[Job, float], Outcome]:
    def run(job: Job, limit: float) -> Outcome:
        command = [job.binary("gpu_bench"), part, "--photos", str(job.photos), *(["--quick"] if job.fake else [])]
        return of_json(run_process(command, limit, job.environment()))
    return run


def _conformance(job: Job, limit: float) -> Outcome:
    report = job.scratch / "conformance.json"
    command = [job.binary("gpu_conformance"), "--gtest_brief=1", f"--gtest_output=json:{report}"]
    # The simulated driver holds work back as long as order allows, where a mistake shows every time.
    ended = run_process(command, limit, job.environment("lazy"))
    return of_googletest(ended, report.read_text() if report.exists() else None)


def _without_torch(job: Job, limit: float) -> Outcome | None:
    """The outcome of a part that needs torch with CUDA where that is not there."""
    if job.fake:
        return Outcome(NOT_RUN, _NOT_ON_FAKE)
    ended = run_process([job.python, "-c", _TORCH_HERE], limit, job.environment())
    if ended.code == 1:
        return Outcome(NOT_RUN, ended.last_words)
    return not_finished(ended)


def _torch_checks(job: Job, limit: float) -> Outcome:
    if (outcome := _without_torch(job, limit)) is not None:
        return outcome
    report = job.scratch / "torch.xml"
    command = [job.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", f"pythonpath={job.build / 'python'}",
               f"--rootdir={HERE}", f"--junitxml={report}", str(HERE / "torch_checks.py")]
    ended = run_process(command, limit, job.environment())
    return of_pytest(ended, report.read_text() if report.exists() else None)


def _train(job: Job, limit: float) -> Outcome:
    if (outcome := _without_torch(job, limit)) is not None:
        return outcome
    # Its own limit is what is left: it measures for less time where that is short.
    command = [job.python, str(HERE / "training_run.py"), str(job.photos), "--limit", f"{limit - 15:.0f}"]
    return of_json(run_process(command, limit, job.environment()))


def _find_sanitizer() -> str | None:
    """compute-sanitizer: in PATH, or where CUDA's toolkit is."""
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home and (found := shutil.which("compute-sanitizer", path=str(Path(home) / "bin"))):
            return found
    return shutil.which("compute-sanitizer")


def of_sanitizer(ended: Ended) -> Outcome:
    if (outcome := not_finished(ended)) is not None:
        return outcome
    counted = re.search(r"ERROR SUMMARY: (\d+) error", ended.output)
    if counted is None:
        # It says so where it cannot work on this machine at all, as in some containers.
        refused = re.search(r"========= Error: (.*)", ended.output)
        return Outcome(NOT_RUN if refused else FAILED, refused.group(1) if refused else ended.last_words)
    errors = int(counted.group(1))
    # Other lines of its own begin so too; those of a finding are indented.
    findings = re.findall(r"^========= ((?:Invalid|Misaligned|Program hit|Race|Leaked)[^\n]*)", ended.output, re.M)
    if errors or ended.code != 0:
        words = f"{errors} errors" if errors else f"exit status {ended.code}: {ended.last_words}"
        return Outcome(FAILED, words, {"errors": errors, "findings": findings[:20]})
    return Outcome(PASSED, "", {"errors": 0, "findings": []})


def _sanitizer(job: Job, limit: float) -> Outcome:
    if job.fake:
        return Outcome(NOT_RUN, _NOT_ON_FAKE)
    sanitizer = _find_sanitizer()
    if sanitizer is None:
        return Outcome(NOT_RUN, "there is no compute-sanitizer in PATH or in the CUDA toolkit's folder")
    # The suite breaks rules on purpose: what the driver refuses is no finding.
    command = [sanitizer, "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9",
               job.binary("gpu_conformance"), "--gtest_brief=1"]
    return of_sanitizer(run_process(command, limit, job.environment()))


def write_photos(job: Job, limit: float) -> Outcome:
    """The pictures that the loading parts load; left alone where they are there already."""
    command = [job.binary("stoker"), "synth", str(job.photos), "--no-odd-files",
               *(["--pictures", "100"] if job.fake else [])]
    ended = run_process(command, limit)
    if (outcome := not_finished(ended)) is not None:
        return outcome
    return Outcome(FAILED, ended.last_words) if ended.code else Outcome(PASSED)


# In this order; the limits are several times what a part takes, and together they have the deadline's time.
PARTS = [
    Part("device", "The device", 30, _measure("device")),
    Part("conformance", "The conformance suite of the device seam", 60, _conformance),
    Part("copies", "Copies to the device", 60, _measure("copies")),
    Part("calls", "What calls cost", 30, _measure("calls")),
    Part("memory", "Page-locked memory", 60, _measure("memory")),
    Part("finish", "The finishing kernel", 60, _measure("finish")),
    Part("prefetcher", "The transfer stage alone", 40, _measure("prefetcher")),
    Part("cold", "The first batch", 40, _measure("cold")),
    Part("loader", "The loader", 90, _measure("loader")),
    Part("torch", "PyTorch", 120, _torch_checks),
    Part("train", "A training run", 200, _train),
    Part("sanitizer", "compute-sanitizer's memcheck on the conformance suite", 120, _sanitizer),
]
