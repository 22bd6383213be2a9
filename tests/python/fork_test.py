"""fork() with loaders that live: the child is told, the parent notices nothing."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

# in_child(function) runs it in a forked child, which then exits as Python programs do; it must end well.
FORK = textwrap.dedent("""
    import os, sys, threading, time, warnings
    import stoker

    warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of fork() with threads

    def in_child(function):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            function()
            sys.exit(0)  # runs what is registered to run at exit
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status

    def refused(function):
        try:
            function()
        except stoker.Error as error:
            assert "spawn" in str(error), error
            return
        raise AssertionError("not refused")

    def make(**more):
        more = {"num_workers": 1, "output": "numpy", "return_ids": True, **more}
        return stoker.Loader(sys.argv[1], 8, stoker.eval(16), **more)

    def ids(batches):
        return [int(i) for batch in batches for i in batch[2]]

    loader = make()
""")


def fork(body: str) -> str:
    return FORK + textwrap.dedent(body)


@pytest.mark.parametrize("call", ["next(iterator)", "iter(loader)", "loader.stalls()", "loader.reset_stalls()"])
def test_a_child_is_told_to_use_spawn(photo_folder: Path, run_script: Any, call: str) -> None:
    run_script(fork(f"""
        iterator = iter(loader)
        came = ids([next(iterator)])
        in_child(lambda: refused(lambda: {call}))
        assert sorted(came + ids(iterator)) == list(range(60))
        """), photo_folder)


def test_a_child_of_a_parent_that_has_decoded_is_told_when_it_makes_a_loader(photo_folder: Path,
                                                                            run_script: Any) -> None:
    run_script(fork("""
        next(iter(loader))
        in_child(lambda: refused(make))
        """), photo_folder)


def test_a_loader_made_but_not_used_is_told_when_a_child_of_such_a_parent_uses_it(photo_folder: Path,
                                                                                 run_script: Any) -> None:
    run_script(fork("""
        unused = make()
        next(iter(loader))
        in_child(lambda: refused(lambda: next(iter(unused))))
        assert sorted(ids(unused)) == list(range(60))
        """), photo_folder)


def test_a_child_may_decode_without_workers(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        next(iter(loader))

        def child():
            assert sorted(ids(make(num_workers=0))) == list(range(60))

        in_child(child)
        """), photo_folder)


def test_a_child_may_use_a_loader_that_the_parent_has_not_used(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        def child():
            assert sorted(ids(loader)) == list(range(60))
            assert sorted(ids(make())) == list(range(60))

        in_child(child)
        in_child(child)
        assert sorted(ids(loader)) == list(range(60))
        """), photo_folder)


def test_a_child_may_read_and_drop_an_inherited_batch(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        iterator = iter(loader)
        batch = next(iterator)
        want = float(batch[0].sum())

        def child():
            global batch
            assert float(batch[0].sum()) == want
            batch = None

        in_child(child)
        assert sorted(ids([batch]) + ids(iterator)) == list(range(60))
        """), photo_folder)


def test_a_child_may_drop_an_inherited_loader(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        iterator = iter(loader)
        next(iterator)

        def child():
            global loader, iterator
            loader.close()
            del loader, iterator

        in_child(child)
        assert len(ids(iterator)) == 52
        """), photo_folder)


def test_a_child_knows_the_length(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        next(iter(loader))

        def child():
            assert len(loader) == 8

        in_child(child)
        """), photo_folder)


def test_a_child_ends_though_another_thread_of_the_parent_was_in_next(photo_folder: Path, hung_file: Path,
                                                                     run_script: Any) -> None:
    run_script(fork("""
        hung = stoker.Loader(stoker.FileDataset([sys.argv[2]], [0]), 1, stoker.eval(8), output="numpy", num_workers=1,
                             on_error="mask", read_deadline=1000)
        waiting = threading.Thread(target=lambda: next(iter(hung)))
        waiting.start()
        time.sleep(0.3)

        def child():
            refused(lambda: iter(hung))
            hung.close()

        in_child(child)
        in_child(lambda: None)
        answer = open(sys.argv[2], "wb", buffering=0)
        answer.write(b"x")
        waiting.join()
        """), photo_folder, hung_file)


def test_a_pool_of_forked_processes_is_told(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        import multiprocessing

        next(iter(loader))

        def child(_):
            try:
                return len(ids(loader))
            except stoker.Error as error:
                return error.reason + str(error)

        with multiprocessing.get_context("fork").Pool(2) as pool:
            for words in pool.map(child, range(4)):
                assert "spawn" in words
        assert sorted(ids(loader)) == list(range(60))
        """), photo_folder)


def test_a_child_of_a_drop_in_is_told(photo_folder: Path, run_script: Any) -> None:
    run_script(fork("""
        import torch
        from stoker.torch import DataLoader

        loader = DataLoader(stoker.FolderDataset(sys.argv[1], transform=stoker.eval(16)), 8, num_workers=1)
        iterator = iter(loader)
        images, labels = next(iterator)
        want = float(images.sum())

        def child():
            global iterator
            assert float(images.sum()) == want
            refused(lambda: next(iterator))
            del iterator
            refused(lambda: next(iter(loader)))

        in_child(child)
        assert sum(len(labels) for _, labels in iterator) == 52
        """), photo_folder)
