"""A command in a process of its own that leaves nothing behind: not when it hangs, not when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path

__all__ = ["Failed", "output"]

_MARK = "STOKER_COMPARE_RUN"
_LAST_WORDS = 4000  # characters


class Failed(Exception):
    """How it ended, and what it said last; `code` is its exit code, None where there is none."""

    def __init__(self, how: str, words: str, code: int | None = None) -> None:
        words = words.strip()
        super().__init__(f"{how}; it said: {words[-_LAST_WORDS:]}" if words else f"{how} and said nothing")
        self.code = code
        self.last_line = words.splitlines()[-1] if words else ""
        self.summary = f"{how}: {self.last_line}" if words else str(self)


def output(command: list[str], environment: dict[str, str], seconds: float) -> str:
    """What it writes to stdout. Raises Failed where it takes longer than `seconds`, or fails. Whatever it started and
    still runs is ended, however it ended itself."""
    mark = f"{_MARK}={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    # Files, not pipes: a pipe ends only when the last of its workers has closed it.
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env={**environment, name: value}, start_new_session=True)
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_all(mark.encode())
            process.wait()
        err.seek(0)
        words = err.read()
        if code is None:
            raise Failed(f"took more than {seconds:.0f} s", words)
        if code < 0:
            raise Failed(f"ended by {signal.Signals(-code).name}", words)
        if code:
            raise Failed(f"ended with {code}", words, code)
        out.seek(0)
        return out.read()


def _end_all(mark: bytes) -> None:
    """Until none is left, since one may be starting another; a process that cannot be killed is not waited for."""
    deadline = time.monotonic() + 10
    while (left := _marked(mark)) and time.monotonic() < deadline:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def _marked(mark: bytes) -> list[int]:
    """Processes with `mark` in their environment. All that they start inherits it, in whatever session, whoever its
    parent is now."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):  # it has ended, or is somebody else's
                if mark in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
    return found
