"""The runs of one comparison: which are left to do, what each gave, who is left out and why."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import fresh_process
import measure
import summary
from fresh_process import Failed
from rival import install_line

__all__ = ["Comparison", "say"]

SCHEMA_VERSION = 1

_MEASURE = str(Path(__file__).resolve().parent / "measure.py")
_PREPARE_SECONDS = 0.2  # allowed for each picture, where a loader has to convert them

# A worker count this far below the loader's best in the first round is not its best one: it is not measured again.
_HOPELESS = 0.7


def say(words: str) -> None:
    print(f"compare: {words}", file=sys.stderr, flush=True)


class Comparison:
    """A loader that fails or is missing is left out from there on."""

    def __init__(self, job: argparse.Namespace, prepared: Path) -> None:
        earlier = job.earlier or {}
        self.job = job
        self.prepared = prepared
        self.runs: list[dict[str, Any]] = list(earlier.get("runs", []))
        self.about: dict[str, dict[str, Any]] = {
            loader: {name: value for name, value in about.items() if name != "best_workers"}
            for loader, about in earlier.get("loaders", {}).items()}
        self.left_out: dict[str, str] = {}
        self.failed = False

    @property
    def measured(self) -> list[str]:
        """Loaders with runs, in the order that was asked for."""
        return [loader for loader in self.job.loaders if any(run["loader"] == loader for run in self.runs)]

    def run(self) -> None:
        for loader in dict.fromkeys(loader for loader, _, _ in self.to_do()):
            self.introduce(loader)
        start, begun = time.monotonic(), 0
        while left := self.to_do():
            minutes = (time.monotonic() - start) / max(1, begun) * len(left) / 60
            wait = f"; about {max(1, minutes):.0f} min left" if begun else ""
            loader, workers, number = left[0]
            say(f"round {number}/{self.job.rounds}: {loader}, workers={workers}{wait}")
            self.run_one(loader, workers, number)
            begun += 1

    def to_do(self) -> list[tuple[str, int, int]]:
        """Loader, workers and round of each run that is left, in their order."""
        done = {(run["loader"], run["workers"], run["round"]) for run in self.runs}
        return [(loader, workers, number) for number in range(1, self.job.rounds + 1) for workers in self.job.workers
                for loader in self.job.loaders if loader not in self.left_out
                and (loader, workers, number) not in done and (number == 1 or self.worth_another(loader, workers))]

    def worth_another(self, loader: str, workers: int) -> bool:
        rates: dict[int, list[float]] = {}
        for run in self.runs:
            if run["loader"] == loader:
                rates.setdefault(run["workers"], []).append(run["images_per_second"])
        middles = {count: median(values) for count, values in rates.items()}
        return workers not in middles or middles[workers] >= _HOPELESS * max(middles.values())

    def introduce(self, loader: str) -> None:
        """Converts what it needs, compares its pixels, and learns its versions: earlier runs of others do not count."""
        say(f"{loader}: versions, pixels, and what it has to have converted")
        try:
            about = self.process(loader, 1, self.job.time_limit + _PREPARE_SECONDS * self.job.pictures, "--introduce")
        except Failed as error:
            self.leave_out(loader, "failed before it was measured", error)
            return
        if loader in self.about and self.about[loader]["versions"] != about["versions"]:
            say(f"{loader} is another version now: {about['versions']}. Its earlier runs do not count")
            self.forget(loader)
        earlier = self.about.get(loader, {}).get("prepared")
        if about["prepared"] and earlier and not about["prepared"]["seconds"]:  # what it took when it was made
            about["prepared"]["seconds"] = earlier["seconds"]
        self.about[loader] = about

    def run_one(self, loader: str, workers: int, number: int) -> None:
        try:
            run = self.process(loader, workers, self.job.time_limit, *(["--cold"] if self.job.cold else []))
        except Failed as error:
            self.leave_out(loader, f"failed with workers={workers}", error)
            return
        self.runs.append({"round": number, "loader": loader, "workers": workers, **run})
        say(f"{run['images_per_second']:.0f} images/s")

    def leave_out(self, loader: str, what: str, error: Failed) -> None:
        if error.code == measure.NOT_INSTALLED:
            line = install_line(loader)
            self.left_out[loader] = f"not installed ({error.last_line})" + (f": {line}" if line else "")
            say(f"{loader} is left out, {self.left_out[loader]}")
            return
        self.failed = True
        self.left_out[loader] = f"{what}: {error.summary}"
        self.forget(loader)
        say(f"{loader} {what}, and is left out: {error}")

    def forget(self, loader: str) -> None:
        self.runs = [run for run in self.runs if run["loader"] != loader]

    def process(self, loader: str, workers: int, limit: float, *options: str) -> dict[str, Any]:
        """What measure.py says in a fresh process on the chosen cores. Raises Failed."""
        job = self.job
        if job.cold:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
        command = [sys.executable, _MEASURE, loader, str(job.photos), "--batch-size", str(job.batch_size), "--workers",
                   str(workers), "--seconds", str(job.seconds), "--warm-up", str(job.warm_up), "--next-calls",
                   str(job.next_calls), "--prepared", str(self.prepared), *options]
        # One thread for each worker's arithmetic: the workers are the parallelism.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        said = fresh_process.output(command, environment, limit)
        try:
            return dict(json.loads(said.strip().splitlines()[-1]))
        except (IndexError, ValueError):
            raise Failed("gave no result", said) from None

    def result(self) -> dict[str, Any]:
        """For --json."""
        job, loaders = self.job, self.measured
        before = f"{job.earlier['command']} && " if job.earlier else ""
        missing = {loader: "not measured yet" for loader in job.loaders if loader not in loaders}
        return {
            "schema_version": SCHEMA_VERSION,
            "command": before + shlex.join(["python", *sys.argv]),
            "date": time.strftime("%Y-%m-%d"),
            "machine": machine(),
            "job": {name: getattr(job, name) for name in ("pictures", "batch_size", "seconds", "warm_up", "cold",
                                                          "rounds", "cores")},
            "loaders": {loader: {**self.about[loader], "best_workers": summary.best_workers(self.runs, loader)}
                        for loader in loaders},
            "left_out": {**missing, **self.left_out},
            "ratios": {other: summary.ratios(self.runs, loaders[0], other) for other in loaders[1:]},
            "runs": self.runs,
        }


def machine() -> dict[str, Any]:
    cpu = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    return {"cpu": cpu, "cpus": os.cpu_count(), "kernel": platform.release(), "python": platform.python_version(),
            "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)}
