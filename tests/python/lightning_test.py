"""The callback within Lightning's trainers, under both names that Lightning has."""

from __future__ import annotations

import csv
import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from photographs import SAMPLES, make_folder
from stoker.torch import DataLoader
from torch.nn.functional import cross_entropy
from torchvision import transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

NAMES = ["lightning.pytorch", "pytorch_lightning"]
BATCHES = -(-SAMPLES // 4)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = make_folder(tmp_path_factory.mktemp("lightning"))
    return ImageFolder(folder, transforms.Compose([transforms.RandomResizedCrop(8), transforms.ToTensor()]))


@pytest.fixture(params=NAMES)
def lightning(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lightning as a program knows it that uses one of its names: the trainer's, and the callback made for it."""
    found: Any = pytest.importorskip(request.param)
    warnings.filterwarnings("ignore", module=r"lightning|pytorch_lightning|torch")
    with monkeypatch.context() as patch:
        for name in NAMES:
            if name != request.param:
                patch.delitem(sys.modules, name, raising=False)
        patch.delitem(sys.modules, "stoker.lightning", raising=False)
        found.StallCallback = importlib.import_module("stoker.lightning").StallCallback
    yield found
    del found.StallCallback


def _fit(lightning: Any, folder: Path, loaders: Any, callback: Any, **arguments: Any) -> list[dict[str, str]]:
    """Trains, and gives the lines that its logger wrote that have the callback's figures."""
    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 3))

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            images, labels = batch["a"] if isinstance(batch, dict) else batch
            return cross_entropy(self.model(images), labels)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    logger = lightning.loggers.CSVLogger(folder, name="", version="")
    trainer = lightning.Trainer(accelerator="cpu", logger=logger, callbacks=[callback], enable_progress_bar=False,
                                enable_model_summary=False, enable_checkpointing=False, default_root_dir=folder,
                                **arguments)
    trainer.fit(Module(), loaders)
    logger.save()
    if not (folder / "metrics.csv").exists():
        return []
    with (folder / "metrics.csv").open() as lines:
        return [line for line in csv.DictReader(lines) if line.get("loader/stall_share")]


def test_logs_every_so_many_steps_and_at_the_end(lightning: Any, dataset: Any, tmp_path: Path) -> None:
    callback = lightning.StallCallback(every_n_steps=3)
    assert isinstance(callback, lightning.Callback)
    lines = _fit(lightning, tmp_path, DataLoader(dataset, batch_size=4), callback, max_epochs=2)
    assert [int(line["step"]) for line in lines] == [3, 6, 9, 12, 14]
    assert 0 <= float(lines[-1]["loader/stall_share"]) <= 1
    assert float(lines[-1]["loader/images_per_second"]) > 0
    shares = [float(value) for name, value in lines[-1].items() if name.startswith("loader/shares/")]
    assert len(shares) == 6 and sum(shares) == pytest.approx(1, abs=0.005)


def test_finds_its_loader_among_others(lightning: Any, dataset: Any, tmp_path: Path) -> None:
    ours, theirs = DataLoader(dataset, batch_size=4), torch.utils.data.DataLoader(dataset, batch_size=4)
    combined = lightning.utilities.CombinedLoader({"b": theirs, "a": ours}, "min_size")
    lines = _fit(lightning, tmp_path, combined, lightning.StallCallback(every_n_steps=5), max_epochs=1)
    assert [int(line["step"]) for line in lines] == [5, BATCHES]


def test_counts_optimizer_steps(lightning: Any, dataset: Any, tmp_path: Path) -> None:
    lines = _fit(lightning, tmp_path, DataLoader(dataset, batch_size=4), lightning.StallCallback(every_n_steps=1),
                 max_epochs=1, accumulate_grad_batches=2)
    assert [int(line["step"]) for line in lines] == [1, 2, 3, 4]


def test_says_where_there_is_no_loader(lightning: Any, dataset: Any, tmp_path: Path) -> None:
    theirs = torch.utils.data.DataLoader(dataset, batch_size=4)
    callback = lightning.StallCallback(every_n_steps=1)
    with pytest.warns(UserWarning, match=r"no loader of Stoker's in the trainer's DataLoader; give it as"):
        assert not _fit(lightning, tmp_path, theirs, callback, max_epochs=1)


def test_takes_a_loader_that_it_cannot_find(lightning: Any, dataset: Any, tmp_path: Path) -> None:
    class Hidden:
        def __init__(self) -> None:
            self.out_of_sight = DataLoader(dataset, batch_size=4)

        def __iter__(self) -> Any:
            return iter(self.out_of_sight)

    hidden = Hidden()
    callback = lightning.StallCallback(hidden.out_of_sight, every_n_steps=100)
    assert [int(line["step"]) for line in _fit(lightning, tmp_path, hidden, callback, max_epochs=1)] == [BATCHES]
    with pytest.raises(ValueError, match="every_n_steps: 0"):
        lightning.StallCallback(every_n_steps=0)
