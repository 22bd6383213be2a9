"""What a loader in this comparison is: one file here with the names below, and one line in RIVALS.

The job of all: JPEG files -> RandomResizedCrop(224), RandomHorizontalFlip, Normalize with ImageNet's values -> float32
batches (N, 3, 224, 224), contiguous, in host memory, shuffled, the last short batch dropped.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

__all__ = ["AREA", "MEAN", "RATIO", "RESIZED", "RIVALS", "SIZE", "STD", "Batch", "Job", "Rival", "install_line", "load"]


class Entry(NamedTuple):
    module: str
    """Never its library's own name, which it would hide."""
    install: str
    """What pip is to install, in the versions of requirements.txt."""


RIVALS = {
    "stoker": Entry("stoker_loader", ". torchvision"),
    "stoker-learned": Entry("stoker_learned", ". torchvision"),
    "torchvision-io": Entry("torchvision_io", "torch torchvision"),
    "torch-pil": Entry("torch_pil", "torch torchvision"),
    "dali": Entry("dali_loader", "nvidia-dali-cuda130"),
    "ffcv": Entry("ffcv_loader", "--no-build-isolation ffcv==1.0.2"),
    "spdl": Entry("spdl_loader", "spdl"),
    "tf.data": Entry("tfdata_loader", "tensorflow-cpu"),
    "grain": Entry("grain_loader", "grain opencv-python-headless"),
    "webdataset": Entry("webdataset_loader", "webdataset"),
    "turboloader": Entry("turbo_loader", "turboloader"),
    "turboloader-antialias": Entry("turbo_antialias", "turboloader"),
    "opencv-threads": Entry("opencv_threads", "opencv-python-headless"),
}
"""The name on the command line -> where the loader is. A path of a .py file is a loader of the caller's own."""

SIZE = 224
RESIZED = 256
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
"""RandomResizedCrop's share of the picture, and width / height."""

Batch = Sequence[Any]
"""Images and labels."""


@dataclass(frozen=True)
class Job:
    files: list[str]
    """An epoch. A short set is in it `repeat` times, one after the other."""
    labels: list[int]
    repeat: int
    batch_size: int
    workers: int
    prepared: Path
    """The folder that prepare() filled."""


class Rival(Protocol):
    """A module. It imports its library at the top, so that the import is no part of the first batch's time.

    One that cannot read JPEG files as they lie there has one name more:

        def prepare(files: list[str], labels: list[int], folder: Path) -> None

    It writes what the loader reads into the empty folder, and is not timed. Files and labels are given without repeats.
    """

    VERSIONS: str
    """Its libraries and their versions, its own first."""

    PROMISE: str
    """How it decodes and resamples: what the parity line is to be read with."""

    def make(self, job: Job) -> Iterable[Batch]:
        """The loader for the job above. Each iter() is an epoch."""

    def fixed(self, job: Job) -> Iterable[Batch]:
        """The same pipeline without dice, in the files' order: Resize(256), CenterCrop(224), Normalize. The files are
        the first of those that were prepared. Raises NotImplementedError, saying why, where that cannot be."""


def load(name: str) -> Rival:
    """Raises ImportError where the rival's library is not installed."""
    if name in RIVALS:
        return cast(Rival, importlib.import_module(RIVALS[name].module))
    path = Path(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Rival, module)


def install_line(name: str) -> str:
    """The command that installs what the rival needs; empty for a loader of the caller's own."""
    return f"pip install -c bench/peers/requirements.txt {RIVALS[name].install}" if name in RIVALS else ""
