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


def converter(output: str, dtype: str) -> Callable[[Array], Any]:
    """The function that turns an Array into what `output` names: "torch", "numpy", "jax" or "dlpack" (left as it is).

    Raises ImportError where that library is not installed, ValueError for another name, and where NumPy is to take
    images of `dtype` bfloat16, which it does not have.
    """
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
