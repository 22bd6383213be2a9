"""A batch's arrays as other libraries have them, without a copy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from stoker._core import Array

__all__ = ["converter"]

# By output: the module whose function takes an Array, the function, and what pip calls the module.
_TAKERS = {
    "torch": ("torch", "from_dlpack", "torch"),
    "numpy": ("numpy", "asarray", "numpy"),
    "jax": ("jax.dlpack", "from_dlpack", "jax"),
}


def converter(output: str, dtype: str, device: str, borrow: bool) -> tuple[Callable[[Array], Any], Callable[[], int]]:
    """The function that turns an Array on `device` into what `output` names: "torch", "numpy", "jax" or "dlpack" (left
    as it is). And one that says on which of the device's streams it will be used; 0 where only the taker knows.

    Raises ImportError where that library is not installed, ValueError for another name, and where NumPy is to take
    images of `dtype` bfloat16, which it does not have.
    """
    take = _taker(output, dtype)
    if output != "torch" or not device.startswith("cuda"):
        return take, lambda: 0
    from stoker.cuda import stream_of, torch_device

    place = torch_device(device)
    assert place is not None
    # A copy within the device is torch's own memory, on the caller's stream, to be kept and freed as any other.
    return (take if borrow else lambda array: take(array).clone()), lambda: stream_of(place)


def _taker(output: str, dtype: str) -> Callable[[Array], Any]:
    if output == "dlpack":
        return lambda array: array
    if output not in _TAKERS:
        raise ValueError(f'output: "{output}" (allowed: "torch", "numpy", "jax", "dlpack")')
    if output == "numpy" and dtype == "bfloat16":
        raise ValueError('output: "numpy" has no bfloat16; take dtype="float16" or "float32", or another output')
    module, function, package = _TAKERS[output]
    try:
        taker: Callable[[Array], Any] = getattr(importlib.import_module(module), function)
    except ImportError as error:
        raise ImportError(f'output="{output}" needs {package}, which cannot be imported ({error}): '
                          f"pip install {package}") from error
    return taker
