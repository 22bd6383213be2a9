"""Where the rows of JPEGs begin: what is learned of them, kept in memory or in a folder, never changes a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import stoker
import torch
from stoker.torch import DataLoader
from torchvision import transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

PICTURES = 60


def epochs(folder: Path, count: int, **options: Any) -> tuple[list[numpy.ndarray[Any, Any]], stoker.StallReport]:
    loader = stoker.Loader(folder, 8, stoker.train(32), output="numpy", num_workers=2, **options)
    images = [batch[0].copy() for _ in range(count) for batch in loader]
    report = loader.stalls()
    loader.close()
    return images, report


def test_pictures_are_learned_in_memory_unless_told_otherwise(photo_folder: Path) -> None:
    _, report = epochs(photo_folder, 1)
    assert report.index_entries == PICTURES and not report.index_full and report.index_file == ""
    assert 0 < report.index_used_bytes <= report.index_bytes <= report.budget_bytes
    assert f"{PICTURES} pictures learned" in str(report)
    _, without = epochs(photo_folder, 1, index="off")
    assert without.index_bytes == without.index_entries == 0
    assert "row index" not in str(without)


def test_no_picture_depends_on_it(photo_folder: Path, tmp_path: Path) -> None:
    without, _ = epochs(photo_folder, 3, index="off")
    for index in ("memory", tmp_path, str(tmp_path)):
        images, _ = epochs(photo_folder, 3, index=index)
        assert all(numpy.array_equal(one, other) for one, other in zip(images, without, strict=True))


def test_a_folder_keeps_it_for_the_next_loader_and_for_copies(photo_folder: Path, tmp_path: Path) -> None:
    _, first = epochs(photo_folder, 1, index=tmp_path / "made" / "for it")
    assert first.index_file_entries == 0
    _, second = epochs(photo_folder, 1, index=tmp_path / "made" / "for it")
    assert second.index_file_entries == PICTURES
    assert Path(second.index_file).parent == tmp_path / "made" / "for it"
    # Torchvision gives whole paths; they are the same set all the same.
    copy = tmp_path / "copy"
    for source in photo_folder.rglob("*.jpg"):
        (copy / source.parent.name).mkdir(parents=True, exist_ok=True)
        (copy / source.parent.name / source.name).write_bytes(source.read_bytes())
    dataset = ImageFolder(copy, transforms.Compose([transforms.Resize((8, 8)), transforms.ToTensor()]))
    loader = DataLoader(dataset, batch_size=8, num_workers=1, index=tmp_path / "made" / "for it")
    assert loader.stalls().index_file == second.index_file
    assert sum(len(labels) for _, labels in loader) == PICTURES
    assert loader.stalls().index_file_entries == PICTURES


def test_the_drop_in_gives_the_same_with_and_without(photo_folder: Path) -> None:
    dataset = ImageFolder(photo_folder, transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()]))

    def images(index: str) -> list[torch.Tensor]:
        torch.manual_seed(5)
        loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=1, index=index)
        return [batch[0].clone() for _ in range(2) for batch in loader]

    assert all(torch.equal(one, other) for one, other in zip(images("memory"), images("off"), strict=True))


def test_a_damaged_file_is_named_and_written_anew(photo_folder: Path, tmp_path: Path,
                                                  capfd: pytest.CaptureFixture[str]) -> None:
    epochs(photo_folder, 1, index=tmp_path)
    file = next(tmp_path.glob("*.stoker-index"))
    file.write_bytes(file.read_bytes()[:-1])
    capfd.readouterr()
    _, report = epochs(photo_folder, 1, index=tmp_path)
    said = capfd.readouterr().err
    assert report.index_file_entries == 0 and str(file) in said and "cut short" in said
    _, report = epochs(photo_folder, 1, index=tmp_path)
    assert report.index_file_entries == PICTURES


def test_a_folder_that_cannot_be_made_is_named_and_training_goes_on(photo_folder: Path, tmp_path: Path,
                                                                    capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    images, _ = epochs(photo_folder, 1, index=tmp_path / "file" / "folder")
    assert sum(len(batch) for batch in images) == PICTURES
    said = capfd.readouterr().err
    assert str(tmp_path / "file") in said and "index=" in said and said.count("\n") == 1
