"""Stall reports for Prometheus, by prometheus_client.

    from prometheus_client import REGISTRY, start_http_server
    REGISTRY.register(StallCollector(train=loader))
    start_http_server(9400)

or, for node_exporter's textfile collector, every now and then

    stalls.write_textfile("stoker.prom")  # stalls = StallCollector(train=loader)

Importing this imports prometheus_client.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from threading import Lock
from typing import Any

from stoker._core import StallReport
from stoker.errors import Error
from stoker.reporting import framework

__all__ = ["StallCollector"]

_client = framework("prometheus_client", "prometheus_client")
_core = framework("prometheus_client.core", "prometheus_client")

_COUNTERS: dict[str, tuple[str, Callable[[StallReport], float]]] = {
    "stoker_wall_seconds": ("Time since the first batch was asked for.", lambda report: report.seconds),
    "stoker_samples": ("Samples given out; of a Prefetcher, batches.", lambda report: report.samples),
    "stoker_batches": ("Batches given out.", lambda report: report.batches),
    "stoker_read_bytes": ("Encoded bytes read.", lambda report: report.bytes_read),
    "stoker_stall_seconds": ("Time that the trainer waited for a batch, in next() or on the device.",
                             lambda report: report.stall_share * report.seconds),
    "stoker_device_stall_seconds": ("Time that the trainer's stream stood still for batches, on the device.",
                                    lambda report: report.device_stall_share * report.seconds),
    "stoker_waits": ("Times that a batch was asked for and none was ready.", lambda report: report.empties),
    "stoker_bad_samples": ("Different samples that were skipped or masked.", lambda report: report.skipped_count),
    "stoker_decoder_warnings": ("Pictures that the decoder complained of, but gave.",
                                lambda report: report.decoder_warnings),
}
_STAGE_COUNTERS: dict[str, tuple[str, Callable[[StallReport], Mapping[str, float]]]] = {
    "stoker_path_seconds": ("Time of the critical path by stage; the latest batches' may still move between stages.",
                            lambda report: {stage: share * report.seconds for stage, share in report.shares.items()}),
}
_GAUGES: dict[str, tuple[str, Callable[[StallReport], float | None]]] = {
    "stoker_stall_ratio": ("Share of the time that the trainer waited for a batch, since the first one.",
                           lambda report: report.stall_share),
    "stoker_workers_on_cpu_ratio": ("Of the time that workers had samples, the share on a CPU.",
                                    lambda report: report.on_cpu_share),
    "stoker_page_cache_hit_ratio": ("Share of the reads that the page cache answered.",
                                    lambda report: report.cached_share if report.cached_known else None),
    "stoker_reserved_memory_bytes": ("Host memory that the loader has planned and taken.",
                                     lambda report: report.budget_bytes),
    "stoker_workers": ("Decoding threads.", lambda report: report.workers),
    "stoker_host_memory_pinned": ("1 where batches for a device lie in page-locked memory.",
                                  lambda report: report.pinned),
}
_STAGE_GAUGES: dict[str, tuple[str, Callable[[StallReport], Mapping[str, float]]]] = {
    "stoker_path_ratio": ("Share of the critical path by stage, since the first batch.", lambda report: report.shares),
    "stoker_stage_busy_ratio": ("Share of its servers' time that the stage used.", lambda report: report.busy),
    "stoker_stage_gain_ratio": ("How much higher the rate would be if this stage alone worked 10 % faster.",
                                lambda report: report.gains),
    "stoker_stage_ceiling_samples_per_second": (
        "What the stage could do if nothing else held it back.",
        lambda report: {stage: rate for stage, rate in report.ceilings.items() if rate > 0}),
}


class StallCollector:
    """A collector of prometheus_client over one or several loaders, each by the name that its ``loader`` label has.

    A scrape asks each loader for its report, from whatever thread: it holds up neither the trainer nor itself, also
    while ``next()`` waits. Counters begin anew with ``reset_stalls()``, as Prometheus expects it of a restart. Loaders
    are not kept alive: of one that is gone or closed, ``stoker_loader_up`` is 0 and nothing else is left.

    Ratios and ceilings are those of ``loader.stalls()``, over the whole run. For the last five minutes, ask for
    ``rate(stoker_path_seconds_total[5m])`` and ``rate(stoker_stall_seconds_total[5m])``, which are ratios, and
    ``rate(stoker_samples_total[5m])``.

    Raises ValueError without a loader.
    """

    def __init__(self, **loaders: Any) -> None:
        if not loaders:
            raise ValueError("no loader to watch: StallCollector(train=loader)")
        self._loaders = {name: weakref.ref(loader) for name, loader in loaders.items()}
        self._collecting = Lock()
        self._rising = {name: _Rising() for name in loaders}

    def describe(self) -> list[Any]:
        """The metrics without values: no loader is asked when this is registered."""
        return list(_families().values())

    def collect(self) -> list[Any]:
        """The metrics as they stand now."""
        families = _families()
        with self._collecting:
            for name, loader in self._loaders.items():
                report = _report_of(loader())
                families["stoker_loader_up"].add_metric([name], report is not None)
                if report is not None:
                    self._add(families, name, report)
        return list(families.values())

    def write_textfile(self, path: str | PathLike[str]) -> None:
        """Writes them to a file, which is whole at any time. node_exporter reads those that end in ".prom".

        Raises ValueError for another name, OSError where the file cannot be written.
        """
        if not fspath(path).endswith(".prom"):
            raise ValueError(f"{fspath(path)}: node_exporter's textfile collector reads only what ends in .prom")
        registry = _client.CollectorRegistry()
        registry.register(self)
        _client.write_to_textfile(fspath(path), registry)

    def _add(self, families: dict[str, Any], name: str, report: StallReport) -> None:
        rising = self._rising[name]
        rising.begin(report)
        for metric, (_, value) in _COUNTERS.items():
            families[metric].add_metric([name], rising.at_least((metric,), value(report)))
        for metric, (_, by_stage) in _STAGE_COUNTERS.items():
            for stage, seconds in by_stage(report).items():
                families[metric].add_metric([name, stage], rising.at_least((metric, stage), seconds))
        for metric, (_, gauge) in _GAUGES.items():
            known = gauge(report)
            if known is not None:
                families[metric].add_metric([name], known)
        for metric, (_, by_stage) in _STAGE_GAUGES.items():
            for stage, figure in by_stage(report).items():
                families[metric].add_metric([name, stage], figure)
        families["stoker_verdict"].add_metric([name], {"leader": report.leader, "bound": report.bound,
                                                       "device": report.device})


class _Rising:
    """Keeps counters from falling by the rounding of a product, or where the newest part of the path moves to another
    stage: Prometheus would take that for a restart, and count the whole anew."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._values: dict[tuple[str, ...], float] = {}

    def begin(self, report: StallReport) -> None:
        if report.seconds < self._seconds:  # the report was begun anew
            self._values.clear()
        self._seconds = report.seconds

    def at_least(self, key: tuple[str, ...], value: float) -> float:
        self._values[key] = max(value, self._values.get(key, 0.0))
        return self._values[key]


def _report_of(loader: Any) -> StallReport | None:
    try:
        return None if loader is None else loader.stalls()
    except Error:  # it was closed, or this is a child of fork()
        return None


def _families() -> dict[str, Any]:
    families = {"stoker_loader_up": _core.GaugeMetricFamily(
        "stoker_loader_up", "1 while the loader lives and has a report.", labels=["loader"])}
    for kind, labels, metrics in (
            (_core.CounterMetricFamily, ["loader"], _COUNTERS),
            (_core.CounterMetricFamily, ["loader", "stage"], _STAGE_COUNTERS),
            (_core.GaugeMetricFamily, ["loader"], _GAUGES),
            (_core.GaugeMetricFamily, ["loader", "stage"], _STAGE_GAUGES)):
        for name, (meaning, _) in metrics.items():
            families[name] = kind(name, meaning, labels=labels)
    families["stoker_verdict"] = _core.InfoMetricFamily(
        "stoker_verdict", "The stage that leads the critical path, and what kind of limit that is.", labels=["loader"])
    return families
