"""What a rival converts before it can read: written once, found again by later runs."""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import time
from pathlib import Path
from typing import Any

from rival import Rival

__all__ = ["folder_for", "prepared"]


def folder_for(rival: Rival, files: list[str], labels: list[int], root: Path) -> Path:
    """The place in `root` of what the rival makes of these files; another one where a file has changed, or the code
    that converts them. Rivals that share a prepare() share it."""
    prepare = getattr(rival, "prepare", None)
    if prepare is None:
        return root
    source = Path(inspect.getfile(prepare))
    told_apart = hashlib.sha256(source.read_bytes())
    for file, label in zip(files, labels):
        stat = os.stat(file)
        told_apart.update(f"{file} {label} {stat.st_size} {stat.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return root / f"{source.stem}-{told_apart.hexdigest()[:16]}"


def prepared(rival: Rival, files: list[str], labels: list[int], root: Path) -> dict[str, Any] | None:
    """Converts what is not there yet. What was written, MB, and the seconds, 0 where it was there; None where the rival
    reads the files as they are."""
    prepare = getattr(rival, "prepare", None)
    if prepare is None:
        return None
    folder, start = folder_for(rival, files, labels, root), time.perf_counter()
    there = folder.exists()
    if not there:
        half = folder.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        prepare(files, labels, half)
        half.rename(folder)
    return {"mb": sum(file.stat().st_size for file in folder.iterdir()) / 1e6,
            "files_mb": sum(os.path.getsize(file) for file in files) / 1e6,
            "seconds": 0.0 if there else time.perf_counter() - start}
