"""The callback within Hugging Face's Trainer."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from photographs import SAMPLES, make_folder
from stoker.torch import DataLoader
from torch import nn
from torch.nn.functional import cross_entropy
from torchvision import transforms as T  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

transformers: Any = pytest.importorskip("transformers")
STEPS = 2 * -(-SAMPLES // 4)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = make_folder(tmp_path_factory.mktemp("transformers"))
    return ImageFolder(folder, T.Compose([T.RandomResizedCrop(8), T.ToTensor()]))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 3))

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": cross_entropy(self.layers(pixel_values), labels)}


class Named:
    """The batches by the names of the model's arguments, as Trainer wants them."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Any:
        for images, labels in self.loader:
            yield {"pixel_values": images, "labels": labels}


def _trainer(folder: Path, loader: Any, **arguments: Any) -> Any:
    class Trainer(transformers.Trainer):  # type: ignore[misc]
        def get_train_dataloader(self) -> Any:
            return loader

    warnings.filterwarnings("ignore", module=r"transformers|torch|accelerate")
    training = transformers.TrainingArguments(
        str(folder), num_train_epochs=2, logging_steps=5, save_strategy="no", use_cpu=True, disable_tqdm=True,
        report_to=arguments.pop("report_to", "none"))
    return Trainer(Model(), training, **arguments)


def _reported(trainer: Any) -> list[int]:
    return [entry["step"] for entry in trainer.state.log_history if "loader/stall_share" in entry]


def test_adds_to_the_history(dataset: Any, tmp_path: Path) -> None:
    from stoker.transformers import StallCallback

    trainer = _trainer(tmp_path, Named(DataLoader(dataset, batch_size=4)), callbacks=[StallCallback()])
    trainer.train()
    assert _reported(trainer) == [5, 10, STEPS]
    last = trainer.state.log_history[-1]
    shares = [share for name, share in last.items() if name.startswith("loader/shares/")]
    assert sum(shares) == pytest.approx(1, abs=0.005)
    assert last["loader/images_per_second"] > 0 and "train_loss" in last


def test_comes_before_the_reporters(dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    reading: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from stoker.transformers import StallCallback

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    trainer = _trainer(tmp_path, Named(DataLoader(dataset, batch_size=4)), report_to="tensorboard")
    StallCallback().add_to(trainer)
    trainer.train()
    events = reading.EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    (tag,) = (tag for tag in events.Tags()["scalars"] if tag.endswith("loader/stall_share"))
    assert [scalar.step for scalar in events.Scalars(tag)] == _reported(trainer) == [5, 10, STEPS]


def test_finds_its_loader_within_accelerates_wrapper(dataset: Any, tmp_path: Path) -> None:
    accelerate: Any = pytest.importorskip("accelerate")
    from stoker.transformers import StallCallback

    class Batches(torch.utils.data.IterableDataset[Any]):
        def __init__(self, loader: Any) -> None:
            self.loader = loader

        def __iter__(self) -> Any:
            return iter(self.loader)

    loader = DataLoader(dataset, batch_size=4)
    wrapped = accelerate.Accelerator(cpu=True).prepare(torch.utils.data.DataLoader(Batches(loader), batch_size=None))
    assert type(wrapped).__module__.startswith("accelerate")
    callback = StallCallback()
    callback.on_train_begin(None, None, None, train_dataloader=wrapped)
    assert sum(len(images) for images, _ in wrapped) == SAMPLES
    logs: dict[str, float] = {}
    callback.on_log(None, transformers.TrainerState(), None, logs=logs)
    assert logs["loader/images_per_second"] > 0


def test_says_where_there_is_no_loader(dataset: Any, tmp_path: Path) -> None:
    from stoker.transformers import StallCallback

    theirs = torch.utils.data.DataLoader(dataset, batch_size=4)
    trainer = _trainer(tmp_path, Named(theirs), callbacks=[StallCallback()])
    with pytest.warns(UserWarning, match=r"no loader of Stoker's in the trainer's Named; give it as stoker"):
        trainer.train()
    assert trainer.state.global_step == STEPS and not _reported(trainer)


def test_takes_a_loader_that_it_cannot_find(dataset: Any, tmp_path: Path) -> None:
    from stoker.transformers import StallCallback

    loader = DataLoader(dataset, batch_size=4)
    named = Named(loader)

    class Hidden:
        def __len__(self) -> int:
            return len(named)

        def __iter__(self) -> Any:
            return iter(named)

    trainer = _trainer(tmp_path, Hidden(), callbacks=[StallCallback(loader)])
    trainer.train()
    assert _reported(trainer) == [5, 10, STEPS]
