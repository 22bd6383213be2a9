"""Every argument of torch's DataLoader is honoured, refused by name, or warned about."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stoker
import torch
from photographs import FIXED, SAMPLES, Indices, batches_of_ids, make_folder
from stoker.torch import DataLoader
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, default_collate
from torch.utils.data import DataLoader as TorchLoader
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

# How each argument is treated, by a value that is not its default; what the tests below are about.
HONOURED: dict[str, Any] = {
    "batch_size": 5, "shuffle": True, "sampler": [1, 2], "batch_sampler": BatchSampler(range(7), 3, True),
    "num_workers": 3, "drop_last": True, "timeout": 60, "generator": torch.Generator(), "prefetch_factor": 3,
    "persistent_workers": True, "in_order": False, "collate_fn": default_collate,
}
WARNED: dict[str, Any] = {
    "worker_init_fn": print, "multiprocessing_context": "spawn", "pin_memory_device": "cuda", "pin_memory": True,
}
REFUSED: dict[str, Any] = {
    "batch_size": None, "collate_fn": list, "batch_sampler": [[0, 1], [2]], "num_workers": -1, "timeout": -1,
    "prefetch_factor": -1,
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ImageFolder(make_folder(tmp_path_factory.mktemp("arguments")), FIXED)


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(kind).parameters)


def test_every_argument_of_torchs_is_known() -> None:
    torchs, own = _parameters(TorchLoader), _parameters(DataLoader)
    assert set(torchs) == {"dataset", *HONOURED, *WARNED}
    for name, parameter in torchs.items():
        assert own[name].default == parameter.default, name
        assert own[name].kind == parameter.kind, name
    assert list(own)[: len(torchs)] == list(torchs)  # by position, too


@pytest.mark.parametrize("name", HONOURED)
def test_an_honoured_argument_says_nothing(dataset: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(dataset, **{name: HONOURED[name]}))


@pytest.mark.parametrize("name", WARNED)
def test_an_argument_without_use_is_warned_about_once(dataset: Any, name: str) -> None:
    with pytest.warns(UserWarning, match=f"^{name}: ") as caught:
        loader = DataLoader(dataset, **{name: WARNED[name]})
        assert len(list(loader)) == len(list(loader)) == SAMPLES
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_value_is_named(dataset: Any, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        DataLoader(dataset, **{name: REFUSED[name]})


@pytest.mark.parametrize("arguments", [
    {"sampler": [0], "shuffle": True},
    {"batch_sampler": BatchSampler(range(3), 1, False), "shuffle": True},
    {"batch_sampler": BatchSampler(range(3), 1, False), "batch_size": 2},
    {"batch_sampler": BatchSampler(range(3), 1, False), "drop_last": True},
    {"batch_sampler": BatchSampler(range(3), 1, False), "sampler": [0]},
    {"num_workers": -1},
    {"timeout": -0.5},
])
def test_what_torch_refuses_is_refused(dataset: Any, arguments: dict[str, Any]) -> None:
    for kind in (TorchLoader, DataLoader):
        with pytest.raises(ValueError):
            kind(dataset, **arguments)


def test_a_context_object_is_as_good_as_its_name(dataset: Any) -> None:
    with pytest.warns(UserWarning, match="multiprocessing_context"):
        DataLoader(dataset, num_workers=1, multiprocessing_context=multiprocessing.get_context("spawn"))


def test_workers_may_be_chosen_while_running(dataset: Any) -> None:
    loader = DataLoader(dataset, num_workers="auto")
    assert (loader.num_workers, loader.prefetch_factor) == ("auto", 2)
    assert len(list(loader)) == SAMPLES
    stalls = loader.stalls()
    assert stalls.auto_workers and 1 <= stalls.workers <= stalls.max_workers
    with pytest.raises(ValueError, match='num_workers: "many" .allowed: "auto"'):
        DataLoader(dataset, num_workers="many")  # type: ignore[arg-type]


def test_workers_of_the_plain_loader_are_chosen_unless_given(dataset: Any) -> None:
    auto = [stoker.Loader(dataset, **given).stalls() for given in ({}, {"num_workers": "auto"}, {"num_workers": -1})]
    assert all(stalls.auto_workers for stalls in auto)
    assert len({stalls.max_workers for stalls in auto}) == 1
    given = stoker.Loader(dataset, num_workers=3).stalls()
    assert (given.auto_workers, given.workers, given.max_workers) == (False, 3, 3)


ATTRIBUTES = ("batch_size", "drop_last", "num_workers", "pin_memory", "timeout", "prefetch_factor", "generator",
              "persistent_workers", "pin_memory_device", "in_order", "worker_init_fn", "multiprocessing_context",
              "collate_fn")


@pytest.mark.parametrize("arguments", [{}, {"batch_size": 3, "drop_last": True, "num_workers": 2, "timeout": 5}])
def test_attributes_are_torchs(dataset: Any, arguments: dict[str, Any]) -> None:
    torchs, own = TorchLoader(dataset, **arguments), DataLoader(dataset, **arguments)
    for name in ATTRIBUTES:
        assert getattr(own, name) == getattr(torchs, name), name
    assert own.dataset is dataset
    assert type(own.sampler) is type(torchs.sampler) is SequentialSampler
    assert type(own.batch_sampler) is type(torchs.batch_sampler) is BatchSampler
    assert type(DataLoader(dataset, shuffle=True).sampler) is RandomSampler
    assert len(own) == len(torchs)


@pytest.mark.parametrize("name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                                  "persistent_workers", "collate_fn", "num_workers", "pin_memory"])
def test_what_would_have_no_effect_cannot_be_set(dataset: Any, name: str) -> None:
    loader = DataLoader(dataset)
    with pytest.raises(ValueError, match=name):
        setattr(loader, name, getattr(loader, name))
    with pytest.raises(ValueError, match=name):
        setattr(copy.copy(loader), name, None)


def test_what_has_an_effect_can_be_set(dataset: Any) -> None:
    loader = DataLoader(dataset, batch_size=4, shuffle=True, return_ids=True)
    loader.generator = torch.Generator().manual_seed(1)
    loader.sampler.generator = loader.generator  # type: ignore[attr-defined]
    torchs = TorchLoader(Indices(SAMPLES), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(1))
    assert batches_of_ids(loader) == batches_of_ids(torchs)


def test_a_sampler_without_a_length_has_none(dataset: Any) -> None:
    for kind in (TorchLoader, DataLoader):
        with pytest.raises(TypeError):
            len(kind(dataset, sampler=iter([0])))


# A pipe that nobody writes into never gives a byte.
def test_a_batch_that_does_not_come_in_time_is_an_error(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, 6)
    dataset = ImageFolder(folder, FIXED)
    stuck = Path(dataset.samples[2][0])
    stuck.unlink()
    os.mkfifo(stuck)
    loader = DataLoader(dataset, batch_size=2, timeout=0.3)
    batches = iter(loader)
    next(batches)
    with pytest.raises(RuntimeError, match="timeout of 0.3"):
        next(batches)


def test_pinning_without_a_gpu_warns_once_and_loads(dataset: Any) -> None:
    with pytest.warns(UserWarning, match="no CUDA device") as warned:
        loader = DataLoader(dataset, batch_size=SAMPLES, pin_memory=True)
    assert len(warned) == 1
    assert not next(iter(loader))[0].is_pinned()


def test_a_device_that_is_not_cudas_is_refused(dataset: Any) -> None:
    with pytest.raises(ValueError, match="CUDA devices, not to xpu"):
        DataLoader(dataset, device="xpu")
    assert DataLoader(dataset, device="cpu").device is None


@pytest.mark.parametrize(("make", "says"), [
    (lambda dataset: DataLoader(dataset, on_error="stop"), "on_error"),
    (lambda dataset: DataLoader(dataset, decode="best"), "decode"),
    (lambda dataset: DataLoader(dataset, batch_size=0), "batch_size"),
    (lambda dataset: DataLoader(dataset, batch_size=65537), "batch_size"),
    (lambda dataset: DataLoader(dataset, prefetch_factor=65), "prefetch_factor"),
    (lambda dataset: DataLoader(dataset, memory_limit=-1), "memory_limit"),
])
def test_own_arguments_are_checked(dataset: Any, make: Callable[[Any], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make(dataset)
