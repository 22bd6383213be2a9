"""What became of a part: its process's end, read as results or as a reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
CANNOT_RUN = 77
"""Exit status of a part that cannot run here; why is the last line of stderr."""


@dataclass
class Outcome:
    status: str
    reason: str = ""
    results: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"status": self.status, "reason": self.reason, "results": self.results}


@dataclass
class Ended:
    """A process that is over; its code is None where it took longer than it may."""

    code: int | None
    output: str
    errors: str
    limit: float

    @property
    def last_words(self) -> str:
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1].strip() if lines else "it said nothing"


def run(command: Sequence[str], limit: float, environment: Mapping[str, str] | None = None) -> Ended:
    """Runs a command for at most so many seconds; with it end all processes that it started."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="replace", env={**os.environ, **(environment or {})},
                                   start_new_session=True)
    except OSError as error:
        return Ended(CANNOT_RUN, "", f"{command[0]}: {error.strerror}", limit)
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        return Ended(None, output, errors, limit)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return Ended(process.returncode, output, errors, limit)


def not_finished(ended: Ended) -> Outcome | None:
    """The outcome of a process that has no results to read, else None."""
    if ended.code is None:
        return Outcome(FAILED, f"it took longer than {ended.limit:.0f} s")
    if ended.code == CANNOT_RUN:
        return Outcome(NOT_RUN, ended.last_words)
    if ended.code < 0:
        return Outcome(FAILED, f"it ended by {signal.Signals(-ended.code).name}: {ended.last_words}")
    return None


def of_json(ended: Ended) -> Outcome:
    """Of a process that prints results as JSON: failed also where one of its `checks` is not true."""
    if (outcome := not_finished(ended)) is not None:
        return outcome
    if ended.code != 0:
        return Outcome(FAILED, ended.last_words)
    try:
        results = json.loads(ended.output)
    except ValueError:
        return Outcome(FAILED, f"what it printed is no JSON: {ended.last_words}")
    wrong = [words for words, true in results.get("checks", {}).items() if not true]
    return Outcome(FAILED if wrong else PASSED, "; ".join(f"not so: {words}" for words in wrong), results)


def _of_tests(results: dict[str, Any], code: int, last_words: str) -> Outcome:
    if results["failed"]:
        return Outcome(FAILED, f"{len(results['failed'])} tests failed: {', '.join(results['failed'])}", results)
    if code != 0:
        return Outcome(FAILED, f"exit status {code}: {last_words}", results)
    if not results["passed"]:
        reasons = sorted(set(results["skipped"].values())) or ["there are no tests"]
        return Outcome(NOT_RUN, "; ".join(reasons), results)
    return Outcome(PASSED, "", results)


def of_googletest(ended: Ended, report: str | None) -> Outcome:
    """Of a GoogleTest binary and the JSON that it wrote."""
    if (outcome := not_finished(ended)) is not None:
        return outcome
    if report is None:
        return Outcome(FAILED, ended.last_words)
    results: dict[str, Any] = {"passed": [], "failed": [], "skipped": {}}
    for suite in json.loads(report)["testsuites"]:
        for test in suite["testsuite"]:
            name = test["name"].partition("/")[0]
            if test.get("failures"):
                results["failed"].append(name)
            elif test["result"] == "SKIPPED":
                words = [skip["message"].strip().splitlines()[-1] for skip in test.get("skipped", [{"message": "-"}])]
                results["skipped"][name] = "; ".join(words)
            elif test["result"] == "COMPLETED":
                results["passed"].append(name)
    return _of_tests(results, ended.code or 0, ended.last_words)


def of_pytest(ended: Ended, report: str | None) -> Outcome:
    """Of pytest and the JUnit file that it wrote."""
    if (outcome := not_finished(ended)) is not None:
        return outcome
    if report is None:
        return Outcome(FAILED, ended.last_words)
    results: dict[str, Any] = {"passed": [], "failed": [], "skipped": {}}
    for test in ElementTree.fromstring(report).iter("testcase"):
        name = test.get("name", "")
        if (skip := test.find("skipped")) is not None:
            results["skipped"][name] = skip.get("message", "")
        elif test.find("failure") is not None or test.find("error") is not None:
            results["failed"].append(name)
        else:
            results["passed"].append(name)
    return _of_tests(results, 0 if ended.code in (0, 1, 5) else ended.code or 0, ended.last_words)


class Deadline:
    """The seconds that all parts have together."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return self._end - time.monotonic()
