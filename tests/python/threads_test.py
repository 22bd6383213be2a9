"""Python's other threads while a loader waits and decodes; several of them on one loader; Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from conftest import ENVIRONMENT
from pictures import picture
from stoker.torch import DataLoader

READERS = ["auto", "pread"]


# The lock.


@pytest.mark.parametrize("reader", READERS)
def test_others_run_while_next_waits_for_the_disk(hung_file: Path, run_script: Any, reader: str) -> None:
    # The file answers only when the other thread has counted to the end: with the lock kept, never.
    run_script("""
        import sys, threading
        import stoker

        path, reader = sys.argv[1:]
        loader = stoker.Loader(stoker.FileDataset([path], [0]), 1, stoker.eval(8), output="numpy", num_workers=1,
                               reader=reader, on_error="mask", read_deadline=1000)
        iterator = iter(loader)

        def count():
            for i in range(1_000_000):
                pass
            answer = open(path, "wb", buffering=0)
            answer.write(b"x")
            done.wait()

        done = threading.Event()
        thread = threading.Thread(target=count)
        thread.start()
        images, labels, valid = next(iterator)
        assert not valid.any()
        done.set()
        thread.join()
        """, hung_file, reader)


def test_others_keep_their_pace_while_next_waits_for_decoding(tmp_path: Path, run_script: Any) -> None:
    picture("RGB", 1600, 1600, seed=1).save(tmp_path / "large.jpg", quality=95)
    done = run_script("""
        import sys, threading, time
        import stoker

        dataset = stoker.FileDataset([sys.argv[1]] * 8, [0] * 8)
        loader = stoker.Loader(dataset, 8, stoker.eval(8), output="numpy", num_workers=1, prefetch_factor=1)
        ticks = 0

        def count():
            global ticks
            while True:
                ticks += 1

        threading.Thread(target=count, daemon=True).start()

        def pace(work):
            began, before = time.perf_counter(), ticks
            work()
            return (ticks - before) / (time.perf_counter() - began)

        decoding = max(pace(lambda: next(iter(loader))) for _ in range(5))
        sleeping = max(pace(lambda: time.sleep(0.1)) for _ in range(5))
        print(decoding / sleeping)
        """, tmp_path / "large.jpg")
    assert float(done.stdout) > 0.2  # a thread that gets the lock only between batches comes to a hundredth


def test_others_are_asked_for_the_length_while_next_waits(hung_file: Path, run_script: Any) -> None:
    run_script("""
        import sys, threading
        import stoker

        path = sys.argv[1]
        loader = stoker.Loader(stoker.FileDataset([path], [0]), 1, stoker.eval(8), output="numpy", num_workers=1,
                               on_error="mask", read_deadline=1000)
        waiting = threading.Thread(target=lambda: next(iter(loader)))
        waiting.start()
        assert len(loader) == 1
        answer = open(path, "wb", buffering=0)
        answer.write(b"x")
        waiting.join()
        """, hung_file)


# Ctrl-C.

INTERRUPTED = """
    import os, sys, threading, time
    import stoker

    path, reader, call = sys.argv[1:]
    loader = stoker.Loader(stoker.FileDataset([path], [0]), 1, stoker.eval(8), output="numpy", num_workers=1,
                           reader=reader, read_deadline=1000)
    iterator = iter(loader)
    if call == "iter":  # while the first epoch's read hangs
        threading.Timer(0.3, lambda: os.kill(os.getpid(), 2)).start()
        try:
            next(iterator)
        except KeyboardInterrupt:
            pass
    print("waiting", flush=True)
    try:
        next(iterator) if call == "next" else iter(loader)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("call", ["next", "iter"])
@pytest.mark.parametrize("reader", READERS)
def test_ctrl_c_is_heard_while_the_disk_hangs(hung_file: Path, tmp_path: Path, reader: str, call: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(INTERRUPTED))
    with subprocess.Popen([sys.executable, str(script), str(hung_file), reader, call], text=True,
                          env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waiting\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)  # it does wait
            process.send_signal(signal.SIGINT)
            # The read's deadline is far off: ending at all shows that the signal was heard. A second is the promise,
            # the rest is for a busy machine.
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)


def test_ctrl_c_that_nobody_catches_ends_the_process_with_one_traceback(hung_file: Path, run_script: Any) -> None:
    done = run_script("""
        import os, sys, threading
        import stoker

        loader = stoker.Loader(stoker.FileDataset([sys.argv[1]], [0]), 1, stoker.eval(8), output="numpy",
                               num_workers=1, read_deadline=1000)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), 2)).start()
        for batch in loader:
            pass
        """, hung_file, code=-signal.SIGINT)
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("\nKeyboardInterrupt\n")
    assert done.stderr.count("Traceback") == 1


