"""Which datasets are understood, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
import torch
from photographs import CLASSES, FIXED, RANDOM, make_folder
from stoker.datasets import understand
from stoker.torch import DataLoader
from torch.utils.data import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from torch.utils.data import DataLoader as TorchLoader
from torchvision.datasets import (  # type: ignore[import-untyped]
    DatasetFolder,
    FakeData,
    ImageFolder,
    ImageNet,
    wrap_dataset_for_transforms_v2,
)
from torchvision.datasets.folder import default_loader, pil_loader  # type: ignore[import-untyped]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("datasets"))


class TenToTwenty(ImageFolder):  # type: ignore[misc]
    """Its own classes: the pictures by their number."""

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        return ["cat", "bee"], {"cat": 0, "bee": 1}


def _third(label: int) -> torch.Tensor:
    return torch.tensor(label * 7 + 3)


DATASETS: dict[str, Callable[[Path], Any]] = {
    "ImageFolder": lambda root: ImageFolder(root, FIXED),
    "is_valid_file": lambda root: ImageFolder(root, FIXED, is_valid_file=lambda path: path[-5] in "02468"),
    "find_classes": lambda root: TenToTwenty(root, FIXED),
    "target_transform": lambda root: ImageFolder(root, FIXED, target_transform=lambda label: 2 - label),
    "target_transform of tensors": lambda root: ImageFolder(root, FIXED, target_transform=_third),
    "target_transform of numpy": lambda root: ImageFolder(root, FIXED, target_transform=np.array([5, 0, 9]).item),
    "target_transform to numpy": lambda root: ImageFolder(root, FIXED, target_transform=np.int64),
    "DatasetFolder": lambda root: DatasetFolder(str(root), default_loader, (".jpg",), FIXED),
    "pil_loader": lambda root: ImageFolder(root, FIXED, loader=pil_loader),
    "Subset": lambda root: Subset(ImageFolder(root, FIXED), [3, 1, 20, 3]),
    "Subset of numpy indices": lambda root: Subset(ImageFolder(root, FIXED), np.arange(5, 9)),  # type: ignore[arg-type]
    "Subset of a tensor": lambda root: Subset(ImageFolder(root, FIXED), torch.arange(5, 9)),  # type: ignore[arg-type]
    "Subset of a Subset": lambda root: Subset(Subset(ImageFolder(root, FIXED), range(4, 24, 2)), [9, 0, -1]),
    "random_split": lambda root: random_split(ImageFolder(root, FIXED), [0.4, 0.6],
                                              torch.Generator().manual_seed(1))[1],
    "ConcatDataset": lambda root: ConcatDataset([ImageFolder(root, FIXED), TenToTwenty(root, FIXED)]),
    "ConcatDataset of Subsets": lambda root: ConcatDataset([
        Subset(ImageFolder(root, FIXED), [1, 2]), ImageFolder(root, FIXED)]),
    "Subset of a ConcatDataset": lambda root: Subset(ConcatDataset([ImageFolder(root, FIXED)] * 2), [40, 2, 30]),
}


def _batch(loader: Any) -> list[torch.Tensor]:
    """All of an epoch."""
    batch: list[torch.Tensor] = next(iter(loader))
    return batch


@pytest.mark.parametrize("name", DATASETS)
def test_samples_and_labels_are_torchs(folder: Path, name: str) -> None:
    dataset = DATASETS[name](folder)
    images, labels = _batch(TorchLoader(dataset, batch_size=100))
    own_images, own_labels = _batch(DataLoader(dataset, batch_size=100))
    assert labels.tolist() == own_labels.tolist()
    assert own_labels.dtype == torch.int64
    assert (images - own_images).abs().max() <= 1.0001 / 255


def test_an_empty_class_keeps_its_index(tmp_path: Path) -> None:
    make_folder(tmp_path, 6)
    (tmp_path / "aardvark").mkdir()
    dataset = ImageFolder(tmp_path, FIXED, allow_empty=True)
    assert _batch(DataLoader(dataset, batch_size=6))[1].tolist() == [1, 1, 2, 2, 3, 3]
    with pytest.raises(FileNotFoundError, match="aardvark"):
        ImageFolder(tmp_path, FIXED)
    own = stoker.FolderDataset(tmp_path, transform=FIXED, allow_empty=True)
    assert own.targets == [1, 1, 2, 2, 3, 3]
    with pytest.raises(stoker.Error, match="aardvark"):
        stoker.FolderDataset(tmp_path)


def test_imagenet_is_a_folder_with_other_names(tmp_path: Path) -> None:
    make_folder(tmp_path / "val", 6)
    names = {wnid: (wnid.title(), f"a {wnid}") for wnid in CLASSES}
    torch.save((names, [CLASSES[0]] * 6), tmp_path / "meta.bin")
    dataset = ImageNet(tmp_path, split="val", transform=FIXED)
    assert _batch(DataLoader(dataset, batch_size=6))[1].tolist() == [0, 0, 1, 1, 2, 2]


def test_the_transform_travels_with_the_dataset(folder: Path) -> None:
    nested: Any = Subset(ConcatDataset([Subset(ImageFolder(folder, RANDOM), [0, 1])]), [1])
    assert understand(nested)[1] is RANDOM
    assert _batch(DataLoader(nested))[0].shape == (1, 3, 8, 8)


# What is refused, and how.


class Cropped(ImageFolder):  # type: ignore[misc]
    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return image[:, 1:], label


class Fetched(ImageFolder):  # type: ignore[misc]
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class Transformed(Subset[Any]):
    def __getitem__(self, index: Any) -> Any:
        image, label = super().__getitem__(index)  # type: ignore[no-untyped-call]
        return -image, label

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class Wrapped(Dataset[Any]):
    def __getitem__(self, index: int) -> Any:
        return torch.zeros(3), 0


class Streamed(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([])


def _two_transforms(root: Path) -> Any:
    return ConcatDataset([ImageFolder(root, FIXED), ImageFolder(root, RANDOM)])


def _together(root: Path) -> Any:
    dataset = ImageFolder(root, FIXED)
    dataset.transforms = lambda image, target: (FIXED(image), target)
    return dataset


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "own __getitem__": (lambda root: Cropped(root, FIXED), "Cropped has a __getitem__ of its own"),
    "own __getitems__": (lambda root: Fetched(root, FIXED), "Fetched has a __getitems__ of its own"),
    "within a Subset": (lambda root: Subset(Cropped(root, FIXED), [0]), "Cropped"),
    "a Subset's own": (lambda root: Transformed(ImageFolder(root, FIXED), [0]), "Transformed has a __getitem__"),
    "wrapped for v2": (lambda root: wrap_dataset_for_transforms_v2(ImageFolder(root, FIXED)), "__getitem__"),
    "own loader": (lambda root: ImageFolder(root, FIXED, loader=np.load), "ImageFolder has loader="),
    "loader by DatasetFolder": (lambda root: DatasetFolder(str(root), torch.load, (".jpg",), FIXED), "loader="),
    "transforms": (_together, "ImageFolder has transforms="),
    "unlike parts": (_two_transforms, "ConcatDataset: its parts have different transforms"),
    "unknown": (lambda root: Wrapped(), "datasets_test.Wrapped: "),
    "iterable": (lambda root: Streamed(), "datasets_test.Streamed: "),
    "tensors": (lambda root: TensorDataset(torch.zeros(4, 3)), "TensorDataset: "),
    "another of torchvision's": (lambda root: FakeData(4), "FakeData: "),
    "a list": (lambda root: [(torch.zeros(3), 0)], "builtins.list: "),
    "a float": (lambda root: ImageFolder(root, FIXED, target_transform=lambda label: label / 2), "gives 0.0 for class"),
    "one-hot": (lambda root: ImageFolder(root, FIXED, target_transform=torch.eye(3).__getitem__), "gives tensor"),
    "one in a list": (lambda root: ImageFolder(root, FIXED, target_transform=lambda label: torch.tensor([label])),
                      "gives tensor"),
    "no label": (lambda root: ImageFolder(root, FIXED, target_transform=lambda label: None), "gives None"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(folder: Path, name: str) -> None:
    make, says = REFUSED[name]
    dataset = make(folder)
    for kind in (DataLoader, stoker.Loader):
        with pytest.raises(stoker.UnsupportedDataset, match=says) as caught:
            kind(dataset)
        assert any(word in str(caught.value) for word in ("keep", "use", "give", "make", "pass"))  # what to do
