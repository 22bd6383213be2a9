"""What only a machine with a GPU can tell of Stoker: checks and measurements, as one JSON and one page.

    ./dev gpu [--out FOLDER]

Each part runs in a process of its own; one that fails or cannot run is named with the reason, and the others go on.
Exit status: 1 where a part failed, 77 where none could run, else 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from outcome import CANNOT_RUN, FAILED, NOT_RUN, PASSED, Deadline, Outcome, run
from page import make_page
from parts import PARTS, Job, Part, write_photos

ROOT = Path(__file__).resolve().parents[2]
SCHEMA_VERSION = 1

_NEEDS_PHOTOS = ("loader", "cold", "train")
_GPU_FIELDS = ["name", "driver_version", "memory.total", "pcie.link.gen.max", "pcie.link.width.max", "power.limit"]


def say(words: str) -> None:
    print(f"gpu: {words}", file=sys.stderr, flush=True)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu", help="where gpu.json and gpu.md go")
    parser.add_argument("--fake", action="store_true",
                        help="on the simulated driver of the tests, in short: to see that the parts run")
    parser.add_argument("--only", metavar="PART,...", help="of " + ", ".join(part.name for part in PARTS))
    parser.add_argument("--seconds", type=float, default=345, help="for all parts together (%(default)s)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help=argparse.SUPPRESS)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch (this one)")
    parser.add_argument("--photos", type=Path, help="class folders of good pictures (generated ones)")
    parser.add_argument("--as-is", action="store_true", help=argparse.SUPPRESS)  # the build may be older than the tree
    job = parser.parse_args(words)
    if job.only is not None:
        job.only = job.only.split(",")
        if unknown := set(job.only) - {part.name for part in PARTS}:
            parser.error(f"--only: there is no {', '.join(sorted(unknown))}")
    return job


def machine() -> dict[str, Any]:
    cpu = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    return {"cpu": cpu, "cpus": os.cpu_count(), "usable_cpus": len(os.sched_getaffinity(0)),
            "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
            "kernel": platform.release(), "system": _system_name(), "python": platform.python_version()}


def _system_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def driver(fake: bool) -> dict[str, Any]:
    """What nvidia-smi says of each GPU."""
    if fake:
        return {"name": "simulated", "gpus": []}
    ended = run(["nvidia-smi", f"--query-gpu={','.join(_GPU_FIELDS)}", "--format=csv,noheader"], 20)
    if ended.code != 0:
        return {"name": "", "gpus": [], "reason": f"nvidia-smi: {ended.last_words}"}
    gpus = [dict(zip(_GPU_FIELDS, [value.strip() for value in line.split(",")]))
            for line in ended.output.strip().splitlines()]
    return {"name": f"NVIDIA {gpus[0]['driver_version']}" if gpus else "", "gpus": gpus}


def source() -> dict[str, Any]:
    """The commit of the tree; empty where there is no git."""
    commit = run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], 20)
    if commit.code != 0:
        return {"commit": "", "changed": None}
    return {"commit": commit.output.strip(),
            "changed": bool(run(["git", "-C", str(ROOT), "status", "--porcelain"], 20).output.strip())}


def run_part(part: Part, job: Job, deadline: Deadline, photos: Outcome) -> dict[str, Any]:
    start = time.monotonic()
    if deadline.left() < 10:
        outcome = Outcome(NOT_RUN, f"the {deadline.seconds:.0f} s for all parts were used up")
    elif part.name in _NEEDS_PHOTOS and photos.status != PASSED:
        outcome = Outcome(photos.status, f"the pictures could not be made: {photos.reason}")
    else:
        try:
            outcome = part.run(job, min(part.limit, deadline.left()))
        except Exception as error:  # a part's results that are not as they should be: the others go on
            outcome = Outcome(FAILED, f"{type(error).__name__}: {error}")
    return {"title": part.title, "seconds": round(time.monotonic() - start, 1), **outcome.as_json()}


def exit_status(sections: Mapping[str, Mapping[str, Any]]) -> int:
    states = [section["status"] for section in sections.values()]
    if FAILED in states:
        return 1
    return 0 if PASSED in states else CANNOT_RUN


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    photos = options.photos or options.build.parent / ("gpu-fake-photos" if options.fake else "bench-photos")
    report: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION, "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "fake": options.fake, "source": source(), "build_as_is": options.as_is, "machine": machine(),
        "driver": driver(options.fake), "sections": {}}
    start = time.monotonic()
    deadline = Deadline(options.seconds)
    with tempfile.TemporaryDirectory(prefix="stoker-gpu-") as scratch:
        job = Job(options.build.resolve(), Path(scratch), photos, options.python, options.fake)
        chosen = [part for part in PARTS if options.only is None or part.name in options.only]
        wants_photos = options.photos is None and any(part.name in _NEEDS_PHOTOS for part in chosen)
        made = write_photos(job, 120) if wants_photos else Outcome(PASSED)
        for part in chosen:
            say(f"{part.name}: {part.title}")
            section = report["sections"][part.name] = run_part(part, job, deadline, made)
            say(f"{part.name}: {section['status']}" + (f": {section['reason']}" if section["reason"] else ""))
    report["seconds"] = round(time.monotonic() - start, 1)
    page = make_page(report)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "gpu.md").write_text(page)
    print(page, end="")
    return exit_status(report["sections"])


if __name__ == "__main__":
    sys.exit(main())
