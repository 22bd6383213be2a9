"""TurboLoader with antialias, which it leaves off where nobody asks."""

from __future__ import annotations

from rival import Job
from turbo_loader import VERSIONS, Loader, fixed, prepare

__all__ = ["PROMISE", "VERSIONS", "fixed", "make", "prepare"]

PROMISE = "as turboloader, but with its antialiased bilinear"


def make(job: Job) -> Loader:
    return Loader(job, antialias=True)
