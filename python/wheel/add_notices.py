"""add_notices.py WHEEL: puts the licences of the libraries that auditwheel put into WHEEL beside WHEEL's own.

Needs auditwheel, and the Debian on which the wheel was made: each of its packages has its licence under /usr/share/doc.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from auditwheel.wheeltools import InWheelCtx  # type: ignore[import-not-found]


def package_of(library: str) -> str:
    """The Debian package of a library that auditwheel renamed: of libx.so.1 for libx-0123abcd.so.1."""
    original = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    found = subprocess.run(["dpkg-query", "--search", f"*/{original}"], capture_output=True, text=True, check=True)
    return found.stdout.split(":")[0]


def main() -> None:
    wheel = Path(sys.argv[1])
    with InWheelCtx(wheel, wheel) as inside:
        licenses = next(inside.path.glob("*.dist-info")) / "licenses"
        for package in sorted({package_of(library.name) for library in inside.path.glob("*.libs/*")}):
            shutil.copyfile(f"/usr/share/doc/{package}/copyright", licenses / f"{package}.txt")


if __name__ == "__main__":
    main()
