"""With one import changed, a script gets the same batches."""

from __future__ import annotations

import inspect
import pickle
import typing
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from photographs import FIXED, RANDOM, SAMPLES, copies, make_folder
from stoker.torch import DataLoader
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import SubsetRandomSampler
from torchvision import transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("drop_in"))


TRANSFORMS = {
    "floats": FIXED,
    "bytes": transforms.Compose([transforms.Resize((10, 12)), transforms.PILToTensor()]),
    "evaluation": transforms.Compose([transforms.Resize(20), transforms.CenterCrop(16), transforms.ToTensor(),
                                      transforms.Normalize(MEAN, STD)]),
    "gray": transforms.Compose([transforms.Grayscale(), transforms.CenterCrop(16), transforms.ToTensor()]),
    "flips": transforms.Compose([transforms.CenterCrop(20), transforms.RandomHorizontalFlip(1.0),
                                 transforms.RandomVerticalFlip(0.0), transforms.ToTensor()]),
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_batches_are_torchs(folder: Path, name: str, drop_last: bool, num_workers: int) -> None:
    dataset = ImageFolder(folder, TRANSFORMS[name])
    runs = []
    for kind in (TorchLoader, DataLoader):
        torch.manual_seed(5)
        loader: Any = kind(dataset, batch_size=8, shuffle=True, drop_last=drop_last, num_workers=num_workers)
        runs.append((len(loader), list(loader)))
    (length, expected), (own_length, got) = runs
    assert own_length == len(got) == len(expected) == length
    for torchs, own in zip(expected, got, strict=True):
        assert type(own) is type(torchs) is list
        for field, own_field in zip(torchs, own, strict=True):
            assert (own_field.dtype, own_field.shape) == (field.dtype, field.shape)
            assert (own_field.stride(), own_field.device) == (field.stride(), field.device)
        difference = (own[0].double() - torchs[0].double()).abs().max().item()
        step = 1.0 if name == "bytes" else 1 / 255 / (min(STD) if name == "evaluation" else 1)
        assert difference <= step * 1.0001
        if "Resize" not in repr(TRANSFORMS[name]):
            assert torch.equal(own[0], torchs[0])  # only decoded
        assert torch.equal(own[1], torchs[1])


def test_the_scripts_own_line_works(folder: Path) -> None:
    train = ImageFolder(folder, transforms.Compose([
        transforms.RandomResizedCrop(16), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize(MEAN, STD)]))
    with pytest.warns(UserWarning, match="pin_memory"):
        loader = DataLoader(train, batch_size=8, shuffle=True, num_workers=8, pin_memory=True, drop_last=True,
                            prefetch_factor=2, persistent_workers=True)
    for _ in range(2):
        shapes = [(images.shape, labels.shape) for images, labels in loader]
        assert shapes == [((8, 3, 16, 16), (8,))] * (SAMPLES // 8)


def test_images_are_the_slots_own_memory(folder: Path) -> None:
    loader = DataLoader(ImageFolder(folder, FIXED), batch_size=4, prefetch_factor=1)
    addresses = {images.data_ptr() for _ in range(6) for images, _ in loader}
    assert len(addresses) < 6 * len(loader)  # slots that came back


def test_batches_that_are_kept_stay_as_they_were(folder: Path) -> None:
    dataset = ImageFolder(folder, FIXED)
    loader = DataLoader(dataset, batch_size=2, prefetch_factor=1)
    kept = list(loader)
    views = [images[1:, :, 2:5] for images, _ in kept]
    expected = list(copies(DataLoader(dataset, batch_size=2)))
    for _ in loader:  # would overwrite them
        pass
    for (images, labels), view, (same, same_labels) in zip(kept, views, expected, strict=True):
        assert torch.equal(images, same)
        assert torch.equal(view, same[1:, :, 2:5])
        assert torch.equal(labels, same_labels)


def test_a_view_alone_keeps_its_batch(folder: Path) -> None:
    dataset = ImageFolder(folder, FIXED)
    views = [images[0] for images, _ in DataLoader(dataset, batch_size=2, prefetch_factor=1)]
    expected = [images[0].clone() for images, _ in DataLoader(dataset, batch_size=2)]
    assert all(torch.equal(view, same) for view, same in zip(views, expected, strict=True))


def test_two_iterators_are_independent(folder: Path) -> None:
    dataset = ImageFolder(folder, FIXED)
    loader = DataLoader(dataset, batch_size=4, return_ids=True)
    for first, second in zip(loader, loader, strict=True):
        assert torch.equal(first[0], second[0])
        assert torch.equal(first[2], second[2])


def test_an_iterator_is_its_own_iterator_and_has_a_length(folder: Path) -> None:
    iterator: Any = iter(DataLoader(ImageFolder(folder, FIXED), batch_size=4))
    assert iter(iterator) is iterator
    assert len(iterator) == 7
    assert len(list(iterator)) == 7
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(TypeError, match="pickle the loader"):
        pickle.dumps(iterator)


def test_ids_follow_the_labels_where_asked(folder: Path) -> None:
    dataset = ImageFolder(folder, FIXED)
    for images, labels, ids in DataLoader(dataset, batch_size=4, shuffle=True, return_ids=True):
        assert ids.dtype == torch.int64
        assert labels.tolist() == [dataset.targets[index] for index in ids]
        assert len(images) == len(ids)


def test_bad_samples_go_by_on_error(tmp_path: Path) -> None:
    make_folder(tmp_path, 9)
    (tmp_path / "bee" / "0004.jpg").write_bytes(b"")
    dataset = ImageFolder(tmp_path, FIXED)
    with pytest.raises(stoker.Error, match="0004.jpg") as caught:
        list(DataLoader(dataset, batch_size=3))
    assert (caught.value.index, Path(caught.value.path)) == (4, tmp_path / "bee" / "0004.jpg")
    skipped = [batch[2].tolist() for batch in DataLoader(dataset, batch_size=3, on_error="skip", return_ids=True)]
    assert 4 not in sum(skipped, [])
    assert [len(batch) for batch in skipped] == [3, 3, 3]
    masked = [batch[2].tolist() for batch in DataLoader(dataset, batch_size=3, on_error="mask")]
    assert masked == [[1, 1, 1], [1, 0, 1], [1, 1, 1]]


def test_a_transform_that_is_changed_is_followed(folder: Path) -> None:
    dataset = ImageFolder(folder, transforms.Compose([transforms.Resize((10, 12)), transforms.ToTensor()]))
    loader = DataLoader(dataset, batch_size=4)
    old = iter(loader)
    assert next(old)[0].shape[2:] == (10, 12)
    dataset.transform.transforms[0].size = (5, 6)
    new = iter(loader)
    assert next(new)[0].shape[2:] == (5, 6)
    assert next(old)[0].shape[2:] == (10, 12)
    del old
    assert next(iter(loader))[0].shape[2:] == (5, 6)  # not by what the old iterator leaves behind
    dataset.transform = RANDOM
    assert next(iter(loader))[0].shape[2:] == (8, 8)


def test_the_report_is_the_loaders_own(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    loader = DataLoader(ImageFolder(folder, FIXED), batch_size=4, report_every=3)
    with caplog.at_level("INFO", "stoker"):
        list(loader)
    steps = [record for record in caplog.records if record.message.startswith("step")]
    assert len(steps) == 7 // 3
    assert str(loader.stalls())
    loader.reset_stalls()


def test_annotations_may_name_the_samples(folder: Path) -> None:
    kind: Any = DataLoader
    annotation = kind[int]
    assert typing.get_origin(annotation) is DataLoader


def test_help_names_every_argument() -> None:
    text = inspect.getdoc(DataLoader) or ""
    for name in inspect.signature(DataLoader).parameters:
        assert name in text, name


def test_a_subset_sampler_reads_only_its_own(tmp_path: Path) -> None:
    dataset = ImageFolder(make_folder(tmp_path, 8), FIXED)
    Path(dataset.samples[3][0]).write_bytes(b"")
    loader = DataLoader(dataset, batch_size=4, sampler=SubsetRandomSampler([0, 1, 2, 4, 5]))
    assert sum(len(images) for images, _ in loader) == 5
