"""The comparison's processes: what hangs or dies is ended with all that it started, and its last words are kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "peers"))

import fresh_process

# A worker, and one in a session of its own whose parent is gone: neither is a child that could be waited for.
_WORKERS = """
sleep 1000 & echo $! >> pids
setsid sh -c 'sleep 1000 & echo $! >> pids'
"""


def _run(folder: Path, script: str, seconds: float = 60) -> str:
    return fresh_process.output(["sh", "-c", f"cd {folder}\n{script}"], dict(os.environ), seconds)


def _alive(process: str) -> bool:
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _all_ended(folder: Path) -> bool:
    """A process that was killed may take a moment until it is gone."""
    pids, deadline = (folder / "pids").read_text().split(), time.monotonic() + 60
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(pids) == 2 and not any(map(_alive, pids))


@pytest.fixture
def limit_when(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a process's time be up as soon as a file is there, however fast the machine."""
    def arrange(file: Path) -> None:
        wait = subprocess.Popen.wait

        def up(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
            if timeout is None:
                return wait(process)
            while not file.exists():
                time.sleep(0.01)
            raise subprocess.TimeoutExpired(process.args, timeout)

        monkeypatch.setattr(subprocess.Popen, "wait", up)
    return arrange


def test_what_hangs_is_ended_with_all_that_it_started(tmp_path: Path, limit_when: Callable[[Path], None]) -> None:
    limit_when(tmp_path / "hangs")
    with pytest.raises(fresh_process.Failed) as failed:
        _run(tmp_path, f"{_WORKERS}\necho waiting for godot >&2; touch hangs; wait", seconds=7)
    assert failed.value.summary == "took more than 7 s: waiting for godot"
    assert _all_ended(tmp_path)


def test_what_dies_is_named_with_its_last_words_and_its_workers_end(tmp_path: Path) -> None:
    with pytest.raises(fresh_process.Failed) as failed:
        _run(tmp_path, f"{_WORKERS}\necho first >&2; echo 'out of luck' >&2; kill -SEGV $$")
    assert failed.value.summary == "ended by SIGSEGV: out of luck"
    assert "first" in str(failed.value)
    assert _all_ended(tmp_path)


def test_what_dies_in_silence_is_said_to(tmp_path: Path) -> None:
    with pytest.raises(fresh_process.Failed, match=r"^ended with 3 and said nothing$") as failed:
        _run(tmp_path, "exit 3")
    assert failed.value.code == 3


def test_workers_that_are_left_hold_nothing_up_and_are_ended(tmp_path: Path) -> None:
    assert _run(tmp_path, f"{_WORKERS}\necho the result") == "the result\n"
    assert _all_ended(tmp_path)


def test_an_interrupt_ends_all_and_passes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is None:
            return wait(process)
        while not (tmp_path / "runs").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, f"{_WORKERS}\ntouch runs; wait")
    assert _all_ended(tmp_path)
