"""The metrics as Prometheus reads them, over HTTP and from a file, while the trainer waits too."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from stoker.torch import Prefetcher

client: Any = pytest.importorskip("prometheus_client")
from stoker.prometheus import StallCollector  # noqa: E402

STAGES = ["io", "decode", "copy", "consumer", "runtime", "other"]


@pytest.fixture
def loader(photo_folder: Path) -> stoker.Loader:
    """With an epoch behind it."""
    loader = stoker.Loader(photo_folder, 8, stoker.train(16), output="numpy", num_workers=2)
    for _ in loader:
        pass
    return loader


class Given:
    """A loader whose report is what it was given."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def stalls(self) -> stoker.StallReport:
        return stoker.StallReport(self.fields)


def _registry(**loaders: Any) -> Any:
    registry = client.CollectorRegistry(auto_describe=True)
    registry.register(StallCollector(**loaders))
    return registry


def test_has_the_report(loader: stoker.Loader) -> None:
    report = loader.stalls()  # as it stands now: another is of a longer time
    given = Given(**report.to_dict())
    registry = _registry(train=given)

    def value(name: str, **labels: str) -> Any:
        return registry.get_sample_value(name, {"loader": "train", **labels})

    assert value("stoker_loader_up") == 1
    assert value("stoker_samples_total") == 60 and value("stoker_batches_total") == 8
    assert value("stoker_read_bytes_total") == report.bytes_read
    assert value("stoker_wall_seconds_total") == report.seconds > 0
    assert value("stoker_stall_seconds_total") == pytest.approx(report.stall_share * report.seconds)
    assert value("stoker_stall_ratio") == report.stall_share > 0
    for stage in STAGES:
        assert value("stoker_path_ratio", stage=stage) == report.shares[stage]
        assert value("stoker_path_seconds_total", stage=stage) == pytest.approx(report.shares[stage] * report.seconds)
    assert value("stoker_stage_ceiling_samples_per_second", stage="decode") == report.ceilings["decode"] > 0
    assert value("stoker_stage_ceiling_samples_per_second", stage="copy") is None  # nothing is copied on the host
    assert value("stoker_verdict_info", leader=report.leader, bound=report.bound, device="cpu") == 1


def test_keeps_to_prometheus_conventions(loader: stoker.Loader) -> None:
    """Prefix, base units as suffixes, lower-case words, help for each; and the exposition format parses."""
    parser: Any = pytest.importorskip("prometheus_client.parser")
    families = list(parser.text_string_to_metric_families(client.generate_latest(_registry(train=loader)).decode()))
    assert len(families) > 15
    for family in families:
        assert re.fullmatch(r"stoker_[a-z]+(_[a-z]+)*", family.name) and family.documentation.endswith(".")
        assert not re.search(r"_(ms|percent|share|mb)$", family.name)
        for sample in family.samples:
            assert sample.labels["loader"] == "train" and sample.labels.keys() <= {"loader", "stage", "leader", "bound",
                                                                                   "device"}
            assert (family.type == "counter") == sample.name.endswith("_total")
            assert not sample.name.endswith("_ratio") or 0 <= sample.value <= 1


def test_watches_several_loaders(loader: stoker.Loader) -> None:
    prefetcher = Prefetcher([torch.zeros(4, 3)] * 5, "sim")
    list(prefetcher)
    registry = _registry(train=loader, val=prefetcher)
    assert registry.get_sample_value("stoker_samples_total", {"loader": "train"}) == 60
    assert registry.get_sample_value("stoker_samples_total", {"loader": "val"}) == 5
    with pytest.raises(client.registry.DuplicateTimeseries):
        registry.register(StallCollector(test=loader))
    with pytest.raises(ValueError, match="no loader to watch"):
        StallCollector()


def test_a_loader_is_let_go_of(photo_folder: Path, loader: stoker.Loader) -> None:
    gone = stoker.Loader(photo_folder, 8, stoker.eval(16), output="numpy")
    registry = _registry(gone=gone, closed=loader)
    assert registry.get_sample_value("stoker_loader_up", {"loader": "gone"}) == 1
    loader.close()
    del gone
    gc.collect()
    for name in ("gone", "closed"):
        assert registry.get_sample_value("stoker_loader_up", {"loader": name}) == 0
        assert registry.get_sample_value("stoker_samples_total", {"loader": name}) is None


def test_counters_rise_until_the_report_is_begun_anew() -> None:
    """Or Prometheus takes a rounding for a restart."""
    shares = dict.fromkeys(STAGES, 0.0)
    given = Given(seconds=10.0, samples=5, stall_share=0.5, shares={**shares, "other": 0.4, "io": 0.6})
    registry = _registry(train=given)

    def value(name: str, **labels: str) -> Any:
        return registry.get_sample_value(name, {"loader": "train", **labels})

    assert value("stoker_path_seconds_total", stage="other") == 4 and value("stoker_stall_seconds_total") == 5
    given.fields |= {"seconds": 11.0, "stall_share": 4.999 / 11, "shares": {**shares, "other": 0.1, "io": 0.9}}
    assert value("stoker_path_seconds_total", stage="other") == 4 and value("stoker_stall_seconds_total") == 5
    assert value("stoker_path_seconds_total", stage="io") == pytest.approx(9.9)
    given.fields |= {"seconds": 1.0, "samples": 1}
    assert value("stoker_path_seconds_total", stage="other") == pytest.approx(0.1)
    assert value("stoker_samples_total") == 1


def test_writes_a_file_for_node_exporter(loader: stoker.Loader, tmp_path: Path) -> None:
    collector = StallCollector(train=loader)
    for _ in range(2):
        collector.write_textfile(tmp_path / "stoker.prom")
    assert 'stoker_samples_total{loader="train"} 60.0' in (tmp_path / "stoker.prom").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["stoker.prom"]
    with pytest.raises(ValueError, match=r"only what ends in \.prom"):
        collector.write_textfile(tmp_path / "stoker.txt")
    with pytest.raises(OSError, match="missing"):
        collector.write_textfile(tmp_path / "missing" / "stoker.prom")


def test_is_scraped_over_http_while_the_trainer_waits(hung_file: Path, photo_folder: Path, run_script: Any) -> None:
    # The file never answers: nor does a scrape that waits for the batch.
    run_script("""
        import sys, threading, urllib.request
        import prometheus_client
        import stoker
        from stoker.prometheus import StallCollector

        loader = stoker.Loader(stoker.FileDataset(sys.argv[1:], [0, 0]), 1, stoker.eval(8), output="numpy",
                               num_workers=1, shuffle=False, read_deadline=1000)
        prometheus_client.REGISTRY.register(StallCollector(train=loader))
        server, thread = prometheus_client.start_http_server(0, addr="127.0.0.1")
        iterator = iter(loader)
        next(iterator)

        def wait():
            try:
                next(iterator)
            except stoker.Error:
                pass

        waiting = threading.Thread(target=wait)
        waiting.start()
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        for _ in range(3):
            with urllib.request.urlopen(url) as answer:
                assert 'stoker_batches_total{loader="train"} 1.0' in answer.read().decode()
        assert waiting.is_alive()
        loader.close()
        waiting.join()
        with urllib.request.urlopen(url) as answer:
            assert 'stoker_loader_up{loader="train"} 0.0' in answer.read().decode()
        """, next(photo_folder.rglob("*.jpg")), hung_file)
