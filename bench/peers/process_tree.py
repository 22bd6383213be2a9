"""What this process and its descendants take, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cpu_seconds", "memory_mb", "shared_memory_mb"]

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """User and system time of all, those that have ended included."""
    # After the name: utime and stime of the process, cutime and cstime of its children that were waited for.
    return sum(sum(map(int, fields[11:15])) for fields in _tree().values()) / _TICKS


def memory_mb(shared_before_mb: float) -> tuple[float, float]:
    """What all take, MB: proportional set size (every page once, however many of them map it), and shared memory in
    flight between them, which exists but is mapped by none, so that it is in nobody's set size.

    shared_before_mb: what shared_memory_mb() said before there were batches.
    """
    sizes = [_rollup_kb(process) for process in _tree()]
    pss = sum(own for own, _ in sizes) * 1024 / 1e6
    mapped = sum(shared for _, shared in sizes) * 1024 / 1e6
    return pss, max(0.0, shared_memory_mb() - shared_before_mb - mapped)


def shared_memory_mb() -> float:
    """Of the whole machine, MB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def _tree() -> dict[int, list[str]]:
    """This process and its descendants: what follows the name in their /proc/PID/stat."""
    stats: dict[int, list[str]] = {}
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        stats[int(entry)] = fields
        children.setdefault(int(fields[1]), []).append(int(entry))
    found, todo = {}, [os.getpid()]
    while todo:
        process = todo.pop()
        found[process] = stats[process]
        todo += children.get(process, [])
    return found


def _rollup_kb(process: int) -> tuple[int, int]:
    """Proportional set size, and shared memory's part in it."""
    try:
        lines = Path("/proc", str(process), "smaps_rollup").read_text().splitlines()[1:]
    except OSError:  # it has ended
        return 0, 0
    sizes = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
    return sizes["Pss"], sizes["Pss_Shmem"]
