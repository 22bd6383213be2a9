"""stoker.torch.Prefetcher in processes of its own: over the fake driver, at the interpreter's end, after fork()."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from fake_cuda import MODES, run

BEGIN = textwrap.dedent("""
    import os, sys, threading, time, warnings
    import torch
    from fake_cuda import *
    from stoker.torch import Prefetcher
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of fork() with threads

    class OnGpu(Prefetcher):
        '''Without torch's own driver: reads batches back.'''

        def _open(self, device):
            return device, lambda: gpu.stream

        def _bytes_of(self, array):
            return torch.frombuffer(bytearray(gpu.read(array)), dtype=torch.uint8)

    def loader(workers=2):
        return DataLoader(TensorDataset(torch.arange(4000)), 4, num_workers=workers)

    def hung():
        yield torch.zeros(3)
        threading.Event().wait()

    """)


def begin(body: str) -> str:
    return BEGIN + textwrap.dedent(body)


@pytest.mark.parametrize("driver", MODES)
def test_batches_come_whole_by_a_gpu(tmp_path: Path, driver: str) -> None:
    run(tmp_path, begin("""
        gpu = Gpu()
        want = [(torch.randn(3, 4), {"more": torch.arange(i * 90 % 1000)}) for i in range(40)]
        prefetcher = OnGpu(want, "cuda:0")
        for _ in range(2):
            for (one, rest), (image, more) in zip(prefetcher, want, strict=True):
                assert torch.equal(one, image) and torch.equal(rest["more"], more["more"])
        for _ in prefetcher:
            break
        assert prefetcher.stalls().device == "cuda:0" and prefetcher.stalls().pinned
        del prefetcher
        while any(thread.name == "stoker-prefetcher" for thread in threading.enumerate()):
            time.sleep(0.001)
        end(gpu)
        """), driver=driver)


def test_the_verdict_names_a_slow_link(tmp_path: Path) -> None:
    # A batch takes 20 ms; nobody reads it back.
    run(tmp_path, begin("""
        gpu = Gpu()
        OnGpu._bytes_of = lambda _, array: torch.zeros(array.nbytes, dtype=torch.uint8)
        prefetcher = OnGpu([torch.zeros(4096, dtype=torch.uint8) for _ in range(10)], "cuda:0")
        for _ in prefetcher:
            pass
        assert "copy-bound" in prefetcher.stalls().verdict, prefetcher.stalls()
        """), driver="mode=modelled,bytes_per_second=2e5,latency_ns=0")


# The core alone: what comes is dropped while the consumer's stream has not begun to read it.
DROPPED = begin("""
    from stoker._core import ForeignBatches

    gpu = Gpu()
    core = ForeignBatches("cuda:0", 2)
    want = [bytes([i]) * 5000 for i in range(20)]

    def feed():
        for one in want:
            host = torch.frombuffer(bytearray(one), dtype=torch.uint8)
            core.put([(0, host.data_ptr(), 5000)], 5000)
        core.end()

    core.begin()
    thread = threading.Thread(target=feed)
    thread.start()
    read = []
    while (batch := core.next(%s)) is not None:
        taken = Taken(batch.images, stream=%s)
        del batch
        read.append(gpu.start_reading(taken))
        del taken
    gpu.finish()
    thread.join()
    same = [memory[:5000] for memory in read] == want
    core.close()
    """)


@pytest.mark.parametrize("driver", MODES)
def test_a_dropped_batch_is_overwritten_once_its_stream_has_read_it(tmp_path: Path, driver: str) -> None:
    run(tmp_path, DROPPED % ("gpu.stream", "-1") + "assert same\nend(gpu)\n", driver=driver)


def test_a_dropped_batch_whose_stream_nobody_knows_is_overwritten(tmp_path: Path) -> None:
    run(tmp_path, DROPPED % ("0", "-1") + "assert not same\nassert 'no order' in violations()\n")


FAILURES = {
    "no room": ("memory_bytes=30000", "10000", "start", "bytes, of which"),
    "a copy fails": ("mode=eager,fail_copy_at=1", "10", "copy", "device failed"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_device_that_fails_is_an_error_at_next(tmp_path: Path, case: str) -> None:
    driver, size, stage, words = FAILURES[case]
    run(tmp_path, begin(f"""
        import stoker

        gpu = Gpu()
        prefetcher = OnGpu([torch.zeros(size) for size in (10, {size}, 10)], "cuda:0")
        iterator = iter(prefetcher)
        while True:
            try:
                next(iterator)
            except stoker.Error as error:
                assert error.stage == {stage!r} and {words!r} in str(error), error
                break
            except RuntimeError as lost:  # the driver's, in the test's own read of a batch that came before
                assert "CUDA error" in str(lost)
        print(prefetcher.stalls())
        """), driver=driver)


ENDINGS = {
    "in mid-epoch": ("iterator = iter(Prefetcher(loader(), 'sim')); batch = next(iterator)", 0),
    "with an idle prefetcher": ("prefetcher = Prefetcher(loader(), 'sim'); list(prefetcher)", 0),
    "before its first epoch": ("prefetcher = Prefetcher(loader(), 'sim')", 0),
    "without workers": ("iterator = iter(Prefetcher(loader(0), 'sim')); batch = next(iterator)", 0),
    "while the loader hangs": ("iterator = iter(Prefetcher(hung(), 'sim')); batch = next(iterator)", 0),
    "in the loop": ("for batch in Prefetcher(loader(), 'sim'): sys.exit(3)", 3),
    "in a cycle": ("one = Prefetcher(loader(), 'sim'); one.me = one; one.it = iter(one); next(one.it); del one", 0),
    "with batches on a gpu": ("gpu = Gpu(); iterator = iter(OnGpu(loader(0), 'cuda:0')); batch = next(iterator)", 0),
    "while a daemon thread iterates": (
        "def go():\n    for _ in Prefetcher(loader(0), 'sim'): pass\n"
        "threading.Thread(target=go, daemon=True).start(); next(iter(Prefetcher(loader(0), 'sim')))", 0),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends(tmp_path: Path, ending: str) -> None:
    source, code = ENDINGS[ending]
    done = run(tmp_path, BEGIN + source, code=code)
    assert done.stdout + done.stderr == ""


def test_ctrl_c_is_heard_while_the_loader_hangs(tmp_path: Path) -> None:
    done = run(tmp_path, begin("""
        iterator = iter(Prefetcher(hung(), "sim"))
        next(iterator)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), 2)).start()
        try:
            next(iterator)
        except KeyboardInterrupt:
            print("interrupted")
        """))
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_a_child_of_fork_is_told(tmp_path: Path) -> None:
    run(tmp_path, begin("""
        import stoker

        prefetcher = Prefetcher(loader(0), "sim")
        iterator = iter(prefetcher)
        next(iterator)
        child = os.fork()
        if child == 0:
            for call in (lambda: next(iterator), prefetcher.stalls):
                try:
                    call()
                except stoker.Error as error:
                    assert "spawn" in str(error)
                else:
                    os._exit(2)
            del iterator, prefetcher
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
        assert sum(1 for _ in iterator) == 999
        """))


def test_epochs_take_no_memory(tmp_path: Path) -> None:
    run(tmp_path, begin("""
        def megabytes():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

        # An epoch is 40 MB.
        prefetcher = Prefetcher([torch.zeros(250_000) for _ in range(40)], "sim")
        after = []
        for epoch in range(10):
            for batch in prefetcher:
                if epoch % 2 and batch is not None:
                    break
            after.append(megabytes())
        assert after[-1] - after[2] < 10, after
        """))
