"""Batches in page-locked memory, which the caller copies to a GPU itself: over the fake driver."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from fake_cuda import MODES, begin, run

# What torch's .to(device, non_blocking=True) does, and drops the batch.
PINNED = begin("""
    gpu = Gpu()
    want = [batch[0] for batch in on_host(shuffle=False)]
    core = make_core(stoker.FolderDataset(FOLDER), stoker.eval(16),
                     {"batch_size": 4, "num_workers": 1, "shuffle": False, "prefetch_factor": 1, "device": "cpu",
                      "pin_memory_for": "cuda:0"})
    assert core.stalls().pinned and core.stalls().device == "cuda:0"
    run = core.start_epoch(0, 0)
    there = []
    while (batch := core.next(run, 0.0, %s)) is not None:
        taken = Taken(batch.images)
        del batch
        assert taken.place == (1, 0)
        there.append((gpu.allocate(taken.nbytes), taken.nbytes))
        gpu.start_upload(taken.address, taken.nbytes, there[-1][0])
        del taken
    gpu.finish()
    got = [gpu.read_memory(memory, size) for memory, size in there]
    for memory, _ in there:
        gpu.free(memory)
    """)


@pytest.mark.parametrize("driver", MODES)
def test_a_pinned_batch_is_overwritten_once_its_stream_has_copied_it(photo_folder: Path, tmp_path: Path,
                                                                     driver: str) -> None:
    run(tmp_path, PINNED % "gpu.stream" + textwrap.dedent("""
        assert got == want
        core.close()
        end(gpu)
        """), photo_folder, driver=driver)


def test_a_pinned_batch_whose_stream_nobody_knows_is_overwritten(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, PINNED % "0" + textwrap.dedent("""
        assert got != want
        assert "the host changed the source" in violations()
        """), photo_folder)


def test_a_pinned_batch_outlives_its_loader(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        want = on_host(shuffle=False)
        core = make_core(stoker.FolderDataset(FOLDER), stoker.eval(16),
                         {"batch_size": 4, "shuffle": False, "device": "cpu", "pin_memory_for": "cuda:0"})
        batch = core.next(core.start_epoch(0, 0), 0.0, 1)
        core.close()
        assert Taken(batch.images).bytes_in_host() == want[0][0]
        del batch
        end()
        """), photo_folder)
