"""Programs that take batches on a GPU by DLPack and the CUDA driver alone, over the fake driver of tests/fake_cuda.

torch brings a driver's worth of its own and cannot run on the fake one. A process has one driver, so that each of these
programs is a process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from stoker import _core

__all__ = ["Gpu", "Taken", "calls", "end", "violations"]

MODES = ["mode=lazy", "mode=eager", "mode=random,seed=1"]
"""The fake driver's schedules; each is one that a driver may choose."""

_DRIVER = "libcuda.so.1"
_FOLDER = Path(_core.__file__).parents[2] / "fake_cuda"
_API_LEVEL = 12000
_LEGACY_STREAM_FUNCTIONS = 1
_NON_BLOCKING = 1
_PORTABLE = 1
_CPU, _CUDA = 1, 2  # DLPack's numbers


# For tests.


def run(folder: Path, source: str, *arguments: object, driver: str | None = "mode=lazy",
        code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs Python source as a process of its own in `folder`, with `arguments` in sys.argv, on the fake driver with
    these options; None: without it. It must end within a minute, with `code` and without a rule of the driver's broken.
    """
    import pytest

    if driver is not None and not (_FOLDER / _DRIVER).exists():
        pytest.skip(f"{_FOLDER / _DRIVER} is not built: build the target fake_cuda")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LD_LIBRARY_PATH": "",
                   "CUDA_VISIBLE_DEVICES": ""}
    if driver is not None:
        environment |= {"LD_LIBRARY_PATH": str(_FOLDER), "STOKER_FAKE_CUDA": driver}
    script = folder / "script.py"
    script.write_text(textwrap.dedent(source))
    done = subprocess.run([sys.executable, str(script), *map(str, arguments)], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


_BEGIN = textwrap.dedent("""
    import gc, os, sys, threading
    import stoker
    from fake_cuda import *
    from stoker.cores import make_core

    FOLDER = sys.argv[1]

    def make(device="cuda:0", transform=stoker.eval(16), **more):
        more = {"num_workers": 1, "output": "dlpack", "return_ids": True, **more}
        return stoker.Loader(FOLDER, 4, transform, device=device, **more)

    def on_host(*arguments, **more):
        return [[Taken(field).bytes_in_host() for field in batch] for batch in make("cpu", *arguments, **more)]

    def refused(error, call, *words):
        try:
            call()
        except error as raised:
            assert all(word in f"{raised} {raised.__cause__}" for word in words), raised
            return
        raise AssertionError("not refused")

""")


def begin(body: str) -> str:
    """A program for :func:`run` with loaders of the folder that is its first argument, on a device and on the host."""
    return _BEGIN + textwrap.dedent(body)


# For those programs.


class _Tensor(ctypes.Structure):
    """DLTensor, flattened."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class Taken:
    """What a library makes of an Array: its memory, given back when this goes. `how` is for ``__dlpack__``."""

    _USED = b"used_dltensor"  # a capsule keeps the pointer

    def __init__(self, array: Any, **how: Any) -> None:
        capsule = ctypes.py_object(array.__dlpack__(**how))
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        self._managed = ctypes.cast(api.PyCapsule_GetPointer(capsule, b"dltensor"), ctypes.POINTER(_Managed))
        api.PyCapsule_SetName(capsule, self._USED)
        tensor = self._managed.contents.tensor
        self.place = (tensor.device_type, tensor.device_id)
        self.address: int = tensor.data
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        self.nbytes = tensor.bits // 8
        for side in self.shape:
            self.nbytes *= side

    def __del__(self) -> None:
        if hasattr(self, "_managed"):
            self._managed.contents.deleter(ctypes.cast(self._managed, ctypes.c_void_p))

    def bytes_in_host(self) -> bytes:
        assert self.place == (_CPU, 0), self.place
        return ctypes.string_at(self.address, self.nbytes)


class Gpu:
    """A device with its context, current for the thread that makes this, and a stream. Close it last."""

    def __init__(self, index: int = 0) -> None:
        self.index = index
        self._context = ctypes.c_void_p()
        _call("cuInit", ctypes.c_uint(0))
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), ctypes.c_int(index))
        self.enter()
        self._streams: list[int] = []
        self._pinned: list[mmap.mmap] = []
        self.stream = self.make_stream()

    def enter(self) -> None:
        _call("cuCtxPushCurrent", self._context)

    def leave(self) -> None:
        _call("cuCtxPopCurrent", ctypes.byref(ctypes.c_void_p()))

    def make_stream(self) -> int:
        stream = ctypes.c_void_p()
        _call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(_NON_BLOCKING))
        assert stream.value is not None
        self._streams.append(stream.value)
        return stream.value

    def pinned(self, size: int) -> mmap.mmap:
        """Host memory that copies need not wait for."""
        memory = mmap.mmap(-1, size)
        _call("cuMemHostRegister", _address(memory), ctypes.c_size_t(size), ctypes.c_uint(_PORTABLE))
        self._pinned.append(memory)
        return memory

    def start_reading(self, taken: Taken, stream: int | None = None) -> mmap.mmap:
        """Where the bytes will be once the stream has come to it."""
        assert taken.place == (_CUDA, self.index), taken.place
        return self._start_reading(taken.address, taken.nbytes, stream or self.stream)

    def read_memory(self, address: int, size: int) -> bytes:
        memory = self._start_reading(address, size, self.stream)
        self.finish()
        return memory[:]

    def _start_reading(self, address: int, size: int, stream: int) -> mmap.mmap:
        memory = self.pinned(size)
        _call("cuMemcpyDtoHAsync", _address(memory), ctypes.c_uint64(address), ctypes.c_size_t(size),
              ctypes.c_void_p(stream))
        return memory

    def start_upload(self, address: int, size: int, memory: int) -> None:
        """From host memory to the device's `memory`."""
        _call("cuMemcpyHtoDAsync", ctypes.c_uint64(memory), ctypes.c_void_p(address), ctypes.c_size_t(size),
              ctypes.c_void_p(self.stream))

    def allocate(self, size: int) -> int:
        memory = ctypes.c_uint64()
        _call("cuMemAlloc", ctypes.byref(memory), ctypes.c_size_t(size))
        return memory.value

    def free(self, memory: int) -> None:
        _call("cuMemFree", ctypes.c_uint64(memory))

    def finish(self, stream: int | None = None) -> None:
        """Waits for what the stream was given."""
        _call("cuStreamSynchronize", ctypes.c_void_p(stream or self.stream))

    def read(self, array: Any) -> bytes:
        """The bytes of an Array, by a stream of this consumer."""
        memory = self.start_reading(Taken(array, stream=self.stream))
        self.finish()
        return memory[:]

    def close(self) -> None:
        for stream in self._streams:
            self.finish(stream)
        for memory in self._pinned:
            _call("cuMemHostUnregister", _address(memory))
        for stream in self._streams:
            _call("cuStreamDestroy", ctypes.c_void_p(stream))
        self.leave()
        _call("cuDevicePrimaryCtxRelease", ctypes.c_int(self.index))


