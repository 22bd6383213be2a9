"""Inside accelerate, lightning and torch.compile, as their users write it. Each is optional."""

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
from torch.utils.data import DataLoader as TorchLoader
from torchvision import transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

TRAIN = transforms.Compose([transforms.RandomResizedCrop(8), transforms.ToTensor()])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ImageFolder(make_folder(tmp_path_factory.mktemp("frameworks")), TRAIN)


def _model() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 3))


def test_accelerate_trains(dataset: Any, tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    loader: Any = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)
    model: Any = _model()
    before = [parameter.clone() for parameter in model.parameters()]
    model, optimizer, prepared = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), loader)
    assert prepared is loader  # not taken apart: Stoker loads
    accelerator.register_for_checkpointing(loader)
    seen = 0
    for step, (images, labels) in enumerate(prepared):
        with accelerator.accumulate(model):
            loss = cross_entropy(model(images.to(accelerator.device)), labels.to(accelerator.device))
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        seen += len(images)
        if step == 2:
            accelerator.save_state(str(tmp_path / "state"))
    assert seen == SAMPLES
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    accelerator.load_state(str(tmp_path / "state"))
    assert sum(len(images) for images, _ in loader) == SAMPLES - 3 * 4


class TakenApart(TorchLoader[Any]):
    """What Stoker's DataLoader is not: a subclass of torch's."""

    def __iter__(self) -> Any:
        raise AssertionError("its own iterator")


def test_accelerate_replaces_a_subclass_of_torchs(dataset: Any) -> None:
    """Why Stoker's is none. Once this fails, it may become one."""
    accelerate = pytest.importorskip("accelerate")
    prepared = accelerate.Accelerator(cpu=True).prepare(TakenApart(dataset, batch_size=4))
    assert sum(len(images) for images, _ in prepared) == SAMPLES


def _module(lightning: Any) -> Any:
    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = _model()
            self.trained: list[int] = []
            self.validated = 0

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            images, labels, ids = batch
            self.trained += ids.tolist()
            return cross_entropy(self.model(images), labels)

        def validation_step(self, batch: Any, _: int) -> None:
            self.validated += len(batch[0])
            self.log("loss", cross_entropy(self.model(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    return Module()


def _trainer(lightning: Any, folder: Path, **arguments: Any) -> Any:
    return lightning.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                             default_root_dir=folder, **arguments)


def _lightning() -> Any:
    lightning: Any = pytest.importorskip("lightning.pytorch")
    warnings.filterwarnings("ignore", module="lightning|torch")
    return lightning


def test_lightning_trains_and_validates(dataset: Any, tmp_path: Path) -> None:
    lightning = _lightning()
    module = _module(lightning)
    train = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2, return_ids=True)
    _trainer(lightning, tmp_path, max_epochs=2, enable_checkpointing=False, num_sanity_val_steps=0).fit(
        module, train, DataLoader(dataset, batch_size=5))
    assert sorted(module.trained) == sorted([*range(SAMPLES)] * 2)
    assert module.validated == SAMPLES * 2


def test_lightning_keeps_the_place_in_its_checkpoints(dataset: Any, tmp_path: Path) -> None:
    lightning = _lightning()

    def loader() -> DataLoader:
        return DataLoader(dataset, batch_size=4, shuffle=True, return_ids=True,
                          generator=torch.Generator().manual_seed(2))

    whole = _module(lightning)
    _trainer(lightning, tmp_path, max_epochs=2, enable_checkpointing=False).fit(whole, loader())
    first, second = _module(lightning), _module(lightning)
    keep = lightning.callbacks.ModelCheckpoint(tmp_path, "{step}", every_n_train_steps=10, save_top_k=-1)
    _trainer(lightning, tmp_path, max_steps=10, callbacks=[keep]).fit(first, loader())
    _trainer(lightning, tmp_path, max_epochs=2, enable_checkpointing=False).fit(
        second, loader(), ckpt_path=tmp_path / "step=10.ckpt")
    assert len(second.trained) == 2 * SAMPLES - len(first.trained) == 14
    assert first.trained + second.trained == whole.trained


def test_a_compiled_step_is_compiled_once(dataset: Any) -> None:
    compilations = []

    def backend(graph: Any, _: Any) -> Any:
        compilations.append(graph)
        return graph.forward

    model = _model()

    @torch.compile(backend=backend, dynamic=False, fullgraph=True)
    def step(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return cross_entropy(model(images), labels)

    loader = DataLoader(dataset, batch_size=4, shuffle=True, drop_last=True, num_workers=2)
    for _ in range(2):
        for images, labels in loader:
            step(images, labels).backward()  # type: ignore[no-untyped-call]
    assert len(compilations) == 1
    for images, labels in DataLoader(dataset, batch_size=4):
        step(images, labels)
    assert len(compilations) == 2  # the last, smaller batch: what the first count would have shown
