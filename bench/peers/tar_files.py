"""JPEG files in tar archives, byte for byte, for loaders that read nothing else."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_tar"]


def write_tar(archive: Path, files: Iterable[tuple[int, str]], labels: list[int] | None = None) -> None:
    """Each file is given with the number that names it; labels, where given, follow it as NUMBER.cls."""
    with tarfile.open(archive, "w") as tar:
        for number, file in files:
            tar.add(file, f"{number:08}.jpg")
            if labels is not None:
                text = str(labels[number]).encode()
                member = tarfile.TarInfo(f"{number:08}.cls")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
