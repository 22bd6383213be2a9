"""What must work with nothing but Python and the wheel: a program without a test framework, torch or numpy.

wheel_test.py runs it in an empty environment, python/wheel/check.sh in a Debian with nothing in it but Python.
"""

from __future__ import annotations

import importlib.metadata
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import stoker

SIDE = 8
RED = (250, 20, 3)


def _bmp(colour: tuple[int, int, int]) -> bytes:
    pixels = bytes(reversed(colour)) * SIDE * SIDE
    return struct.pack("<2sIHHI IiiHHIIiiII", b"BM", 54 + len(pixels), 0, 0, 54,
                       40, SIDE, SIDE, 1, 24, 0, len(pixels), 0, 0, 0, 0) + pixels


def _tiff(colour: tuple[int, int, int], *, deflate: bool) -> bytes:
    pixels = bytes(colour) * SIDE * SIDE
    strip = zlib.compress(pixels) if deflate else pixels
    tags = {256: SIDE, 257: SIDE, 259: 8 if deflate else 1, 262: 2, 277: 3, 278: SIDE, 279: len(strip)}
    bits = 8 + 2 + 12 * (len(tags) + 2) + 4  # where the three samples' widths lie, then the strip
    entries = [(258, 3, 3, bits), (273, 4, 1, bits + 6), *((tag, 4, 1, value) for tag, value in tags.items())]
    directory = b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    return (b"II*\0" + struct.pack("<IH", 8, len(entries)) + directory + bytes(4) + struct.pack("<3H", 8, 8, 8) + strip)


def _png(colour: tuple[int, int, int]) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes(colour) * SIDE) * SIDE
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def check_pixels(folder: Path) -> None:
    """The formats that this file can write itself, pixel by pixel: BMP and TIFF go through OpenCV."""
    pictures = {"red.bmp": _bmp(RED), "red.png": _png(RED), "red.tif": _tiff(RED, deflate=False),
                "red-deflate.tif": _tiff(RED, deflate=True)}
    (folder / "red").mkdir(parents=True)
    for name, content in pictures.items():
        (folder / "red" / name).write_bytes(content)
    loader = stoker.Loader(folder, batch_size=len(pictures), transform=stoker.Transform(fixed_size=(SIDE, SIDE)),
                           output="dlpack")
    [(images, labels)] = list(loader)
    assert images.shape == (len(pictures), 3, SIDE, SIDE), images.shape
    assert images.__dlpack_device__() == (1, 0), "host memory"
    planes = b"".join(bytes([value]) * SIDE * SIDE for value in RED)
    assert memoryview(images).tobytes() == planes * len(pictures), "every picture is one colour"
    assert memoryview(labels).tolist() == [0] * len(pictures)


def check_set(folder: Path) -> None:
    """A set with JPEGs of every kind, PNG, WebP and a broken file."""
    loader = stoker.Loader(folder, batch_size=16, transform=stoker.train(64), output="dlpack", on_error="skip")
    assert sum(len(labels) for _, labels in loader) == 200


def run_command(*arguments: object, code: int = 0) -> str:
    """What the wheel's command prints, with the exit code that it must have."""
    done = subprocess.run([Path(sys.prefix) / "bin" / "stoker", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def main() -> None:
    assert not {"torch", "numpy"} & set(sys.modules), "imported by stoker"
    version = importlib.metadata.version("stoker")
    assert stoker.__version__ == version
    assert run_command("--version").strip() == version
    assert "synth" in run_command("--help")
    run_command("run", "no-such-folder", code=2)
    with tempfile.TemporaryDirectory() as folder:
        run_command("synth", f"{folder}/set", "--pictures", 200, "--classes", 4)
        assert "verdict" in run_command("run", f"{folder}/set", "--on-error", "skip")
        check_set(Path(folder, "set"))
        check_pixels(Path(folder, "colours"))
    print(f"stoker {version}, Python {sys.version.split()[0]}: import, command, JPEG, PNG, WebP, BMP, TIFF")


if __name__ == "__main__":
    main()
