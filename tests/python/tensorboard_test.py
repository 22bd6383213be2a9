"""Stall reports as scalars, written by the writers that people have and read by TensorBoard itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from stoker.reporting import figures
from stoker.tensorboard import log_stalls
from stoker.torch import Prefetcher


@pytest.fixture
def loader(photo_folder: Path) -> stoker.Loader:
    """With an epoch behind it."""
    loader = stoker.Loader(photo_folder, 8, stoker.train(16), output="numpy", num_workers=2)
    for _ in loader:
        pass
    return loader


def _written(folder: Path) -> Any:
    reading: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reading.EventAccumulator(str(folder))
    events.Reload()
    return events


@pytest.mark.parametrize("package", ["torch.utils.tensorboard", "tensorboardX"])
def test_writes_what_tensorboard_reads(loader: stoker.Loader, tmp_path: Path, package: str) -> None:
    pytest.importorskip("tensorboard")
    writer: Any = pytest.importorskip(package).SummaryWriter(str(tmp_path))
    log_stalls(writer, loader, 10)
    log_stalls(writer, loader, 20, tag="val")
    writer.close()
    events = _written(tmp_path)
    named = figures(loader.stalls())
    assert set(events.Tags()["scalars"]) == {f"{tag}/{name}" for tag in ("loader", "val") for name in named}
    (written,) = events.Scalars("loader/shares/decode")
    assert written.step == 10 and written.value == pytest.approx(named["shares/decode"], rel=0.5)
    (words,) = events.Tensors("val/verdict/text_summary")
    assert words.step == 20 and b"loader-bound" in words.tensor_proto.string_val[0]


def test_any_writer_with_scalars_will_do(loader: stoker.Loader) -> None:
    class Writer:
        def __init__(self) -> None:
            self.written: dict[str, tuple[float, int]] = {}

        def add_scalar(self, tag: str, value: float, step: int) -> None:
            self.written[tag] = value, step

    writer = Writer()
    log_stalls(writer, loader, 3)
    assert writer.written["loader/images_per_second"][1] == 3
    prefetcher = Prefetcher([torch.zeros(4, 3)] * 5, "sim")
    log_stalls(other := Writer(), prefetcher, 0)
    assert not other.written  # nothing to tell yet
    list(prefetcher)
    log_stalls(other, prefetcher, 1)
    assert other.written["loader/batches_per_second"][0] > 0
