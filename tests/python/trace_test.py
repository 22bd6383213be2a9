"""The trace of a loader, as Perfetto reads it."""

from __future__ import annotations

import errno
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import stoker
import stoker.torch
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]
from trace_query import query

SLICES = """select thread.name as row, slice.name, slice.ts, slice.dur,
    (select int_value from args where arg_set_id = slice.arg_set_id and key = 'args.id')
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) order by slice.ts"""
ARROWS = """select source.name, source.ts, target.name, target.ts
    from flow join slice as source on slice_out = source.id join slice as target on slice_in = target.id"""
COMPLAINTS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def as_written(trace: Path) -> tuple[list[tuple[Any, ...]], int]:
    """Slices, as SLICES gives them, and the number of arrows."""
    events = json.loads(trace.read_text())["traceEvents"]
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    slices = [(rows[event["tid"]], event["name"], int(event["ts"] * 1000), int(event["dur"] * 1000),
               event["args"].get("id")) for event in events if event["ph"] == "X"]
    return slices, sum(event["ph"] == "s" for event in events)


@pytest.fixture
def loader(photo_folder: Path) -> stoker.Loader:
    loader = stoker.Loader(photo_folder, 4, stoker.train(32), num_workers=2, device="sim", reader="pread",
                           output="numpy")
    for _ in loader:
        pass
    return loader


def test_perfetto_reads_every_slice_and_every_arrow(loader: stoker.Loader, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    loader.write_trace(file)
    slices, arrows = as_written(file)
    read_slices, read_arrows, complaints = query(file, SLICES, ARROWS, COMPLAINTS)
    assert complaints == []
    assert sorted(read_slices, key=str) == sorted(slices, key=str)
    assert {"critical path", "consumer", "copy engine", "worker 0", "read 0"} <= {row for row, *_ in read_slices}
    assert len({sample for _, name, *_, sample in read_slices if name == "decode"}) == len(loader) * 4
    assert arrows > len(loader)
    assert len(read_arrows) == arrows
    # A caller may let go of a batch before its step is over, so what it had waited for may still go on.
    assert all(began <= arrives for _, began, _, arrives in read_arrows)
    pairs = {(source, target) for source, _, target, _ in read_arrows}
    assert ("storage", "decode") in pairs or ("augment", "decode") in pairs
    assert ("augment", "transfer") in pairs


def test_the_path_in_perfetto_adds_up_to_the_time(loader: stoker.Loader, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    loader.write_trace(file)
    (path,) = query(file, f"select ts, dur from ({SLICES}) where row = 'critical path'")
    assert path[0][0] == 0
    assert all(ts + dur == then for (ts, dur), (then, _) in pairwise(path))


def test_torch_loaders_write_one_too(photo_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    loader = stoker.torch.DataLoader(ImageFolder(photo_folder, stoker.train(32)), 8, num_workers=1)
    for _ in loader:
        pass
    loader.write_trace(str(file))
    assert ("worker 0", "decode") in {row[:2] for row in as_written(file)[0]}


@pytest.mark.parametrize("place", ["missing/trace.json", "."])
def test_a_path_that_cannot_be_written_is_named(loader: stoker.Loader, tmp_path: Path, place: str) -> None:
    with pytest.raises(OSError, match="cannot write the trace to .*: name a file in a folder that can be") as caught:
        loader.write_trace(tmp_path / place)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.errno in (errno.ENOENT, errno.EISDIR)
    assert os.listdir(tmp_path) == []
    assert next(iter(loader)) is not None
