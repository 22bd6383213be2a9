"""The wheel, as a user meets it: built by pip, installed where nothing else is, for every Python found here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
SOURCE_FOLDERS = ("augment", "bench", "decode", "loader", "python", "transfer")


def run(command: Sequence[object], cwd: Path) -> str:
    """What a command prints. It sees no Python of ours: neither this environment's packages nor PYTHONPATH's."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment.setdefault("CXX", "c++")
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{command} in {cwd}: {done.returncode}\n{done.stdout}"
    return done.stdout


@cache
def interpreter(version: str) -> Path | None:
    """A Python of this version that can build the wheel: one with venv and headers. The running one for its own."""
    if version == OWN:
        return Path(sys.executable)
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin"))
    able = ("import ensurepip, pathlib, sys, sysconfig\n"
            f"assert sys.version_info[:2] == ({version.replace('.', ', ')})\n"
            "assert pathlib.Path(sysconfig.get_path('include'), 'Python.h').exists()")
    for path in (folder / f"python{version}" for folder in folders):
        # A shim of pyenv exists also where it leads nowhere.
        if path.exists() and subprocess.run([path, "-c", able], capture_output=True, check=False).returncode == 0:
            return path
    return None


@pytest.fixture(scope="module", params=PYTHONS if OWN in PYTHONS else (*PYTHONS, OWN))
def python(request: pytest.FixtureRequest) -> Path:
    version: str = request.param
    found = interpreter(version)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\nwheel for Python {version}: {found or 'not tested, there is none here'}")
    if found is None:
        pytest.skip(f"no Python {version} with venv and headers here")
    return found


@pytest.fixture(scope="module")
def wheel(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new wheel. The build folder is kept, and the same for all: only the module is another one."""
    folder = tmp_path_factory.mktemp("wheel")
    # Compiled as the release build is, by the same name of the compiler, so that ccache knows the files already.
    command = [python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder,
               f"--config-settings=build-dir={ROOT}/build/wheel", "--config-settings=cmake.define.STOKER_WERROR=ON"]
    own = python == Path(sys.executable)
    run([*command, *(["--no-build-isolation"] if own else []), ROOT], folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def empty(python: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    run([python, "-m", "venv", folder / "venv"], folder)
    run([folder / "venv/bin/python", "-m", "pip", "install", "--no-index", wheel], folder)
    return folder / "venv/bin"


def test_holds_the_package_and_its_programs_only(wheel: Path) -> None:
    names = {re.sub(r"_core\..*\.so", "_core.so", name) for name in zipfile.ZipFile(wheel).namelist()}
    package = {f"stoker/{path.name}" for path in (ROOT / "python/stoker").iterdir()
               if path.suffix in (".py", ".pyi", ".typed")}
    native = {"stoker/_core.so", "stoker/lib/libstoker.so.0", "stoker/lib/libstoker_opencv.so", "stoker/bin/stoker"}
    peers = {f"stoker/share/stoker/peers/{path.name}" for path in (ROOT / "bench/peers").iterdir()
             if path.suffix == ".py" or path.name == "requirements.txt"}
    assert {name for name in names if ".dist-info/" not in name} == package | native | peers


def test_works_where_nothing_else_is_installed(empty: Path, tmp_path: Path) -> None:
    print(run([empty / "python", Path(__file__).with_name("bare_python.py")], tmp_path))


def test_runs_the_example_of_the_readme(empty: Path, tmp_path: Path) -> None:
    run([empty / "stoker", "synth", "photos/train", "--pictures", 100, "--classes", 2, "--no-odd-files"], tmp_path)
    (tmp_path / "example.py").write_text(readme_example())
    run([empty / "python", "example.py"], tmp_path)


def readme_example() -> str:
    """The first Python block below a heading that names Python."""
    found = re.search(r"^#+ [^\n]*\bPython\b.*?^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.S | re.M)
    assert found, "the README has an example below a heading that names Python"
    return found.group(1)


def test_source_distribution_holds_the_sources(tmp_path: Path) -> None:
    run([sys.executable, "-c", "import scikit_build_core.build as b, sys; b.build_sdist(sys.argv[1])", tmp_path], ROOT)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        held = {name.split("/", 1)[1] for name in archive.getnames()}
    wanted = {str(path.relative_to(ROOT)) for folder in SOURCE_FOLDERS for path in (ROOT / folder).rglob("*")
              if path.suffix in (".cc", ".h", ".py", ".pyi", ".typed", ".in") or path.name == "CMakeLists.txt"}
    assert not wanted - held
    assert {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= held
