"""Loaders that give batches on a GPU: refused, failing, ending, forked."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fake_cuda import MODES, begin, run

# What goes wrong.

REFUSALS: dict[str, tuple[str | None, str, list[str]]] = {
    "no driver": (None, "cuda:0", ["cuda:0", "no CUDA driver", "install the NVIDIA driver"]),
    "no device": ("devices=0", "cuda", ["CUDA_ERROR_NO_DEVICE", "nvidia-smi", "CUDA_VISIBLE_DEVICES"]),
    "not that device": ("devices=2", "cuda:2", ["cuda:2", "there are cuda:0 (Fake GPU 0", "cuda:1"]),
    "old driver": ("version=11040", "cuda:0", ["11.4 is too old", "525"]),
    "no memory": ("memory_bytes=20000", "cuda:0", ["bytes", "free", "batch_size or prefetch_factor"]),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_device_that_is_not_to_be_had_is_named_with_the_remedy(photo_folder: Path, tmp_path: Path,
                                                                case: str) -> None:
    driver, name, words = REFUSALS[case]
    run(tmp_path, begin(f"""
        try:
            make({name!r})
        except stoker.Error as error:
            assert all(word in str(error) for word in {words!r}), error
            assert error.stage == "start", error.stage
        else:
            raise AssertionError("not refused")
        """) + ("end()\n" if case == "no memory" else ""), photo_folder, driver=driver)


def test_a_copy_that_fails_is_an_error_at_next_and_ever_after(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        loader = make()
        iterator = iter(loader)
        came = 0
        try:
            for batch in iterator:
                came += 1
        except stoker.Error as error:
            assert error.stage == "copy" and "copying a batch to the device failed" in str(error), error
        assert came <= 2, came
        refused(stoker.Error, lambda: next(iterator), "device failed")
        batch = None
        loader.close()
        """), photo_folder, driver="mode=eager,fail_copy_at=2")


# Endings.

ENDINGS = {
    "batches are held": ("loader = make(); iterator = iter(loader); batches = [next(iterator), next(iterator)]", 0),
    "a batch is in a cycle": ("loader = make(); loader.me = loader; loader.batch = next(iter(loader)); del loader", 0),
    "a class keeps a batch": ("class Keeper: pass\nKeeper.batch = next(iter(make()))", 0),
    "a capsule was not taken": ("capsule = next(iter(make()))[0].__dlpack__()", 0),
    "a consumer holds memory": ("taken = Taken(next(iter(make()))[0])", 0),
    "the loop is left": ("for batch in make(): sys.exit(3)", 3),
    "a daemon thread iterates": ("def go():\n    for batch in make(): pass\n"
                                 "threading.Thread(target=go, daemon=True).start(); next(iter(make()))", 0),
}


@pytest.mark.parametrize("driver", MODES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_while(photo_folder: Path, tmp_path: Path, ending: str, driver: str) -> None:
    source, code = ENDINGS[ending]
    done = run(tmp_path, begin(source), photo_folder, driver=driver, code=code)
    assert done.stdout + done.stderr == ""


def test_close_leaves_batches_valid_and_the_last_one_ends_all(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        loader = make()
        iterator = iter(loader)
        batch = next(iterator)
        taken = Taken(batch[0])
        loader.close()
        refused(stoker.Error, lambda: next(iterator), "closed")
        del batch, iterator, loader
        del taken
        end()
        """), photo_folder)


def test_a_cycle_of_loader_and_batch_is_collected(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        loader = make()
        loader.batch = next(iter(loader))
        loader.me = loader
        del loader
        gc.collect()
        end()
        """), photo_folder)


def test_a_batch_may_be_dropped_by_a_thread_that_knows_no_device(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        loader = make(prefetch_factor=1)
        batches = []
        for batch in loader:
            batches.append(batch)
            del batch
            dropper = threading.Thread(target=batches.clear)
            dropper.start()
            dropper.join()
        del loader
        end()
        """), photo_folder)


@pytest.mark.parametrize("caught", [True, False])
def test_ctrl_c_while_a_batch_is_on_the_gpu(photo_folder: Path, hung_file: Path, tmp_path: Path, caught: bool) -> None:
    # The first batch is there; the second one's read hangs.
    done = run(tmp_path, begin("""
        files = stoker.FileDataset([FOLDER + "/ant/00.jpg", sys.argv[2]], [0, 0])
        loader = stoker.Loader(files, 1, stoker.eval(16), device="cuda:0", output="dlpack", num_workers=1,
                               shuffle=False, read_deadline=1000)
        iterator = iter(loader)
        batch = next(iterator)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), 2)).start()
        try:
            next(iterator)
        except KeyboardInterrupt:
            if sys.argv[3] == "False":
                raise
        del batch, iterator, loader
        end()
        """), photo_folder, hung_file, caught, code=0 if caught else -signal.SIGINT)
    assert done.stderr.count("Traceback") == (0 if caught else 1)


def test_a_child_of_fork_is_told(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of fork() with threads

        loader, unused = make(), make()
        iterator = iter(loader)
        batch = next(iterator)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            refused(stoker.Error, lambda: next(iterator), "spawn")
            refused(stoker.Error, lambda: iter(loader), "spawn")
            refused(stoker.Error, lambda: iter(unused), "spawn")
            refused(BufferError, lambda: batch[0].__dlpack__(), "spawn")
            del batch, iterator, loader, unused
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
        assert sum(1 for _ in iterator) == len(loader) - 1
        del batch, iterator, loader, unused
        end()
        """), photo_folder)
