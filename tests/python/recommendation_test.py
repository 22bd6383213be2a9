"""What stoker.tune found, as it is read and used. The search's binding."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest
import stoker
from stoker import _core
from stoker.recommendation import Setting
from trials import BATCH, EVAL, small_folder, tune


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> stoker.Loader:
    return stoker.Loader(small_folder(tmp_path_factory), BATCH, EVAL, output="numpy", num_workers=1)


@pytest.fixture(scope="module")
def found(loader: stoker.Loader) -> stoker.Recommendation:
    return tune(loader, lambda batch: None, replay=2)


def test_it_reads_in_a_terminal(found: stoker.Recommendation) -> None:
    text = repr(found)
    assert text.splitlines()[0] == "Recommendation"
    assert max(map(len, text.splitlines())) < 200
    for words in (found.recommended.words, found.verdict, found.advice, "PyTorch's usual start, 4 workers", "img/s",
                  found.python_line, found.cpp_line, f"{found.runs}, {found.grid_runs - found.runs} fewer"):
        assert words in text


def test_lines_are_ready_to_paste(found: stoker.Recommendation) -> None:
    lane = dataclasses.replace(found.recommended, setting=Setting(3, 4, 8, "pread"))
    one = dataclasses.replace(found, recommended=lane)
    assert one.python_line == 'stoker.Loader(..., num_workers=3, prefetch_factor=4, queue_depth=8, reader="pread")'
    assert one.cpp_line == ("stoker::LoaderOptions options{.num_workers = 3, .prefetch_factor = 4, "
                            ".reader = stoker::ReaderKind::kPread, .queue_depth = 8};")
    called = dataclasses.replace(one, call="make").python_line
    assert called == 'make(num_workers=3, prefetch_factor=4, queue_depth=8, reader="pread")'


def test_it_is_a_table_in_a_notebook_with_all_text_escaped(found: stoker.Recommendation) -> None:
    html = found._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 2
    assert html.count("<tr>") == html.count("</tr>") == 2 + 2 + len(found.baselines) + len(found.lanes)
    assert "color" not in html
    for name in ("verdict", "advice", "call"):
        text: Any = {name: "<script>&"}
        odd = dataclasses.replace(found, **text)
        assert "<script>" not in odd._repr_html_()
        assert "&lt;script&gt;&amp;" in odd._repr_html_()
    lane = dataclasses.replace(found.best, words="<i>")
    assert "<i>" not in dataclasses.replace(found, best=lane, lanes=(lane,))._repr_html_()
    assert "&lt;b&gt;" in dataclasses.replace(found, failures=("<b>",))._repr_html_()


def test_it_is_plain_data(found: stoker.Recommendation) -> None:
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.verdict = ""  # type: ignore[misc]
    assert found.complete
    assert {found.setting, found.best.setting} <= {lane.setting for lane in found.lanes}
    assert sum(lane.runs for lane in found.lanes) == found.runs
    assert found.images_per_second == found.recommended.images_per_second > 0
    assert found.margin is None  # of one round
    assert found.planned_bytes > 0
    assert found.cpu_seconds_per_1000 > 0


def test_several_rounds_give_intervals(loader: stoker.Loader) -> None:
    recommended = tune(loader, rounds=2, most_rounds=2)
    assert recommended.margin is not None
    assert recommended.recommended.runs >= 2
    assert " ± " in repr(recommended)


def test_the_search_says_where_it_is_over(loader: stoker.Loader) -> None:
    search = _core.Search(cpus=4, rounds=1, most_rounds=1)
    asked = []
    while (setting := search.next()) is not None:
        asked.append(setting)
        assert search.runs_left > 0
        search.fail("no")
    assert [setting["num_workers"] for setting in asked] == [1, 4]
    assert search.words == "over"
    assert search.found() is None
    with pytest.raises(RuntimeError, match="over"):
        search.fail("again")
    with pytest.raises(RuntimeError, match="over"):
        search.add(loader.stalls(), 0, 0, 0)


def test_every_name_of_the_search_is_in_the_stub() -> None:
    stub = (Path(stoker.__file__).parent / "_core.pyi").resolve().read_text()
    described = stub[stub.index("class Search"):].split("\n@final")[0]
    names = {name for name, _ in inspect.getmembers(_core.Search) if not name.startswith("_")}
    assert names == {line.split("(")[0].split()[-1] for line in described.splitlines() if line.startswith("    def ")
                     and "__init__" not in line}
