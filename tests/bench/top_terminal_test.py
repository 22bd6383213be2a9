"""`stoker top` in a real terminal (tmux): top_terminal_test.py STOKER.

A job runs, is looked at, the window is resized, loaders are waited for, the job is killed. Everything is waited for by
looking, with a deadline that only a test that fails meets. Ends with 77 where there is no tmux.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

DEADLINE_SECONDS = 60
NO_TMUX = 77
STOKER = sys.argv.pop() if len(sys.argv) > 1 else ""


class TopInATerminal(unittest.TestCase):
    """A tmux server of its own, a small set of pictures and a job that loads it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        photos = self.folder / "photos"
        subprocess.run([STOKER, "synth", photos, "--pictures", "20", "--no-odd-files"], check=True, capture_output=True)
        self.report = self.folder / "report.jsonl"
        self.job = subprocess.Popen(
            [STOKER, "run", photos, "--batch-size", "4", "--step-ms", "20", "--epochs", "1000000", "--size", "32",
             "--num-workers", "1", "--device", "cpu", "--report-every", "5", "--report-file", self.report],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.job.wait)
        self.addCleanup(self.job.kill)
        self.servers = 0

    def tmux(self, *arguments: object, server: int = 0) -> str:
        socket = self.folder / f"tmux{server or self.servers}"
        command = ["tmux", "-f", "/dev/null", "-S", socket, *map(str, arguments)]
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        return done.stdout

    def start(self, target: object, width: int, height: int, terminal: str = "screen") -> None:
        """A shell that stays, in a tmux server of its own, runs `stoker top` and then prints its exit code."""
        self.servers += 1
        self.addCleanup(self.tmux, "kill-server", server=self.servers)
        self.tmux("new-session", "-d", "-x", width, "-y", height,
                  f"TERM={terminal} '{STOKER}' top '{target}'; echo exit code $?; exec sleep 1000")

    def screen(self) -> list[str]:
        return self.tmux("capture-pane", "-p").splitlines()

    def wait_for(self, what: str, ready: Callable[[list[str]], bool]) -> list[str]:
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            lines = self.screen()
            if ready(lines):
                return lines
            self.assertLess(time.monotonic(), end, f"{what}:\n" + "\n".join(lines))
            time.sleep(0.05)

    def wait_for_text(self, text: str) -> list[str]:
        return self.wait_for(text, lambda lines: any(text in line for line in lines))

    def wait_for_feed(self) -> None:
        end = time.monotonic() + DEADLINE_SECONDS
        while subprocess.run([STOKER, "top", str(self.job.pid), "--json"], capture_output=True).returncode != 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_shows_a_job_through_resizes_until_it_is_killed(self) -> None:
        self.start(self.job.pid, 80, 24)  # maybe before its first batch
        self.wait_for_text("q quit")
        lines = self.wait_for_text("consumer")
        self.assertIn(f"pid {self.job.pid}", lines[0])
        self.assertTrue(any(line.startswith("verdict") for line in lines))
        self.assertTrue(lines[23].endswith("h help  q quit"))
        for width, height in (120, 40), (40, 10), (100, 30):
            self.tmux("resize-window", "-x", width, "-y", height)
            lines = self.wait_for("the new size", lambda lines, width=width, height=height: (
                len(lines) == height and lines[-1].endswith("q quit") and len(lines[-1]) == width))
            self.assertTrue(lines[0].endswith(f"pid {self.job.pid}"))
        before = lines[1]
        self.wait_for("a newer step", lambda lines: lines[1].startswith("step") and lines[1] != before)
        self.tmux("send-keys", "h")
        self.wait_for_text("any key: back")
        self.tmux("send-keys", "h")
        self.wait_for_text("q quit")
        self.job.kill()
        lines = self.wait_for_text("exit code 1")
        self.assertTrue(any(f"process {self.job.pid} has ended" in line for line in lines))
        self.assertTrue(any(line.startswith("consumer") for line in lines), "the last picture is gone")

    def test_a_stopped_job_asks_for_no_batch(self) -> None:
        self.wait_for_feed()
        self.start(self.job.pid, 80, 24)
        self.wait_for_text("updated")
        self.job.send_signal(signal.SIGSTOP)
        self.wait_for_text("no batch asked for since")
        self.job.send_signal(signal.SIGCONT)
        self.wait_for_text("updated")

    def test_keys_and_signals_give_the_terminal_back(self) -> None:
        self.wait_for_feed()
        for key, code in ("q", 0), ("C-c", 130):
            self.start(self.job.pid, 80, 24)
            self.wait_for_text("q quit")
            self.tmux("send-keys", key)
            lines = self.wait_for_text(f"exit code {code}")
            self.assertFalse(any("q quit" in line for line in lines), "the screen before is not back")
            self.assertEqual(self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip(), "0 1")

    def test_follows_a_file(self) -> None:
        self.report.touch()
        self.start(self.report, 80, 24)
        lines = self.wait_for_text("written")
        before = lines[1]
        self.wait_for("a newer step", lambda lines: lines[1].startswith("step") and lines[1] != before)
        with self.report.open("a") as file:
            file.write("\nno report\n")
        self.wait_for_text("damaged line")

    def test_prints_once_where_the_cursor_cannot_be_moved(self) -> None:
        self.wait_for_feed()
        for terminal in "dumb", "unknown-to-all":
            self.start(self.job.pid, 100, 50, terminal)
            lines = self.wait_for_text("exit code 0")
            self.assertTrue(any(line.startswith("verdict") for line in lines))


if __name__ == "__main__":
    if shutil.which("tmux") is None:
        print("left out: there is no tmux")
        sys.exit(NO_TMUX)
    unittest.main()
