"""What the tests share: folders of small pictures, files that are broken or never answer, scripts run by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from pictures import picture

CLASSES = ("ant", "bee", "cat")
PER_CLASS = 20

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
"""Of processes that are to import what the tests do."""

RunScript = Callable[..., "subprocess.CompletedProcess[str]"]
MakeBroken = Callable[[str], Path]


@pytest.fixture(scope="session")
def photo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 classes with 20 JPEGs each, 100 to 300 pixels a side, no two alike. For all tests: nobody writes there."""
    root = tmp_path_factory.mktemp("photos")
    for label, name in enumerate(CLASSES):
        (root / name).mkdir()
        for i in range(PER_CLASS):
            height, width = 100 + 37 * i % 201, 100 + 53 * (i + label) % 201
            picture("RGB", height, width, seed=label * PER_CLASS + i).save(root / name / f"{i:02}.jpg", quality=90)
    return root


@pytest.fixture
def hung_file(tmp_path: Path) -> Path:
    """A file that does not answer, like one on a dead disk: whoever reads it waits until somebody writes to it.

    Who does must hold it open until the reader has answered: there may be a look at the file before it is read.
    """
    path = tmp_path / "hung.jpg"
    os.mkfifo(path)
    return path


def _jpeg() -> bytes:
    file = BytesIO()
    picture("RGB", 120, 160, seed=7).save(file, "jpeg", quality=90)
    return file.getvalue()


def _png_header(height: int, width: int) -> bytes:
    chunk = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")


BROKEN: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"<html>404 not found</html>",
    "truncated": lambda: _jpeg()[:1500],
    "header only": lambda: _jpeg()[:20],
    "no pixels": lambda: _png_header(10, 10),
    "bomb": lambda: _png_header(100_000, 100_000),
}
"""Contents of files that are no whole pictures."""


@pytest.fixture
def make_broken(tmp_path: Path) -> MakeBroken:
    """Makes a file of one of the kinds of BROKEN."""
    def make(kind: str) -> Path:
        path = tmp_path / f"{kind}.jpg"
        path.write_bytes(BROKEN[kind]())
        return path
    return make


@pytest.fixture
def run_script(tmp_path: Path) -> RunScript:
    """Runs Python source in a process of its own, in the test's folder, with `arguments` in sys.argv.

    It must end within a minute, however busy the machine.
    """
    def run(source: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(source))
        done = subprocess.run([sys.executable, str(script), *map(str, arguments)], cwd=tmp_path, env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    return run
