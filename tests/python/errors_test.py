"""What goes wrong with a sample, as Python sees it."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from conftest import BROKEN, MakeBroken
from stoker.torch import DataLoader

EVAL = stoker.eval(16)
POSITION = 5  # of the broken file among the whole ones


@pytest.fixture
def make_paths(photo_folder: Path, make_broken: MakeBroken) -> Any:
    """Twelve paths, the one at POSITION broken in the way that is named."""
    def make(kind: str) -> list[Path]:
        whole = sorted(photo_folder.glob("*/0*.jpg"))[:11]
        return [*whole[:POSITION], make_broken(kind), *whole[POSITION:]]
    return make


def loader_of(paths: list[Path], **options: Any) -> stoker.Loader:
    options = {"shuffle": False, "num_workers": 1, "return_ids": True, "strict": True, **options}
    return stoker.Loader(stoker.FileDataset(paths, list(range(len(paths)))), 4, EVAL, **options)


def error_of(loader: Any) -> stoker.Error:
    with pytest.raises(stoker.Error) as raised:
        for _ in loader:
            pass
    return raised.value


# "raise".


@pytest.mark.parametrize("kind", BROKEN)
def test_an_error_says_which_sample_and_why(make_paths: Any, kind: str) -> None:
    paths = make_paths(kind)
    error = error_of(loader_of(paths))
    assert error.path == str(paths[POSITION])
    assert error.index == POSITION
    assert error.stage == "decode"
    assert error.reason
    assert error.reason in str(error)
    assert str(paths[POSITION]) in str(error)
    assert "on_error" in str(error)


def test_an_error_of_a_cut_file_says_where(make_paths: Any) -> None:
    paths = make_paths("truncated")
    error = error_of(loader_of(paths))
    assert 0 < error.offset <= paths[POSITION].stat().st_size
    assert f"at byte {error.offset}" in error.reason


def test_an_error_of_a_missing_file_is_one_of_reading(make_paths: Any, tmp_path: Path) -> None:
    paths = [*make_paths("empty"), tmp_path / "gone.jpg"]
    paths.pop(POSITION)
    error = error_of(loader_of(paths))
    assert (error.stage, error.path, error.offset) == ("read", str(tmp_path / "gone.jpg"), -1)
    assert "no such file" in error.reason


def test_an_error_of_a_folder_in_a_pictures_place(photo_folder: Path) -> None:
    error = error_of(loader_of([photo_folder]))
    assert (error.stage, error.path) == ("read", str(photo_folder))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_error_of_a_forbidden_file(make_paths: Any) -> None:
    paths = make_paths("empty")
    paths[POSITION].chmod(0)
    assert "permission denied" in error_of(loader_of(paths)).reason


def test_the_path_of_a_name_that_is_no_text_opens_the_file(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff\xfe.jpg")
    path.write_bytes(b"no picture")
    error = error_of(loader_of([path]))
    assert Path(error.path).read_bytes() == b"no picture"
    assert str(error).encode()  # the message is text all the same


@pytest.mark.parametrize("drop_in", [False, True])
def test_the_iterator_goes_on_with_the_next_batch(make_paths: Any, drop_in: bool) -> None:
    paths = make_paths("text")
    loader: Any = loader_of(paths)
    if drop_in:
        dataset = stoker.FileDataset(paths, range(12), transform=EVAL)
        loader = DataLoader(dataset, 4, num_workers=1, return_ids=True)
    iterator = iter(loader)
    came = next(iterator)[2].tolist()
    with pytest.raises(stoker.Error):
        next(iterator)
    came += next(iterator)[2].tolist()
    assert came == [0, 1, 2, 3, 8, 9, 10, 11]
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_error_pickles_and_copies(make_paths: Any) -> None:
    error = error_of(loader_of(make_paths("text")))
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is stoker.Error
        assert str(twin) == str(error)
        assert twin.__dict__ == error.__dict__
        assert set(twin.__dict__) >= {"path", "index", "offset", "stage", "reason"}


def test_a_note_on_an_error_pickles_with_it() -> None:
    error = stoker.Error("words", index=3)
    error.extra = "more"  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(error)).extra == "more"


def test_an_error_is_a_runtime_error() -> None:
    assert issubclass(stoker.Error, RuntimeError)


# "skip" and "mask".


@pytest.mark.parametrize("kind", BROKEN)
def test_skip_puts_the_next_good_sample_in_its_place(make_paths: Any, kind: str) -> None:
    loader = loader_of(make_paths(kind), on_error="skip")
    assert [numbers.tolist() for _, _, numbers in loader] == [[0, 1, 2, 3], [4, 6, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize("kind", BROKEN)
def test_mask_gives_zeros_and_says_so(make_paths: Any, kind: str) -> None:
    loader = loader_of(make_paths(kind), on_error="mask")
    valid = []
    for images, labels, numbers, flags in loader:
        assert flags.dtype == torch.uint8
        assert (labels == numbers).all()
        assert [bool(image.any()) for image in images] == flags.bool().tolist()
        valid += flags.tolist()
    assert valid == [1] * POSITION + [0] + [1] * (11 - POSITION)


@pytest.mark.parametrize("on_error", ["skip", "mask"])
def test_what_was_skipped_is_a_list(make_paths: Any, on_error: str) -> None:
    paths = make_paths("text")
    loader = loader_of(paths, on_error=on_error)
    for _ in range(2):
        for _ in loader:
            pass
    report = loader.stalls()
    assert report.skipped_count == 1
    (skipped,) = report.skipped
    assert (skipped.index, skipped.name) == (POSITION, str(paths[POSITION]))
    assert repr(skipped) == f"{skipped.name}: {skipped.reason}"


def test_a_drop_in_skips_and_lists(make_paths: Any) -> None:
    dataset = stoker.FileDataset(make_paths("text"), range(12), transform=EVAL)
    loader = DataLoader(dataset, 4, num_workers=1, on_error="mask")
    flags = torch.cat([valid.clone() for _, _, valid in loader])
    assert flags.tolist().index(0) == POSITION
    assert [skipped.index for skipped in loader.stalls().skipped] == [POSITION]


def test_max_errors_raises_for_one_more(photo_folder: Path, make_broken: MakeBroken) -> None:
    paths = [photo_folder / "ant" / "00.jpg"] * 4 + [make_broken("text")] * 3
    assert len(list(loader_of(paths, on_error="mask", max_errors=3))) == 2
    error = error_of(loader_of(paths, on_error="mask", max_errors=2))
    assert "3 bad samples are more than max_errors = 2" in str(error)


def test_a_dataset_without_a_good_sample_is_an_error_not_a_search_for_ever(make_broken: MakeBroken) -> None:
    error = error_of(loader_of([make_broken("text")] * 3, on_error="skip"))
    assert "no good sample is left" in error.reason


def test_a_read_that_hangs_is_that_samples_error(hung_file: Path, run_script: Any) -> None:
    done = run_script("""
        import sys
        import stoker

        loader = stoker.Loader(stoker.FileDataset([sys.argv[1]], [0]), 1, stoker.eval(8), output="numpy",
                               num_workers=1, read_deadline=0.2)
        try:
            next(iter(loader))
        except stoker.Error as error:
            print(error.stage, error.index, error.path == sys.argv[1], error.reason)
        """, hung_file)
    assert done.stdout == "read 0 True the read did not come back within the deadline\n"


# What is wrong with the loader's arguments.


@pytest.mark.parametrize(("options", "words"), [
    ({"batch_size": 0}, "batch_size"),
    ({"num_workers": 100_000}, "num_workers"),
    ({"prefetch_factor": 0}, "prefetch_factor"),
    ({"queue_depth": 0}, "queue_depth"),
    ({"on_error": "ignore"}, r'on_error: "ignore" \(allowed: "raise", "skip", "mask"\)'),
    ({"decode": "slow"}, "decode"),
    ({"reader": "mmap"}, "reader"),
    ({"index": ""}, r'index = "" \(allowed: off, memory, or a folder\)'),
    ({"device": "tpu"}, "device"),
    ({"output": "tensorflow"}, r'output: "tensorflow" \(allowed'),
    ({"rank": 2, "world_size": 2}, "rank"),
    ({"rank": 2}, "give both or neither"),
], ids=str)
def test_a_bad_option_is_named(photo_folder: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        stoker.Loader(photo_folder, transform=EVAL, **options)


def test_too_small_a_memory_limit_says_so(photo_folder: Path) -> None:
    with pytest.raises(stoker.Error, match="memory"):
        stoker.Loader(photo_folder, 256, stoker.eval(224), memory_limit=1000)


# The drop-in.


def test_a_cut_picture_is_counted_by_the_drop_in_and_raised_where_it_is_strict(make_paths: Any) -> None:
    paths = make_paths("truncated")
    dataset = stoker.FileDataset(paths, [0] * len(paths), transform=stoker.eval(16))
    loader = DataLoader(dataset, 4)
    assert len(list(loader)) == 3
    assert loader.stalls().decoder_warnings == 1
    assert error_of(DataLoader(dataset, 4, strict=True)).index == POSITION
