"""What the machine gives a loader, and what does not fit."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from stoker import _core
from stoker.datasets import PathLike

__all__ = ["log_overview", "overview"]

_log = logging.getLogger("stoker")
_looked_at: set[tuple[str, int, str]] = set()  # loaders of the same data set and settings are not looked at twice
_said: set[str] = set()  # a line of an overview is worth saying once a process


def overview(path: PathLike | None = None, *, num_workers: int | None = None, device: str = "auto",
             planned_bytes: int = 0) -> _core.Overview:
    """The machine as a loader finds it: ``print`` it for all of it with every check, ``.warnings`` for what to mend.

    CPUs as affinity and quota leave them, memory, NUMA, GPUs with their link and who else is on them, memlock, io_uring
    and why not, the disk below `path`, thread pools of this process (PyTorch's and OpenCV's where they are imported).
    For a device other than "cpu" the CUDA driver is asked. ``stoker doctor`` prints the same.
    """
    return _core.overview("" if path is None else os.fsdecode(path), -1 if num_workers is None else num_workers, device,
                          planned_bytes, **_pools())


def log_overview(core: _core.Loader, path: str) -> None:
    """Writes it to the log, short, at level INFO; what does not fit as warnings. Takes some milliseconds."""
    stalls = core.stalls()
    looked_at = (os.path.dirname(path), stalls.max_workers, stalls.device)
    if looked_at in _looked_at:
        return
    _looked_at.add(looked_at)
    found = overview(path, num_workers=stalls.max_workers, device=stalls.device, planned_bytes=stalls.budget_bytes)
    for level, lines in ((logging.INFO, found.short.splitlines()), (logging.WARNING, found.warnings)):
        for line in lines:
            if line not in _said and not line.startswith("  warning"):
                _said.add(line)
                _log.log(level, "%s", line)


def _pools() -> dict[str, Any]:
    torch: Any = sys.modules.get("torch")
    cv2: Any = sys.modules.get("cv2")
    return {
        "torch_threads": torch.get_num_threads() if hasattr(torch, "get_num_threads") else None,
        "torch_interop_threads": torch.get_num_interop_threads() if hasattr(torch, "get_num_interop_threads") else None,
        "opencv_threads": cv2.getNumThreads() if hasattr(cv2, "getNumThreads") else None,
    }
