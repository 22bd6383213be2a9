"""Stoker beside other loaders: same files, same work, same cores. Prints tables; --json keeps every run.

    python bench/peers/compare.py PHOTOS

Each measurement is a fresh process; rounds go through all loaders and worker counts in turn, so that a slow minute hits
all of them. Each loader is judged at the worker count that suits it best. The method is in bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import measure
import summary
from rival import RIVALS

HERE = Path(__file__).resolve().parent


class RunFailed(Exception):
    """Says what a measurement's process said last."""


class NotInstalled(Exception):
    """Says what is missing."""


def say(words: str) -> None:
    print(f"compare: {words}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, help="a folder with JPEG files, at any depth")
    parser.add_argument("--loaders", default=",".join(RIVALS),
                        help="of " + ", ".join(RIVALS) + "; ratios are of the first to each other one (all of them)")
    parser.add_argument("--workers", default="1,2,4", help="worker counts, each tried with each loader (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=8, help="timed for each measurement (%(default)s)")
    parser.add_argument("--warm-up", type=float, default=3, help="seconds before that (%(default)s)")
    parser.add_argument("--cores", help="the CPUs for each measurement's processes, as 0,1 (all that may be used)")
    parser.add_argument("--cold", action="store_true",
                        help="empty the page cache before each measurement (as root) and time the first epoch alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run, the summary and the machine")
    job = parser.parse_args()
    try:
        check(job)
    except ValueError as error:
        parser.error(str(error))
    return job


def check(job: argparse.Namespace) -> None:
    """Turns lists into lists. Raises ValueError naming the option."""
    job.loaders = job.loaders.split(",")
    for loader in job.loaders:
        if loader not in RIVALS:
            raise ValueError(f"--loaders: there is no {loader!r}, but: {', '.join(RIVALS)}")
    usable = os.sched_getaffinity(0)
    try:
        job.workers = [int(number) for number in job.workers.split(",")]
        job.cores = sorted(usable if job.cores is None else {int(number) for number in job.cores.split(",")})
    except ValueError:
        raise ValueError(f"--workers and --cores: numbers with commas between, not {job.workers!r}, "
                         f"{job.cores!r}") from None
    if min(job.workers) < 1 or job.rounds < 1 or job.batch_size < 1 or job.seconds <= 0:
        raise ValueError("--workers, --rounds, --batch-size and --seconds: at least 1, and some time")
    if not set(job.cores) <= usable:
        raise ValueError(f"--cores: {job.cores}, but only {sorted(usable)} may be used")
    pictures = len(measure.pictures(job.photos)[0])
    if pictures < (2 if job.cold else 1) * job.batch_size:
        raise ValueError(f"{job.photos}: {pictures} JPEG files, too few for batches of {job.batch_size}")
    if job.cold and not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        raise ValueError("--cold: only root can empty the page cache, and this is not root")
    job.pictures = pictures


def measured(job: argparse.Namespace, loader: str, workers: int, *options: str) -> dict[str, Any]:
    """What measure.py says in a fresh process on the chosen cores. Raises NotInstalled or RunFailed."""
    if job.cold:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    command = [sys.executable, str(HERE / "measure.py"), loader, str(job.photos), "--batch-size", str(job.batch_size),
               "--workers", str(workers), "--seconds", str(job.seconds), "--warm-up", str(job.warm_up), *options]
    # One thread for each worker's arithmetic: the workers are the parallelism.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                               start_new_session=True)
    limit = 180 + 5 * (job.seconds + job.warm_up)
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)  # its workers too
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise RunFailed(f"took more than {limit:.0f} s") from None
        raise
    if process.returncode == measure.NOT_INSTALLED:
        raise NotInstalled(errors.strip().splitlines()[-1])
    if process.returncode:
        raise RunFailed(errors.strip() or f"ended with {process.returncode} and said nothing")
    return dict(json.loads(output))


class Comparison:
    """All runs of one comparison; a loader that fails or is missing is left out from there on."""

    def __init__(self, job: argparse.Namespace) -> None:
        self.job = job
        self.runs: list[dict[str, Any]] = []
        self.about: dict[str, dict[str, Any]] = {}
        self.left_out: dict[str, str] = {}
        self.failed = False

    @property
    def loaders(self) -> list[str]:
        """Those that have not been left out."""
        return [loader for loader in self.job.loaders if loader not in self.left_out]

    def run(self) -> None:
        job = self.job
        for number in range(1, job.rounds + 1):
            for workers in job.workers:
                for loader in self.loaders:
                    self.run_one(number, loader, workers)

    def run_one(self, number: int, loader: str, workers: int) -> None:
        first = loader not in self.about
        options = (["--parity"] if first else []) + (["--cold"] if self.job.cold else [])
        try:
            run = measured(self.job, loader, workers, *options)
        except NotInstalled as error:
            self.left_out[loader] = f"not installed: {error}"
            say(f"{loader} is left out: {error}")
            return
        except RunFailed as error:
            self.failed = True
            self.left_out[loader] = f"failed with workers={workers}: {str(error).splitlines()[-1]}"
            self.runs = [run for run in self.runs if run["loader"] != loader]
            say(f"{loader} failed with workers={workers}, and is left out:\n{error}")
            return
        if first:
            self.about[loader] = {name: run.pop(name) for name in ("versions", "promise", "parity")}
        self.runs.append({"round": number, "loader": loader, "workers": workers, **run})
        say(f"round {number}/{self.job.rounds}: {loader}, workers={workers}: {run['images_per_second']:.0f} images/s")

    def result(self) -> dict[str, Any]:
        """For --json."""
        job, loaders = self.job, self.loaders
        return {
            "schema_version": 1,
            "command": shlex.join(["python", *sys.argv]),
            "date": time.strftime("%Y-%m-%d"),
            "machine": machine(job),
            "job": {"pictures": job.pictures, "batch_size": job.batch_size, "seconds": job.seconds, "cold": job.cold,
                    "rounds": job.rounds, "cores": job.cores},
            "loaders": {loader: {**self.about[loader], "best_workers": summary.best_workers(self.runs, loader)}
                        for loader in loaders},
            "left_out": self.left_out,
            "ratios": {other: summary.ratios(self.runs, loaders[0], other) for other in loaders[1:]},
            "runs": self.runs,
        }


def machine(job: argparse.Namespace) -> dict[str, Any]:
    cpu = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    return {"cpu": cpu, "cpus": os.cpu_count(), "kernel": platform.release(), "python": platform.python_version(),
            "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)}


def print_result(result: dict[str, Any]) -> None:
    job, host, loaders = result["job"], result["machine"], list(result["loaders"])
    print(f"{job['pictures']} pictures, batches of {job['batch_size']}, float32 NCHW, "
          f"{'cold' if job['cold'] else 'warm'} page cache, {job['rounds']} rounds: median (lowest to highest)")
    print(f"{len(job['cores'])} of {host['cpus']} CPUs, {host['cpu']}, {host['memory_gb']} GB, Linux {host['kernel']}, "
          f"Python {host['python']}")
    print(f"$ {result['command']}\n")
    print(summary.table(result["runs"], loaders))
    print("\n* the worker count that suits it best. Memory: of all its processes, less what importing torch and "
          "torchvision took in the same process.\n")
    for loader, about in result["loaders"].items():
        parity = about["parity"]
        print(f"{loader}: {about['versions']}; {about['promise']}; parity with Pillow over {parity['pictures']} "
              f"pictures: mean {parity['mean']:.3f}, largest {parity['max']:.1f} of 255")
    for loader, reason in result["left_out"].items():
        print(f"{loader}: {reason}")
    if result["ratios"]:
        print("\n" + summary.ratio_table(result["ratios"], loaders[0]))


def main() -> int:
    job = arguments()
    os.sched_setaffinity(0, job.cores)
    load = os.getloadavg()[0]
    if load > 0.3:
        say(f"the load is {load:.1f}: something else is running, so the rates will be low and the spread wide")
    comparison = Comparison(job)
    try:
        comparison.run()
    except (RunFailed, NotInstalled) as error:  # torch itself
        say(f"importing torch and torchvision: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    if not comparison.runs:
        say("no loader could be measured")
        return 1
    result = comparison.result()
    print_result(result)
    if job.json:
        job.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
