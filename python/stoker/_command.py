"""The ``stoker`` command of the wheel: the program itself is native, in this package's ``bin``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Becomes the program: its arguments, its exit code, its signals."""
    program = Path(__file__).parent / "bin" / "stoker"
    os.execv(program, ["stoker", *sys.argv[1:]])
