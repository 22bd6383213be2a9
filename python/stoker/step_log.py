"""What a loader tells of itself in the log: the machine once, then the periodic reports."""

from __future__ import annotations

import logging

from stoker import _core
from stoker.datasets import FileDataset
from stoker.machine import log_overview

__all__ = ["StepLog"]

_log = logging.getLogger("stoker")


class StepLog:
    """Of one native loader. `files` are its samples; `every` as ``report_every``."""

    def __init__(self, core: _core.Loader, files: FileDataset, every: int) -> None:
        self._core = core
        self._files = files
        self._overview_due = every > 0
        self._given = 0

    def batch_given(self) -> None:
        """Writes what came with it: reports at level INFO, or WARNING where there is something to warn of."""
        self._given += 1
        if self._given > 1:  # not before the first one, for which the trainer waits
            self._log_overview()
        self._log_reports()

    def epoch_ended(self) -> None:
        self._core.end_epoch()
        if self._given > 0:
            self._log_overview()
            self._log_reports()

    def _log_overview(self) -> None:
        if self._overview_due:
            self._overview_due = False
            log_overview(self._core, self._files.path(0))

    def _log_reports(self) -> None:
        for report in self._core.take_reports():
            _log.log(logging.WARNING if report.warnings else logging.INFO, "%s", report.line)
