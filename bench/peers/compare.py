"""Stoker beside other loaders: same files, same work, same cores. Prints tables; --json keeps every run.

    python bench/peers/compare.py PHOTOS

Each measurement is a fresh process; rounds go through all loaders and worker counts in turn, so that a slow minute hits
all of them. Each loader is judged at the worker count that suits it best. Ctrl-C ends it early and prints what was
measured; --resume goes on. The method is in bench/README.md.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import options
import report
from comparison import Comparison, say


def write_json(result: dict[str, Any], file: Path) -> None:
    """Whole or not at all: the file may be one that was resumed from. Raises OSError."""
    text = json.dumps(result, indent=1) + "\n"
    if file.exists() and not file.is_file():  # a device or a pipe
        file.write_text(text)
        return
    beside = file.with_name(file.name + ".part")
    try:
        beside.write_text(text)
        beside.replace(file)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def written(option: str, file: Path, write: Callable[[], None]) -> bool:
    """Whether it could be; else says why not."""
    try:
        write()
    except OSError as error:
        say(f"{option}: could not write {file}: {error.strerror}. All that was measured is printed above")
        return False
    return True


def finish(comparison: Comparison) -> bool:
    """Prints first, then writes. Whether all could be written."""
    job, result = comparison.job, comparison.result()
    print(report.markdown(result) if job.markdown else report.plain(result), flush=True)
    whole = True
    if job.json:
        whole = written("--json", job.json, lambda: write_json(result, job.json))
    if job.plot:
        import plot

        whole = written("--plot", job.plot, lambda: plot.draw(result, job.plot)) and whole
    return whole


def main() -> int:
    job = options.arguments(__doc__)
    os.sched_setaffinity(0, job.cores)
    load = os.getloadavg()[0]
    if load > 0.3:
        say(f"the load is {load:.1f}: something else is running, so the rates will be low and the spread wide")
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="stoker-compare-") as temporary:
        comparison = Comparison(job, job.prepared or Path(temporary))
        try:
            comparison.run()
        except KeyboardInterrupt:
            interrupted = True
            say("interrupted: this is what was measured until then"
                + (f"; --resume {job.json} goes on" if job.json else ""))
    if not comparison.measured:
        say("no loader could be measured")
        return 130 if interrupted else 1
    whole = finish(comparison)
    return 130 if interrupted else 1 if comparison.failed or not whole else 0


if __name__ == "__main__":
    sys.exit(main())
