"""The periodic reports, in the log."""

from __future__ import annotations

import logging

from stoker import _core

__all__ = ["log_reports"]

_log = logging.getLogger("stoker")


def log_reports(core: _core.Loader) -> None:
    """Writes those that came with the last batch: at level INFO, and WARNING where there is something to warn of."""
    for report in core.take_reports():
        _log.log(logging.WARNING if report.warnings else logging.INFO, "%s", report.line)