def test_a_loader_goes_on_with_the_same_batch_after_ctrl_c(hung_file: Path, run_script: Any) -> None:
    done = run_script("""
        import os, sys, threading
        import stoker

        path = sys.argv[1]
        loader = stoker.Loader(stoker.FileDataset([path], [7]), 1, stoker.eval(8), output="numpy", num_workers=1,
                               on_error="mask", read_deadline=1000)
        iterator = iter(loader)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), 2)).start()
        try:
            next(iterator)
        except KeyboardInterrupt:
            answer = open(path, "wb", buffering=0)
            answer.write(b"x")
        print(*next(iterator)[1])
        """, hung_file)
    assert done.stdout == "7\n"


def test_an_interrupted_iter_begins_the_same_epoch_next_time(hung_file: Path, photo_folder: Path,
                                                             run_script: Any) -> None:
    done = run_script("""
        import os, sys, threading
        import stoker

        hung, whole = sys.argv[1:]
        dataset = stoker.FileDataset([hung, whole], [0, 1])
        loader = stoker.Loader(dataset, 1, stoker.eval(8), output="numpy", num_workers=1, shuffle=False,
                               on_error="mask", read_deadline=1000)
        older = iter(loader)
        for wait in (lambda: next(older), lambda: iter(loader)):
            threading.Timer(0.3, lambda: os.kill(os.getpid(), 2)).start()
            try:
                wait()
            except KeyboardInterrupt:
                print("interrupted", loader.state_dict()["epoch"])
        try:
            next(older)
        except stoker.Error as error:
            print(error)

        def answer():  # to everybody who opens it from now on
            while True:
                open(hung, "wb").close()

        threading.Thread(target=answer, daemon=True).start()
        newer = iter(loader)
        print(loader.state_dict()["epoch"], [int(batch[1][0]) for batch in newer])
        """, hung_file, photo_folder / "ant" / "00.jpg")
    interrupted = done.stdout.splitlines()
    assert interrupted[:2] == ["interrupted 0", "interrupted 0"]
    assert "another iterator" in interrupted[2]
    assert interrupted[3] == "1 [0, 1]"


# Many threads, one iterator.


@pytest.mark.parametrize("kind", ["loader", "drop-in", "endless sampler"])
def test_threads_that_share_an_iterator_get_each_batch_once(photo_folder: Path, kind: str) -> None:
    dataset = stoker.FolderDataset(photo_folder, transform=stoker.eval(16))
    loader: Any
    if kind == "loader":
        loader = stoker.Loader(dataset, 1, num_workers=1, return_ids=True, prefetch_factor=8)
    elif kind == "drop-in":
        loader = DataLoader(dataset, 1, num_workers=1, return_ids=True)
    else:
        loader = DataLoader(dataset, 1, sampler=(i for i in range(60)), num_workers=1, return_ids=True)
    iterator = iter(loader)
    came: list[int] = []
    failed: list[BaseException] = []

    def take() -> None:
        try:
            came.extend(int(numbers[0]) for _, _, numbers in iterator)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert Counter(came) == Counter(range(60))


def test_a_thread_that_waits_in_the_older_iterator_takes_no_batch_of_the_newer(photo_folder: Path) -> None:
    loader = stoker.Loader(photo_folder, 4, stoker.eval(16), num_workers=1, return_ids=True)
    going = threading.Event()
    taken: list[str] = []

    def take_older() -> None:
        older = iter(loader)
        going.set()
        try:
            while True:
                next(older)
        except stoker.Error as error:
            taken.append(str(error))
        except StopIteration:
            taken.append("ended")

    for _ in range(20):
        going.clear()
        thread = threading.Thread(target=take_older)
        thread.start()
        going.wait()
        assert sorted(int(i) for batch in iter(loader) for i in batch[2]) == list(range(60))
        thread.join()
    assert len(taken) == 20
    assert any("another iterator" in words for words in taken)


def test_close_ends_a_next_that_waits_in_another_thread(hung_file: Path, run_script: Any) -> None:
    done = run_script("""
        import sys, threading, time
        import stoker

        loader = stoker.Loader(stoker.FileDataset([sys.argv[1]], [0]), 1, stoker.eval(8), output="numpy",
                               num_workers=1, read_deadline=1000)
        iterator = iter(loader)

        def wait():
            try:
                next(iterator)
            except stoker.Error as error:
                print(error)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.3)
        loader.close()
        thread.join()
        """, hung_file)
    assert done.stdout == "loading was cancelled\n"


def test_a_batch_may_be_dropped_by_another_thread(photo_folder: Path) -> None:
    loader = stoker.Loader(photo_folder, 4, stoker.eval(16), num_workers=1, prefetch_factor=1)
    batches: list[torch.Tensor] = []
    for images, _ in loader:
        batches.append(images)
        del images
        dropper = threading.Thread(target=batches.clear)
        dropper.start()
        dropper.join()
    assert not batches
