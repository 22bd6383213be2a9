"""The stall report's fields in Python, and what the integrations have in common. A report from another thread."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import stoker
import torch
from stoker.reporting import figures, first_loader, framework
from stoker.torch import DataLoader, Prefetcher, Stalls
from torchvision import transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

STAGES = ["io", "decode", "copy", "consumer", "runtime", "other"]
SERVED = STAGES[:4]
PARTS = ["open", "storage", "page cache", "reaped late", "decode", "augment", "off CPU", "transfer", "foreign copies",
         "step", "host gap", "runtime", "other"]


@pytest.fixture
def report(photo_folder: Path) -> stoker.StallReport:
    """Of one epoch."""
    loader = stoker.Loader(photo_folder, 8, stoker.train(16), output="numpy", num_workers=2)
    for _ in loader:
        pass
    return loader.stalls()


# Fields.


def test_every_field_is_in_the_stub_and_in_the_dict(report: stoker.StallReport) -> None:
    stub = (Path(stoker.__file__).parent / "_core.pyi").resolve().read_text()
    described = stub[stub.index("class StallReport"):].split("\nclass ")[0].split("\n@final")[0]
    properties = {name for name, value in inspect.getmembers(stoker.StallReport) if isinstance(value, property)}
    assert properties == {line.split("(")[0].split()[-1] for line in described.splitlines() if "(self) ->" in line
                          and "to_dict" not in line}
    assert properties - report.to_dict().keys() == {"counts", "line"}
    assert report.to_dict().keys() < properties


def test_fields_are_named_by_stage_and_part(report: stoker.StallReport) -> None:
    assert [*report.shares] == [*report.margins] == STAGES
    assert [*report.ceilings] == [*report.busy] == [*report.gains] == SERVED
    assert [*report.parts] == PARTS
    assert sum(report.shares.values()) == pytest.approx(1, abs=0.005)
    assert sum(report.parts.values()) == pytest.approx(1, abs=0.005)
    assert report.shares["decode"] == pytest.approx(sum(report.parts[part] for part in PARTS[4:7]))
    assert report.leader == max(report.shares, key=report.shares.__getitem__)
    assert report.bound in {"unknown", "consumer", "capacity", "latency", "starved", "page cache", "contended",
                            "hand-over", "mixed"}
    assert report.samples == 60 and report.batches == 8 and report.counts == "images"
    assert report.read_buffers > 0 and report.source_bytes > 0 and report.device_slots == 0


def test_a_report_is_plain_data(report: stoker.StallReport) -> None:
    plain = report.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    for same in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report), stoker.StallReport(plain)):
        assert same.to_dict() == plain and str(same) == str(report)
    assert stoker.StallReport({"samples": 3, "of another version": 1}).samples == 3
    with pytest.raises(ValueError, match='knows no "tea"'):
        stoker.StallReport({"leader": "tea"})


def test_bad_samples_are_in_the_dict(make_broken: Any) -> None:
    path = make_broken("text")
    loader = stoker.Loader(stoker.FileDataset([path], [0]), 1, stoker.eval(8), output="numpy", on_error="mask")
    list(loader)
    (skipped,) = loader.stalls().to_dict()["skipped"]
    assert skipped["index"] == 0 and skipped["name"].endswith("text.jpg") and skipped["reason"]
    assert stoker.StallReport(loader.stalls().to_dict()).skipped[0].reason == skipped["reason"]


def test_a_prefetchers_report_is_one_of_batches() -> None:
    prefetcher = Prefetcher([torch.zeros(4, 3)] * 5, "sim")
    list(prefetcher)
    stalls = prefetcher.stalls()
    assert isinstance(stalls, stoker.StallReport) and stalls.counts == "batches" and stalls.samples == 5
    assert "batches/s" in str(stalls) and "batches/s" in stalls.line and "images" not in str(stalls) + repr(stalls)
    again = pickle.loads(pickle.dumps(stalls))
    assert type(again) is Stalls and str(again) == str(stalls)
    assert "batches_per_second" in figures(stalls) and "images_per_second" not in figures(stalls)


# From another thread.


@pytest.mark.parametrize("call", ["next", "iter"])
def test_a_report_does_not_wait_for_the_batch_that_another_thread_waits_for(hung_file: Path, photo_folder: Path,
                                                                            run_script: Any, call: str) -> None:
    # The file never answers: nor does a report that waits for its turn.
    done = run_script("""
        import sys, threading, time
        import stoker

        good, hung, call = sys.argv[1:]
        loader = stoker.Loader(stoker.FileDataset([good, hung], [0, 0]), 1, stoker.eval(8), output="numpy",
                               num_workers=1, shuffle=False, read_deadline=1000)
        iterator = iter(loader)
        next(iterator)

        def wait():
            try:
                next(iterator) if call == "next" else iter(loader)
            except stoker.Error as error:
                print(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.3)
        reports = []
        asking = [threading.Thread(target=lambda: reports.append(loader.stalls())) for _ in range(3)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert waiting.is_alive() and len(reports) == 3
        assert all(report.batches == 1 and report.seconds > 0.3 for report in reports)
        loader.close()
        waiting.join()
        """, next(photo_folder.rglob("*.jpg")), hung_file, call)
    assert done.stdout == "loading was cancelled\n"


def test_reports_from_other_threads_are_of_one_loader(photo_folder: Path, run_script: Any) -> None:
    run_script("""
        import sys, threading
        import stoker

        loader = stoker.Loader(sys.argv[1], 4, stoker.eval(8), output="numpy", num_workers=2)
        over = threading.Event()
        seen = []

        def ask():
            while not over.is_set():
                report = loader.stalls()
                seen.append(report.batches)
                assert abs(sum(report.shares.values()) - (1 if report.seconds else 0)) < 0.005

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking:
            thread.start()
        for _ in range(20):
            for _ in loader:
                pass
        over.set()
        for thread in asking:
            thread.join()
        assert seen and loader.stalls().batches == 20 * 15
        """, photo_folder)


# What the integrations share.


def test_figures_leave_out_what_is_not_known(report: stoker.StallReport) -> None:
    assert figures(stoker.StallReport({})) == {}
    named = figures(report)
    assert {"stall_share", "images_per_second", "shares/io", "gains/decode", "ceilings/decode"} < named.keys()
    assert "ceilings/copy" not in named  # on the host nothing is copied
    assert named["shares/decode"] == report.shares["decode"] and all(type(value) is float for value in named.values())
    without = stoker.StallReport({**report.to_dict(), "on_cpu_share": None, "cached_known": False})
    assert named.keys() - figures(without).keys() <= {"on_cpu_share", "cached_share"}
    assert "cached_share" not in figures(without) and "on_cpu_share" not in figures(without)


def test_a_loader_is_found_in_what_frameworks_wrap_around_it(photo_folder: Path) -> None:
    dataset = ImageFolder(photo_folder, transforms.Compose([transforms.Resize((8, 8)), transforms.ToTensor()]))
    loader = DataLoader(dataset, batch_size=8)
    others = torch.utils.data.DataLoader(dataset)
    circle: Any = SimpleNamespace()
    circle.loader = circle
    for wrapped in (loader, [others, loader], {"a": others, "b": loader}, SimpleNamespace(base_dataloader=loader),
                    SimpleNamespace(loader=[circle, SimpleNamespace(iterables={"train": loader})])):
        assert first_loader(wrapped, "Callback") is loader
    nothings: list[Any] = [None, others, circle, [], "loader"]
    for nothing in nothings:
        with pytest.warns(UserWarning, match=r"Callback reports nothing.*give it as Callback\(loader=...\)"):
            assert first_loader(nothing, "Callback") is None


README = (Path(__file__).parents[2] / "README.md").read_text()
ROWS = re.findall(r"^\|[^|]*\| `([^`]*(stoker\.\w+)\.\w+\([^`]*)`", README, re.M)
NEEDED: dict[str, list[str]] = {
    "stoker.tensorboard": [], "stoker.lightning": ["lightning.pytorch"], "stoker.transformers": ["transformers"],
    "stoker.prometheus": ["prometheus_client"]}


@pytest.mark.parametrize("code,module", ROWS, ids=[module for _, module in ROWS])
def test_the_readmes_lines_run(photo_folder: Path, code: str, module: str) -> None:
    needed = [pytest.importorskip(name) for name in NEEDED[module]]
    importlib.import_module(module)
    loader = stoker.Loader(photo_folder, 8, stoker.eval(16), output="numpy")
    next(iter(loader))
    names: dict[str, Any] = {"stoker": stoker, "loader": loader, "step": 7, "writer": MagicMock()}
    names["trainer"] = SimpleNamespace(callback_handler=SimpleNamespace(callbacks=["reporter"]))
    names["trainer"].add_callback = names["trainer"].callback_handler.callbacks.append
    registry: Any = needed[0].CollectorRegistry() if module == "stoker.prometheus" else None
    names |= {"REGISTRY": registry, "Trainer": getattr(needed[0], "Trainer", None) if needed else None}
    made = eval(code, names)
    worked: dict[str, Callable[[], bool]] = {
        "stoker.tensorboard": lambda: names["writer"].add_scalar.called,
        "stoker.lightning": lambda: any(type(callback).__module__ == module for callback in made.callbacks),
        "stoker.transformers": lambda: type(names["trainer"].callback_handler.callbacks[0]).__module__ == module,
        "stoker.prometheus": lambda: registry.get_sample_value("stoker_batches_total", {"loader": "train"}) == 1,
    }
    assert worked[module]()


def test_the_readme_has_a_line_for_each() -> None:
    assert sorted(module for _, module in ROWS) == sorted(NEEDED)


def test_a_missing_framework_is_named_with_its_package(run_script: Any) -> None:
    done = run_script("""
        import importlib, sys

        for name in ("lightning", "pytorch_lightning", "transformers", "prometheus_client"):
            sys.modules[name] = None
        import stoker.tensorboard  # takes any writer
        for name in ("lightning", "transformers", "prometheus"):
            try:
                importlib.import_module(f"stoker.{name}")
            except ImportError as error:
                print(error)
        """)
    assert done.stdout.splitlines() == ["lightning.pytorch is not installed: pip install lightning",
                                        "transformers is not installed: pip install transformers",
                                        "prometheus_client is not installed: pip install prometheus_client"]


def test_a_framework_that_is_broken_says_so_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_framework.py").write_text("import a_module_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'a_module_that_is_not_there'"):
        framework("broken_framework", "broken")


def test_the_package_imports_no_framework(run_script: Any) -> None:
    run_script("""
        import sys
        import stoker, stoker.torch, stoker.tensorboard

        named = {"lightning", "pytorch_lightning", "transformers", "prometheus_client", "tensorboard", "tensorboardX"}
        assert not named & sys.modules.keys()
        """)
