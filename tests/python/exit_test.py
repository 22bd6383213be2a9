"""The interpreter ends while loaders live: no hang, no crash, no words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LOADER = """
import atexit, os, sys, threading, time
import stoker

def make(path=sys.argv[1], **more):
    if os.path.isdir(path):
        dataset = stoker.FolderDataset(path)
    else:
        dataset = stoker.FileDataset([path], [0])
    return stoker.Loader(dataset, 4, stoker.eval(16), output="numpy", num_workers=1, read_deadline=1000, **more)

"""

# What a script ends with, and its exit status.
ENDINGS = {
    "module level loader": ("loader = make(); images, labels = next(iter(loader))", 0),
    "module level iterator": ("loader = make(); iterator = iter(loader); batch = next(iterator)", 0),
    "never iterated": ("loader = make()", 0),
    "in a cycle": ("loader = make(); loader.me = loader; loader.batch = next(iter(loader)); del loader", 0),
    "kept by a class": ("class Keeper: pass\nKeeper.batch = next(iter(make()))", 0),
    "sys.exit in the loop": ("for batch in make(): sys.exit(3)", 3),
    "sys.exit in a thread": (
        "def run():\n    for batch in make(): sys.exit()\n"
        "thread = threading.Thread(target=run); thread.start()", 0),
    "os._exit": ("for batch in make(): os._exit(4)", 4),
    "many loaders": ("loaders = [make() for _ in range(5)]; batches = [next(iter(loader)) for loader in loaders]", 0),
    "dlpack never taken": ("loader = make(); images, _ = next(iter(loader)); capsule = memoryview(images)", 0),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_ends_in_mid_epoch(photo_folder: Path, run_script: Any, ending: str) -> None:
    source, code = ENDINGS[ending]
    done = run_script(LOADER + source, photo_folder, code=code)
    assert done.stdout + done.stderr == ""


def test_an_exception_in_the_loop_ends_with_its_traceback_alone(photo_folder: Path, run_script: Any) -> None:
    done = run_script(LOADER + "for batch in make(): 1 / 0", photo_folder, code=1)
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_a_torch_loader_at_module_level_ends_in_mid_epoch(photo_folder: Path, run_script: Any) -> None:
    done = run_script("""
        import sys
        import stoker
        from stoker.torch import DataLoader

        loader = DataLoader(stoker.FolderDataset(sys.argv[1], transform=stoker.eval(16)), 4, num_workers=2)
        iterator = iter(loader)
        images, labels = next(iterator)
        kept = list(loader)
        sys.exit(5)
        """, photo_folder, code=5)
    assert done.stdout + done.stderr == ""


def test_ends_with_a_daemon_thread_that_iterates(photo_folder: Path, run_script: Any) -> None:
    # Where such a thread stands when Python ends it is chance: so a few times.
    for delay in range(8):
        done = run_script(LOADER + f"""
def run():
    loader = make(prefetch_factor=4)
    while True:
        for batch in loader:
            pass

for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.2 + 0.01 * {delay})
""", photo_folder)
        assert done.stdout + done.stderr == ""


def test_ends_with_daemon_threads_that_wait_for_a_hung_disk(hung_file: Path, run_script: Any) -> None:
    done = run_script(LOADER + """
def run():
    next(iter(make()))

for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.5)
""", hung_file)
    assert done.stdout + done.stderr == ""


def test_ends_with_a_daemon_thread_that_waits_for_the_lock(photo_folder: Path, run_script: Any) -> None:
    # sum() holds the lock, first until Python ends and then until the thread that looks at the files has found out.
    done = run_script("""
import atexit, sys, threading

atexit.register(sum, range(20_000_000))  # before ours, so it runs after it
import stoker

class Late:
    def __del__(self, sum=sum, numbers=range(20_000_000)):
        sum(numbers)

late = Late()
folder = sys.argv[1]
paths = [folder + "/ant/00.jpg"] * 200_000
threading.Thread(target=lambda: stoker.FileDataset(paths, range(200_000)), daemon=True).start()
""", photo_folder)
    assert done.stdout + done.stderr == ""


def test_a_thread_that_is_no_daemon_finishes_its_epoch(photo_folder: Path, run_script: Any) -> None:
    done = run_script(LOADER + """
def run():
    loader = make()
    print(sum(len(labels) for _, labels in loader))

threading.Thread(target=run).start()
""", photo_folder)
    assert done.stdout == "60\n"


def test_a_function_at_exit_may_use_a_loader(photo_folder: Path, run_script: Any) -> None:
    done = run_script(LOADER + """
loader = make()
iterator = iter(loader)
next(iterator)
atexit.register(lambda: print(sum(len(labels) for _, labels in iterator)))
""", photo_folder)
    assert (done.stdout, done.stderr) == ("56\n", "")


def test_a_function_that_runs_after_ours_at_exit_is_told_that_the_loader_is_closed(photo_folder: Path,
                                                                                  run_script: Any) -> None:
    done = run_script("""
import atexit

def late():
    try:
        next(iterator)
    except stoker.Error as error:
        print(error, float(images.sum()) == want)

atexit.register(late)
""" + LOADER + """
loader = make()
iterator = iter(loader)
images, labels = next(iterator)
want = float(images.sum())
""", photo_folder)
    assert (done.stdout, done.stderr) == ("the loader is closed: make a new one True\n", "")


def test_importing_and_making_a_loader_starts_no_thread(photo_folder: Path, run_script: Any) -> None:
    done = run_script("""
import os, sys, time
import stoker

def threads():
    return len(os.listdir("/proc/self/task"))

# Not to NumPy, which has threads of its own.
loader = stoker.Loader(sys.argv[1], 4, stoker.eval(16), output="dlpack", num_workers=1)
while threads() > 1:  # those that looked through the folder have ended, but the system may still be clearing up
    time.sleep(0.01)
next(iter(loader))
print(threads() > 1)
""", photo_folder)
    assert done.stdout == "True\n"
