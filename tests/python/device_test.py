"""Batches on a GPU, as a consumer of DLPack finds them: over the fake driver, in its schedules."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from fake_cuda import MODES, begin, run

# What is there.


@pytest.mark.parametrize("driver", MODES)
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_the_bytes_are_the_host_loaders(photo_folder: Path, tmp_path: Path, layout: str, driver: str) -> None:
    done = run(tmp_path, begin("""
        gpu = Gpu()
        for dtype in ("uint8", "float16", "bfloat16", "float32"):
            transform = stoker.train(16, dtype=dtype, layout=sys.argv[2])
            want = on_host(transform, on_error="mask")
            for normalize_on in ("auto", "host", "device"):
                try:
                    loader = make("cuda:0", transform, normalize_on=normalize_on, on_error="mask")
                except ValueError as error:
                    assert normalize_on == "device"
                    assert dtype == "uint8" or "no kernel" in str(error)
                    continue
                got = [[gpu.read(field) for field in batch] for batch in loader]
                assert got == want, (dtype, normalize_on)
                print(dtype, normalize_on, calls("cuLaunchKernel") > 0)
                del loader
        end(gpu)
        """), photo_folder, layout, driver=driver)
    assert "uint8 auto False\nuint8 host False" in done.stdout
    if "float16 device" not in done.stdout:
        pytest.skip("the kernel was not tested: this build has none, for want of nvcc")
    assert "float16 auto True" in done.stdout


def test_arrays_say_which_device_they_are_on(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        gpus = [Gpu(0), Gpu(1)]
        gpus[1].leave()
        loaders = [make("cuda:0"), make("cuda:1")]
        want = on_host()
        for number, pair in enumerate(zip(*loaders)):
            for gpu, batch in zip(gpus, pair):
                gpu.enter()
                for field, (array, host) in enumerate(zip(batch, want[number])):
                    assert array.__dlpack_device__() == (2, gpu.index)
                    assert gpu.read(array) == host
                gpu.leave()
        del pair, batch, array, loaders
        gpus[1].enter()
        gpus[1].close()
        gpus[0].close()
        end()
        """), photo_folder)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "auto", "GPU-0f1f2f00-"])
def test_a_gpu_has_several_names(photo_folder: Path, tmp_path: Path, name: str) -> None:
    run(tmp_path, begin("""
        loader = make(sys.argv[2])
        images, labels, ids = next(iter(loader))
        assert images.__dlpack_device__() == (2, 0)
        assert loader.stalls().device == "cuda:0" and loader.stalls().pinned
        del images, labels, ids, loader
        end()
        """), photo_folder, name)


def test_auto_is_the_cpu_where_there_is_no_driver(photo_folder: Path, tmp_path: Path) -> None:
    done = run(tmp_path, begin("""
        loader = make("auto")
        print(loader.stalls().device, next(iter(loader))[0].__dlpack_device__())
        """), photo_folder, driver=None)
    assert done.stdout == "cpu (1, 0)\n"


