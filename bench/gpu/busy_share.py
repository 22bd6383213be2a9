"""How much of the time kernels ran, from the trace that torch.profiler writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def busy_share(events: Iterable[Mapping[str, Any]]) -> float:
    """The share of the time from the first kernel's start to the last one's end in which at least one ran.

    Copies do not count: a device that only copies stands still. 0 where no kernel ran.
    """
    kernels = sorted((float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in events
                     if event.get("ph") == "X" and event.get("cat") == "kernel")
    if not kernels:
        return 0.0
    first, covered_until = kernels[0][0], kernels[0][0]
    busy = 0.0
    for begin, end in kernels:
        busy += max(0.0, end - max(begin, covered_until))
        covered_until = max(covered_until, end)
    return busy / (covered_until - first) if covered_until > first else 0.0