def calls(entry: str) -> int:
    """How often an entry point of the fake driver was called."""
    count = _library().fakeCudaCalls
    count.restype = ctypes.c_uint64
    return int(count(entry.encode()))


def violations() -> str:
    """The driver's rules that were broken since this was last asked."""
    words = _library().fakeCudaViolations
    words.restype = ctypes.c_char_p
    return bytes(words()).decode()


def end(*gpus: Gpu) -> None:
    """The last call of a program that has let go of everything: nothing is left on any device, no rule was broken."""
    for gpu in gpus:
        gpu.close()
    for index in range(2):
        assert _library().fakeCudaRetains(index) == 0, f"device {index} is still held"
    assert violations() == ""


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(_DRIVER)


def _call(name: str, *arguments: Any) -> None:
    """Calls the driver, as its look-up gives the functions for an API level."""
    function, status = ctypes.c_void_p(), ctypes.c_int()
    _library().cuGetProcAddress_v2(name.encode(), ctypes.byref(function), _API_LEVEL,
                                   ctypes.c_uint64(_LEGACY_STREAM_FUNCTIONS), ctypes.byref(status))
    assert function.value is not None, name
    result = ctypes.CFUNCTYPE(ctypes.c_int)(function.value)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: CUDA error {result}")


def _address(memory: mmap.mmap) -> ctypes.c_void_p:
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
