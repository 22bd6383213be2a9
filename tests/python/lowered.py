"""What lower() makes of transforms of torchvision, in short."""

from __future__ import annotations

from typing import Any

import pytest
from stoker.errors import UnsupportedTransform
from stoker.lowering import lower
from stoker.transforms import Op
from torchvision import transforms as v1  # type: ignore[import-untyped]
from torchvision.transforms import v2  # type: ignore[import-untyped]

both_versions = pytest.mark.parametrize("T", [v1, v2], ids=["v1", "v2"])
"""Runs a test with torchvision.transforms and its v2 as `T`."""


def ops(*transforms: Any) -> tuple[Op, ...]:
    """Of the transforms on a PIL image."""
    return lower(v2.Compose([*transforms, v2.ToImage()])).ops


def tensor_ops(*transforms: Any) -> tuple[Op, ...]:
    """Of the transforms on a uint8 tensor."""
    return lower(v2.Compose([v2.ToImage(), *transforms])).ops


def float_ops(*transforms: Any) -> tuple[Op, ...]:
    """Of the transforms on a float tensor of 0 to 1."""
    return lower(v1.Compose([v1.ToTensor(), *transforms])).ops


def refusal(transform: Any) -> str:
    """The words in which a transform is refused."""
    with pytest.raises(UnsupportedTransform) as caught:
        lower(transform)
    return str(caught.value)