def test_gpu_memory_is_nothing_for_the_buffer_protocol(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        import numpy

        loader = make()
        for array in next(iter(loader)):
            for take in (memoryview, numpy.asarray, numpy.array):
                refused(BufferError, lambda: take(array), "in the memory of cuda:0", "DLPack")
            refused(BufferError, lambda: array.__dlpack__(dl_device=(1, 0)), "another device")
            refused(BufferError, lambda: array.__dlpack__(copy=True))
        del array, loader
        end()
        """), photo_folder)


# Streams. The consumer's are given to __dlpack__.


def test_each_kind_of_stream_waits_as_dlpack_has_it(photo_folder: Path, tmp_path: Path) -> None:
    # While the loader's device slots are all held, nobody else makes streams wait.
    run(tmp_path, begin("""
        gpu = Gpu()
        loader = make(prefetch_factor=1)
        iterator = iter(loader)
        held = [next(iterator)[0], next(iterator)[0]]

        def waits(**how):
            before = calls("cuStreamWaitEvent")
            Taken(held[0], **how)
            return calls("cuStreamWaitEvent") - before

        assert waits() == waits(stream=None) == waits(stream=1) == waits(stream=2) == waits(stream=gpu.stream) == 1
        assert waits(stream=-1) == 0
        for number in (0, -2):
            refused(BufferError, lambda: held[0].__dlpack__(stream=number), f"stream {number}")
        del held, iterator, loader
        end(gpu)
        """), photo_folder)


# A native loader gives a batch to one stream before it is there; another one reads it.
OTHER_STREAM = begin("""
    gpu = Gpu()
    core = make_core(stoker.FolderDataset(FOLDER), stoker.eval(16),
                     {"batch_size": 4, "num_workers": 1, "shuffle": False, "device": "cuda:0"})
    want = [batch[0] for batch in on_host(shuffle=False)]
    other = gpu.make_stream()
    run = core.start_epoch(0, 0)
    read = []
    while (batch := core.next(run, 0.0, gpu.stream)) is not None:
        taken = Taken(batch.images, stream=%s)
        del batch
        read.append(gpu.start_reading(taken, other))
        gpu.finish(other)
        del taken
    same = [memory[:] for memory in read] == want
    """)


@pytest.mark.parametrize("driver", MODES)
def test_another_stream_waits_for_a_batch_that_is_on_its_way(photo_folder: Path, tmp_path: Path, driver: str) -> None:
    run(tmp_path, OTHER_STREAM % "other" + textwrap.dedent("""
        assert same
        core.close()
        end(gpu)
        """), photo_folder, driver=driver)


def test_another_stream_that_does_not_wait_reads_too_early(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, OTHER_STREAM % "-1" + textwrap.dedent("""
        assert not same
        assert "no order" in violations()
        """), photo_folder)


# Memory that is used again.

# The batches go while the consumer's stream has not begun to read them.
DROPPED = begin("""
    gpu = Gpu()
    want = on_host()
    loader = make()
    read = []
    for batch in loader:
        taken = [Taken(field, stream=stream) for field, stream in zip(batch, %s)]
        read.append([gpu.start_reading(field) for field in taken])
    gpu.finish()
    same = [[memory[:] for memory in batch] for batch in read] == want
    del batch, taken, loader
    """)


@pytest.mark.parametrize("driver", MODES)
def test_a_dropped_batch_is_overwritten_once_its_stream_has_read_it(photo_folder: Path, tmp_path: Path,
                                                                    driver: str) -> None:
    run(tmp_path, DROPPED % "[gpu.stream] * 3" + textwrap.dedent("""
        assert same
        end(gpu)
        """), photo_folder, driver=driver)


def test_a_dropped_batch_whose_stream_nobody_knows_is_overwritten(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, DROPPED % "[-1] * 3" + textwrap.dedent("""
        assert not same
        assert "no order" in violations()
        """), photo_folder)


@pytest.mark.parametrize("driver", MODES)
def test_a_dropped_batch_waits_for_each_of_its_streams(photo_folder: Path, tmp_path: Path, driver: str) -> None:
    run(tmp_path, begin("""
        gpu = Gpu()
        streams = [gpu.make_stream() for _ in range(3)]
        want = on_host()
        loader = make()
        read = []
        for images, labels, ids in loader:
            read.append([gpu.start_reading(Taken(images, stream=stream), stream) for stream in streams])
        for stream in streams:
            gpu.finish(stream)
        for copies, batch in zip(read, want):
            assert [memory[:] for memory in copies] == [batch[0]] * 3
        del images, labels, ids, loader
        end(gpu)
        """), photo_folder, driver=driver)


@pytest.mark.parametrize("driver", MODES)
def test_a_kept_batch_stays_as_it_is(photo_folder: Path, tmp_path: Path, driver: str) -> None:
    run(tmp_path, begin("""
        gpu = Gpu()
        want = on_host()
        loader = make()
        iterator = iter(loader)
        kept = next(iterator)
        for batch in iterator:
            pass
        for batch in loader:
            pass
        assert [gpu.read(field) for field in kept] == want[0]
        loader.close()
        assert [gpu.read(field) for field in kept] == want[0]
        del kept, batch, loader, iterator
        end(gpu)
        """), photo_folder, driver=driver)


def test_labels_alone_keep_their_batch(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        gpu = Gpu()
        want = on_host()
        iterator = iter(make())
        labels = next(iterator)[1]
        for batch in iterator:
            pass
        assert gpu.read(labels) == want[0][1]
        del labels, batch, iterator
        end(gpu)
        """), photo_folder)


def test_a_consumer_that_holds_every_batch_is_told(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        iterator = iter(make(prefetch_factor=3))
        held = [next(iterator) for _ in range(4)]
        refused(stoker.Error, lambda: next(iterator), "holds all 4 batches", "prefetch_factor")
        held.pop()
        held.append(next(iterator))
        del held, iterator
        end()
        """), photo_folder)


def test_ten_epochs_take_no_memory(photo_folder: Path, tmp_path: Path) -> None:
    run(tmp_path, begin("""
        def megabytes():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

        # An epoch is 9 MB of float32.
        loader = make(transform=stoker.train(112))
        after = []
        for _ in range(10):
            for batch in loader:
                for field in batch:
                    Taken(field)
            after.append(megabytes())
        assert after[-1] - after[0] < 9, after
        made = calls("cuMemAlloc"), calls("cuMemHostRegister"), calls("cuEventCreate"), calls("cuStreamCreate")
        for batch in loader:
            pass
        assert made == (calls("cuMemAlloc"), calls("cuMemHostRegister"), calls("cuEventCreate"),
                        calls("cuStreamCreate"))
        del batch, field, loader
        end()
        """), photo_folder, driver="mode=modelled,bytes_per_second=1e11,latency_ns=0")
