"""Memory and threads stand still, however often a loader is begun, left and used."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

# A batch has 1.5 MB, where there are a thousand 0.2 MB: one leak in each round is far over the bound.
MEASURE = textwrap.dedent("""
    import os, sys
    import stoker

    def make(size=128, **more):
        more = {"num_workers": 1, "output": "numpy", **more}
        return stoker.Loader(sys.argv[1], size // 16, stoker.train(size), **more)

    def threads():
        return len(os.listdir("/proc/self/task"))

    def megabytes():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stands_still(use, times):
        # Not counted is what a first use makes: threads, and each thread's share of the heap.
        for _ in range(times // 5 + 1):
            use()
        before, at_first = megabytes(), threads()
        for _ in range(times):
            use()
        assert threads() <= at_first + 1, (at_first, threads())  # oneTBB's may come and go
        assert megabytes() - before < 20, (before, megabytes())
""")


def measure(body: str) -> str:
    return MEASURE + textwrap.dedent(body)


def test_a_thousand_first_batches_of_one_loader(photo_folder: Path, run_script: Any) -> None:
    run_script(measure("""
        loader = make(64)
        stands_still(lambda: next(iter(loader)), 1000)
        """), photo_folder)


def test_a_thousand_first_batches_of_one_drop_in(photo_folder: Path, run_script: Any) -> None:
    run_script(measure("""
        from stoker.torch import DataLoader

        dataset = stoker.FolderDataset(sys.argv[1], transform=stoker.train(64))
        loader = DataLoader(dataset, 4, shuffle=True, num_workers=1)
        stands_still(lambda: next(iter(loader)), 1000)
        """), photo_folder)


def test_a_hundred_loaders(photo_folder: Path, run_script: Any) -> None:
    run_script(measure("stands_still(lambda: next(iter(make())), 100)"), photo_folder)


def test_a_hundred_exceptions_in_the_loop(photo_folder: Path, run_script: Any) -> None:
    run_script(measure("""
        def use():
            try:
                for batch in make():
                    raise KeyError
            except KeyError:
                pass

        stands_still(use, 100)
        """), photo_folder)


def test_twenty_epochs(photo_folder: Path, run_script: Any) -> None:
    run_script(measure("""
        loader = make()

        def use():
            for batch in loader:
                pass

        stands_still(use, 20)
        """), photo_folder)


def test_a_thousand_bad_samples(photo_folder: Path, make_broken: Any, run_script: Any) -> None:
    run_script(measure("""
        paths = [sys.argv[1] + "/ant/00.jpg"] + [sys.argv[2]] * 9
        loader = stoker.Loader(stoker.FileDataset(paths, [0] * 10), 10, stoker.train(128), output="numpy",
                               num_workers=1, on_error="mask", strict=True)
        stands_still(lambda: next(iter(loader)), 100)
        assert len(loader.stalls().skipped) == 9
        """), photo_folder, make_broken("truncated"))


@pytest.mark.parametrize("use", ["array.__dlpack__()", "numpy.asarray(array)", "memoryview(array)"])
def test_views_of_one_batch(photo_folder: Path, run_script: Any, use: str) -> None:
    run_script(measure(f"""
        import numpy

        images, labels = next(iter(make(output="dlpack")))

        def use():
            for array in (images, labels):
                for _ in range(1000):
                    {use}

        stands_still(use, 100)
        """), photo_folder)
