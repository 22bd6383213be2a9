"""One field of a batch, as other libraries take it."""

from __future__ import annotations

import gc
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
import torch
from torch.utils.dlpack import from_dlpack

DTYPES = {"uint8": torch.uint8, "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


def batch_of(folder: Path, dtype: str = "float32", **options: Any) -> Any:
    transform = stoker.eval(16, dtype=dtype)
    loader = stoker.Loader(folder, 4, transform, output="dlpack", num_workers=1, prefetch_factor=1, return_ids=True,
                           **options)
    return next(iter(loader))


@pytest.fixture
def images(photo_folder: Path) -> stoker.Array:
    array: stoker.Array = batch_of(photo_folder)[0]
    return array


@pytest.mark.parametrize("dtype", DTYPES)
def test_says_what_it_is(photo_folder: Path, dtype: str) -> None:
    images, labels, ids = batch_of(photo_folder, dtype)
    assert (images.shape, images.dtype, len(images)) == ((4, 3, 16, 16), dtype, 4)
    assert images.nbytes == 4 * 3 * 16 * 16 * DTYPES[dtype].itemsize
    assert [(array.shape, array.dtype) for array in (labels, ids)] == [((4,), "int64")] * 2
    assert images.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_takes_it(photo_folder: Path, dtype: str) -> None:
    images, labels, _ = batch_of(photo_folder, dtype)
    tensor = from_dlpack(images)
    assert (tensor.dtype, tuple(tensor.shape)) == (DTYPES[dtype], images.shape)
    assert tensor.is_contiguous()
    assert from_dlpack(labels).dtype == torch.int64


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_numpy_takes_it_and_may_write(photo_folder: Path, dtype: str) -> None:
    images, labels, _ = batch_of(photo_folder, dtype)
    array = np.asarray(images)
    assert (array.dtype, array.shape, array.flags.writeable) == (np.dtype(dtype), images.shape, True)
    array[:] = 1
    assert (from_dlpack(images) == 1).all()
    assert np.asarray(labels).dtype == np.int64
    assert (np.from_dlpack(images) == 1).all()


def test_numpy_is_told_that_it_has_no_bfloat16(photo_folder: Path) -> None:
    images = batch_of(photo_folder, "bfloat16")[0]
    for take in (np.asarray, np.array):
        with pytest.raises(BufferError, match="bfloat16 has no place in Python's buffer protocol.*float16"):
            take(images)
    with pytest.raises(ValueError, match='"numpy" has no bfloat16'):
        stoker.Loader(photo_folder, 4, stoker.eval(16, dtype="bfloat16"), output="numpy")


def test_channels_last_is_contiguous_in_its_own_order(photo_folder: Path) -> None:
    loader = stoker.Loader(photo_folder, 4, stoker.eval(16, layout="nhwc"), num_workers=1)
    tensor = next(iter(loader))[0]
    assert tuple(tensor.shape) == (4, 16, 16, 3)
    assert tensor.is_contiguous()


def test_its_takers_share_its_memory(images: stoker.Array) -> None:
    first, second, third = from_dlpack(images), from_dlpack(images), torch.from_numpy(np.asarray(images))
    first.zero_()
    assert not second.any()
    assert not third.any()
    assert first.data_ptr() == second.data_ptr() == third.data_ptr()


def test_a_capsule_that_nobody_takes_gives_the_slot_back(photo_folder: Path) -> None:
    loader = stoker.Loader(photo_folder, 4, stoker.eval(16), output="dlpack", num_workers=1, prefetch_factor=1)
    assert sum(1 for images, _ in loader if images.__dlpack__()) == len(loader)


def test_a_capsule_is_taken_once(images: stoker.Array) -> None:
    capsule = images.__dlpack__()
    want = float(np.asarray(images).sum())
    tensor = from_dlpack(capsule)
    with pytest.raises(RuntimeError):
        from_dlpack(capsule)
    del capsule
    assert float(tensor.sum()) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("take", [from_dlpack, np.asarray, memoryview, lambda array: array.__dlpack__()])
def test_who_took_it_keeps_it_when_loader_and_array_are_gone(photo_folder: Path, take: Any) -> None:
    images, labels, ids = batch_of(photo_folder, shuffle=False)
    again = batch_of(photo_folder, shuffle=False)[0]
    kept = take(images)
    del images, labels, ids
    gc.collect()
    tensor = from_dlpack(kept) if type(kept).__name__ == "PyCapsule" else torch.from_numpy(np.asarray(kept))
    assert torch.equal(tensor, from_dlpack(again))


def test_dropping_what_was_taken_frees_once(images: stoker.Array) -> None:
    before = sys.getrefcount(images)
    for _ in range(1000):
        capsule = images.__dlpack__()
        from_dlpack(capsule)
    assert sys.getrefcount(images) == before
    assert from_dlpack(images).isfinite().all()


def test_it_refuses_to_copy_and_to_move(images: stoker.Array) -> None:
    with pytest.raises(BufferError, match="does not copy"):
        images.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="on another device"):
        images.__dlpack__(dl_device=(2, 0))
    assert images.__dlpack__(dl_device=(1, 0), copy=False, stream=None, max_version=(1, 0))


def test_it_does_not_pickle(images: stoker.Array) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(images)


@pytest.mark.parametrize(("output", "package"), [("jax", "jax"), ("torch", "torch"), ("numpy", "numpy")])
def test_an_output_whose_library_is_missing_says_what_to_install(photo_folder: Path, output: str, package: str,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax.dlpack" if output == "jax" else package, None)
    with pytest.raises(ImportError, match=f'output="{output}" needs {package}.*pip install {package}'):
        stoker.Loader(photo_folder, 4, stoker.eval(16), output=output)
