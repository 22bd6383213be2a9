"""What compare.py is asked for, checked."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import measure
from rival import RIVALS

__all__ = ["arguments", "usual_workers"]

_SAME_IN_RESUMED = ("pictures", "batch_size", "seconds", "warm_up", "cold", "cores")


def arguments(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, help="a folder with JPEG files, at any depth")
    parser.add_argument("--loaders", default=",".join(RIVALS),
                        help="of " + ", ".join(RIVALS) + ", or paths of .py files like those of bench/peers; ratios "
                        "are of the first to each other one (all of them)")
    parser.add_argument("--workers", help="worker counts, each tried with each loader (1, half of the cores, as many, "
                        "twice as many)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=8, help="timed for each measurement (%(default)s)")
    parser.add_argument("--warm-up", type=float, default=3, help="seconds before that (%(default)s)")
    parser.add_argument("--next-calls", type=int, default=15,
                        help="how often next() is timed in each measurement; fewer is quicker (%(default)s)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS",
                        help="a process that takes longer is ended and its loader left out (180 and 5 times the above)")
    parser.add_argument("--cores", help="the CPUs for each measurement's processes, as 0,1 (all that may be used)")
    parser.add_argument("--cold", action="store_true",
                        help="empty the page cache before each measurement (as root) and time the first epoch alone")
    parser.add_argument("--prepared", type=Path, metavar="DIR",
                        help="where archives that some loaders need are kept for the next time (not kept)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run, the summary and the machine")
    parser.add_argument("--resume", type=Path, metavar="FILE",
                        help="go on from what an earlier --json wrote; goes there again, unless --json says otherwise")
    parser.add_argument("--markdown", action="store_true", help="print the result as Markdown")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the best rates (needs matplotlib)")
    job = parser.parse_args()
    try:
        _check(job)
    except ValueError as error:
        parser.error(str(error))
    return job


def _check(job: argparse.Namespace) -> None:
    """Turns lists into lists, adds `pictures` and `earlier`. Raises ValueError naming the option."""
    job.loaders = job.loaders.split(",")
    for loader in job.loaders:
        if loader not in RIVALS and not (loader.endswith(".py") and Path(loader).is_file()):
            raise ValueError(f"--loaders: there is no {loader!r}, but: {', '.join(RIVALS)}")
    usable = os.sched_getaffinity(0)
    try:
        job.cores = sorted(usable if job.cores is None else {int(number) for number in job.cores.split(",")})
        job.workers = (usual_workers(len(job.cores)) if job.workers is None else
                       [int(number) for number in job.workers.split(",")])
    except ValueError:
        raise ValueError(f"--workers and --cores: numbers with commas between, not {job.workers!r}, "
                         f"{job.cores!r}") from None
    if min(job.workers) < 1 or min(job.rounds, job.batch_size, job.next_calls) < 1 or job.seconds <= 0:
        raise ValueError("--workers, --rounds, --batch-size, --next-calls and --seconds: at least 1, and some time")
    if not set(job.cores) <= usable:
        raise ValueError(f"--cores: {job.cores}, but only {sorted(usable)} may be used")
    if job.time_limit is None:
        job.time_limit = 180 + 5 * (job.seconds + job.warm_up)
    job.pictures = len(measure.pictures(job.photos)[0])
    if job.pictures < (2 if job.cold else 1) * job.batch_size:
        raise ValueError(f"{job.photos}: {job.pictures} JPEG files, too few for batches of {job.batch_size}")
    if job.cold and not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        raise ValueError("--cold: only root can empty the page cache, and this is not root")
    if job.plot and importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot: matplotlib draws it and is not installed: pip install matplotlib")
    for option, file in (("--json", job.json), ("--plot", job.plot)):
        if file and not file.absolute().parent.is_dir():
            raise ValueError(f"{option}: there is no folder {file.absolute().parent}")
    job.earlier = _earlier(job) if job.resume else None
    job.json = job.json or job.resume


def usual_workers(cores: int) -> list[int]:
    return sorted({1, max(1, cores // 2), cores, 2 * cores})


def _earlier(job: argparse.Namespace) -> dict[str, Any]:
    """What --resume goes on from, which must be about the same job. Raises ValueError."""
    try:
        earlier = dict(json.loads(job.resume.read_text()))
        was = earlier["job"]
        differs = [f"{name} {was[name]!r}, not {getattr(job, name)!r}" for name in _SAME_IN_RESUMED
                   if was[name] != getattr(job, name)]
    except OSError as error:
        raise ValueError(f"--resume: {job.resume}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"--resume: {job.resume} is not what --json of this command writes") from None
    if differs:
        raise ValueError(f"--resume: {job.resume} was measured with {', '.join(differs)}")
    return earlier
