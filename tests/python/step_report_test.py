"""The periodic reports: in the log, in a file, as fields; and the memory that grows outside the loader."""

import json
import logging
import os
import pathlib
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import stoker

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((ROOT / "bench" / "report.schema.json").read_text())


def run(folder: pathlib.Path, epochs: int, **arguments: Any) -> stoker.Loader:
    loader = stoker.Loader(folder, batch_size=2, transform=stoker.train(8), output="numpy", num_workers=1, **arguments)
    for _ in range(epochs):
        for _ in loader:
            pass
    return loader


def last_report(loader: stoker.Loader) -> stoker.StepReport:
    report = loader.last_report
    assert report is not None
    return report


def test_lines_come_every_so_many_batches_and_at_the_ends_of_epochs(
        photo_folder: pathlib.Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.INFO, "stoker")
    monkeypatch.setattr("stoker.machine._said", set())
    monkeypatch.setattr("stoker.machine._looked_at", set())
    loader = run(photo_folder, 2, report_every=4)
    steps = len(loader) * 2
    starts = [record.message.split(" |")[0] for record in caplog.records]
    assert [start for start in starts if start.startswith("step")] == [f"step {n}" for n in range(4, steps + 1, 4)]
    assert any(record.message.startswith("machine") for record in caplog.records)
    assert [start for start in starts if start.startswith("epoch")] == [
        f"epoch {n} ended at step {(n + 1) * len(loader)}" for n in range(2)]
    assert last_report(loader).kind == "epoch"
    assert last_report(loader).epoch == 1


def test_nothing_is_said_where_none_is_asked_for(photo_folder: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stoker")
    loader = run(photo_folder, 2, report_every=0)
    assert caplog.records == []
    assert loader.last_report is None


def test_the_file_holds_what_the_schema_says(photo_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "report.jsonl"
    loader = run(photo_folder, 3, report_every=2, report_file=file)
    lines = file.read_text().splitlines()
    assert len(lines) >= 3
    for line in lines:
        jsonschema.validate(json.loads(line), SCHEMA)
    last = json.loads(lines[-1])
    assert last == json.loads(last_report(loader).json)
    assert sum(last["stalls"]["shares"].values()) == pytest.approx(1, abs=0.005)
    assert sum(last["stalls"]["parts"].values()) == pytest.approx(1, abs=0.005)


def test_the_schema_refuses_other_lines(photo_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    line = json.loads(last_report(run(photo_folder, 1, report_every=2)).json)
    jsonschema.validate(line, SCHEMA)
    for wrong in ({**line, "more": 1}, {**line, "kind": "years"}, {k: v for k, v in line.items() if k != "step"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_a_file_that_cannot_be_written_does_not_stop_training(
        photo_folder: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(photo_folder, 2, report_every=1, report_file="/proc/nothing/report.jsonl")
    said = capfd.readouterr().err
    assert said.count("/proc/nothing/report.jsonl") == 1
    assert "training goes on" in said


def test_memory_that_the_caller_keeps_is_named_and_not_the_loaders(
        photo_folder: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    kept: list[bytes] = []
    loader = stoker.Loader(photo_folder, batch_size=2, transform=stoker.train(8), output="numpy", num_workers=1)
    for _ in range(7):
        for _ in loader:
            pass
        kept.append(b"x" * 80_000_000)
    assert any("growth outside the loader" in record.message for record in caplog.records
               if record.levelno == logging.WARNING)
    growth = last_report(loader).growth_bytes_per_epoch
    assert growth is not None
    assert 60e6 < growth < 100e6


def test_ten_epochs_raise_no_alarm(photo_folder: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    loader = run(photo_folder, 10)
    assert not any("grows" in record.message or "steps take" in record.message for record in caplog.records)
    growth = last_report(loader).growth_bytes_per_epoch
    assert growth is not None
    assert growth < 5e6
    assert last_report(loader).warnings == []


def test_the_overview_tells_what_does_not_fit(photo_folder: pathlib.Path) -> None:
    cpus = len(os.sched_getaffinity(0))
    found = stoker.overview(photo_folder, num_workers=cpus + 7, device="cpu")
    assert "data set" in str(found)
    assert "CPUs" in found.short
    assert any(f"num_workers={cpus}" in warning for warning in found.warnings)
    assert not any("num_workers" in warning for warning in
                   stoker.overview(photo_folder, num_workers=1, device="cpu").warnings)


def test_the_drop_in_counts_its_epochs_and_finds_the_leak_too(
        photo_folder: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    from stoker.torch import DataLoader

    caplog.set_level(logging.INFO, "stoker")
    kept: list[bytes] = []
    loader = DataLoader(datasets.ImageFolder(photo_folder, stoker.train(8)), batch_size=2, shuffle=True, num_workers=1)
    for _ in range(6):
        for _ in loader:
            pass
        kept.append(b"x" * 80_000_000)
    ends = [record.message.split(" ended")[0] for record in caplog.records if record.message.startswith("epoch")]
    assert ends == [f"epoch {number}" for number in range(6)]
    assert any("growth outside the loader" in record.message for record in caplog.records)
    assert sum(record.message.startswith("machine") for record in caplog.records) <= 1
    for _ in loader:  # broken off
        break
    list(loader)
    ends = [record.message.split(" ended")[0] for record in caplog.records if record.message.startswith("epoch")]
    assert ends[-1] == "epoch 7" or ends[-1] == "epoch 0"  # of the same buffers, or of new ones
