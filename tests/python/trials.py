"""stoker.tune for the tests: of few and small pictures, with few and short trials."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import stoker
from pictures import picture

EVAL = stoker.eval(16)
BATCH = 2
SAMPLES = 9
NAMES = {"num_workers", "prefetch_factor", "queue_depth", "reader"}
"""Of a setting."""


def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder of SAMPLES pictures."""
    root = tmp_path_factory.mktemp("small")
    (root / "one").mkdir()
    for i in range(SAMPLES):
        picture("RGB", 24, 20 + i, seed=i).save(root / "one" / f"{i}.jpg")
    return root


def tune(loader: Any, step: Any = None, **arguments: Any) -> stoker.Recommendation:
    """As on a machine with one CPU, wherever the tests run: few settings are tried."""
    quick = {"seconds": 0.005, "warm_up": 0.0, "rounds": 1, "most_rounds": 1}
    with patch.dict(os.environ, LOCAL_WORLD_SIZE="100000"):
        return stoker.tune(loader, step, **{**quick, **arguments})


def ids(batches: Any) -> list[int]:
    """Of batches that have them."""
    return [int(i) for batch in batches for i in batch[2]]
