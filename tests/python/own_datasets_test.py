"""Stoker's own datasets: any name that the system knows, in little memory."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
import torch
from photographs import FIXED, SAMPLES, make_folder
from stoker.datasets import understand
from stoker.torch import DataLoader
from torch.utils.data import ConcatDataset, Subset, WeightedRandomSampler, random_split
from torch.utils.data import DataLoader as TorchLoader
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("own_datasets"))


def _batch(loader: Any) -> list[torch.Tensor]:
    """All of an epoch."""
    batch: list[torch.Tensor] = next(iter(loader))
    return batch


def _as(kind: type, paths: list[str]) -> list[Any]:
    return [os.fsencode(path) if kind is bytes else kind(path) for path in paths]


@pytest.mark.parametrize("kind", [str, bytes, Path])
def test_files_are_taken_by_any_kind_of_path(folder: Path, kind: type) -> None:
    torchs = ImageFolder(folder, FIXED)
    paths = [path for path, _ in torchs.samples]
    dataset = stoker.FileDataset(_as(kind, paths), torchs.targets, transform=FIXED, classes=torchs.classes)
    assert len(dataset) == SAMPLES
    assert [dataset.path(index) for index in range(SAMPLES)] == paths
    assert dataset.targets == torchs.targets
    assert dataset.class_to_idx == torchs.class_to_idx
    expected, got = _batch(DataLoader(torchs, batch_size=100)), _batch(DataLoader(dataset, batch_size=100))
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))


def test_labels_may_be_numpys_and_minus_one(folder: Path) -> None:
    paths = [path for path, _ in ImageFolder(folder).samples][:4]
    dataset = stoker.FileDataset(paths, np.array([7, -1, 0, 2**31 - 1]), transform=FIXED)
    assert _batch(DataLoader(dataset, batch_size=4))[1].tolist() == [7, -1, 0, 2**31 - 1]
    assert [dataset.label(index) for index in range(4)] == dataset.targets


@pytest.mark.parametrize(("labels", "says"), [([0], "labels"), ([0, -2], "label -2"), ([0, 2**31], "label 2147483648")])
def test_wrong_labels_are_named(labels: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        stoker.FileDataset(["a.jpg", "b.jpg"], labels)


def test_names_need_not_be_text(folder: Path, tmp_path: Path) -> None:
    picture = Path(ImageFolder(folder).samples[0][0]).read_bytes()
    names = [b"caf\xe9.jpg", "κλάση 图 ü.jpg".encode(), b" leading and trailing .jpg", b"a,b\n\"c\".jpg"]
    root = os.fsencode(tmp_path / "one")
    os.mkdir(root)
    for name in names:
        with open(os.path.join(root, name), "wb") as file:
            file.write(picture)
    paths = sorted(os.path.join(root, name) for name in names)
    dataset = stoker.FileDataset(paths, range(4), transform=FIXED)
    images, labels = _batch(DataLoader(dataset, batch_size=4))
    assert labels.tolist() == [0, 1, 2, 3]
    assert all(torch.equal(image, images[0]) for image in images)
    assert [os.fsencode(dataset.path(index)) for index in range(4)] == paths
    scanned = stoker.FolderDataset(tmp_path, transform=FIXED)
    assert [os.fsencode(scanned.path(index)) for index in range(4)] == paths
    again = pickle.loads(pickle.dumps(dataset))
    assert [os.fsencode(again.path(index)) for index in range(4)] == paths


def test_a_file_that_is_not_there_is_that_samples_error(folder: Path) -> None:
    paths = [path for path, _ in ImageFolder(folder).samples][:3]
    dataset = stoker.FileDataset([*paths, str(folder / "caf\udce9.jpg")], [0] * 4, transform=FIXED)
    with pytest.raises(stoker.Error, match=r"caf\\xe9.jpg") as caught:
        list(DataLoader(dataset, batch_size=2))
    assert caught.value.index == 3
    str(caught.value).encode()  # is text


def test_an_index_beyond_the_end_is_an_error() -> None:
    dataset = stoker.FileDataset(["a.jpg"], [0])
    for ask in (dataset.path, dataset.label):
        for index in (1, -1):
            with pytest.raises(IndexError):
                ask(index)


def test_a_folder_is_read_as_torchvision_reads_it(folder: Path) -> None:
    torchs, own = ImageFolder(folder), stoker.FolderDataset(folder)
    assert [(own.path(index), own.label(index)) for index in range(len(own))] == torchs.samples
    assert (own.classes, own.class_to_idx, own.targets) == (torchs.classes, torchs.class_to_idx, torchs.targets)


def test_classes_are_in_byte_order_or_as_given(tmp_path: Path) -> None:
    picture = make_folder(tmp_path / "from", 3) / "ant" / "0000.jpg"
    for name in ("1", "10", "2", "B", "a"):
        (tmp_path / "to" / name).mkdir(parents=True)
        (tmp_path / "to" / name / "x.jpg").write_bytes(picture.read_bytes())
    assert stoker.FolderDataset(tmp_path / "to").classes == ["1", "10", "2", "B", "a"]
    given = stoker.FolderDataset(tmp_path / "to", classes=["a", "2", "B", "10", "1", "more"], allow_empty=True)
    assert given.class_to_idx == {"a": 0, "2": 1, "B": 2, "10": 3, "1": 4, "more": 5}
    assert {Path(given.path(i)).parent.name: given.label(i) for i in range(5)} == {
        "a": 0, "2": 1, "B": 2, "10": 3, "1": 4}
    with pytest.raises(stoker.Error, match="10"):
        stoker.FolderDataset(tmp_path / "to", classes=["1", "2", "B", "a"])


def test_a_path_is_a_folder_dataset(folder: Path) -> None:
    for path in (folder, str(folder), os.fsencode(folder)):
        assert len(understand(path)[0]) == SAMPLES


@pytest.mark.parametrize("make", [
    lambda own, torchs: (Subset(own, [4, 9, 2]), Subset(torchs, [4, 9, 2])),
    lambda own, torchs: (ConcatDataset([own, own]), ConcatDataset([torchs, torchs])),
    lambda own, torchs: (ConcatDataset([own, torchs]), ConcatDataset([torchs, torchs])),
    lambda own, torchs: tuple(random_split(data, [5, SAMPLES - 5], torch.Generator().manual_seed(3))[0]
                              for data in (own, torchs)),
])
def test_own_datasets_go_into_torchs(folder: Path, make: Callable[[Any, Any], tuple[Any, Any]]) -> None:
    own, torchs = make(stoker.FolderDataset(folder, transform=FIXED), ImageFolder(folder, FIXED))
    expected, got = _batch(TorchLoader(torchs, batch_size=100)), _batch(DataLoader(own, batch_size=100))
    assert expected[1].tolist() == got[1].tolist()
    assert (expected[0] - got[0]).abs().max() <= 1.0001 / 255


def test_targets_serve_a_weighted_sampler(folder: Path) -> None:
    dataset = stoker.FolderDataset(folder, transform=FIXED)
    weights = [float(target == 1) for target in dataset.targets]
    loader = DataLoader(dataset, batch_size=10, sampler=WeightedRandomSampler(weights, 30))
    assert {label for _, labels in loader for label in labels.tolist()} == {1}


def test_own_datasets_pickle(folder: Path) -> None:
    for dataset in (stoker.FolderDataset(folder, transform=FIXED), stoker.FileDataset(["x.jpg"], [3], classes=["k"])):
        again = pickle.loads(pickle.dumps(dataset))
        assert type(again) is type(dataset)
        assert [again.path(i) for i in range(len(again))] == [dataset.path(i) for i in range(len(dataset))]
        assert (again.targets, again.classes) == (dataset.targets, dataset.classes)
        assert repr(again.transform) == repr(dataset.transform)


class Numbered(list[str]):
    """Names that are made when asked for, so that only what is kept of them takes memory."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: Any) -> Any:
        return f"/nowhere/{index % 1000:03}/{index:012}.jpg"


def test_names_take_one_compact_block() -> None:
    samples = 200_000
    dataset = stoker.FileDataset(Numbered(samples), range(samples))
    name = len("000000000000.jpg") + 1
    assert dataset.source.nbytes / samples < 24 + 2 * name  # the names' block may have grown ahead
    assert dataset.path(123_456) == "/nowhere/456/000000123456.jpg"
    assert sys.getsizeof(dataset) < 200


def test_a_few_of_many_are_taken_without_the_others() -> None:
    many: Any = stoker.FileDataset(Numbered(100_000), range(100_000), transform=FIXED)
    asked = []
    path: Callable[[int], str] = many.path

    def counted(index: int) -> str:
        asked.append(index)
        return path(index)

    many.path = counted
    few, _ = understand(Subset(Subset(many, range(0, 100_000, 1000)), [5, 50]))
    assert [few.path(0), few.path(1), *few.targets] == [path(5000), path(50_000), 5000, 50_000]
    assert asked == [5000, 50_000]
