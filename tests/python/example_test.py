"""The training example: the same script reaches the same accuracy with either loader, only shorter here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[2] / "python" / "examples"

EPOCHS = 4
CHANCE = 1 / 5
# Over seeds, four epochs end at 0.55 to 0.85 with either loader; what differs between two runs is the dice.
LEARNT = 0.4
NEAR = 0.35


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """The example as a module, and a folder with its pictures."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        import shapes
        import train

        folder = tmp_path_factory.mktemp("shapes")
        shapes.write_pictures(folder / "train", train.TRAINING, seed=1)
        shapes.write_pictures(folder / "val", train.VALIDATION, seed=2)
        torch.set_num_threads(1)
        yield train, folder
    torch.set_num_threads(threads)
    for name in ("shapes", "train"):
        del sys.modules[name]


def test_both_loaders_train_to_about_the_same_accuracy(example: tuple[Any, Path]) -> None:
    train, folder = example
    stoker, batches = train.train("stoker", folder, seed=0, epochs=EPOCHS)
    torchs, _ = train.train("torch", folder, seed=0, epochs=EPOCHS)
    assert stoker > LEARNT > 1.5 * CHANCE
    assert torchs > LEARNT
    assert abs(stoker - torchs) < NEAR
    assert batches.stalls().samples == EPOCHS * len(batches) * train.BATCH_SIZE
