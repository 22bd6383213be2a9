"""Large photographs for measuring: several of a folder side by side, as JPEGs of 12 megapixels.

    python bench/joined_photos.py PHOTOS OUT [--count N] [--size WIDTHxHEIGHT]
"""

import argparse
import itertools
import pathlib

from PIL import Image


def joined(photos: "itertools.cycle[pathlib.Path]", width: int, height: int) -> Image.Image:
    """Rows of photographs, each cut to what is left of its place."""
    canvas = Image.new("RGB", (width, height))
    y = 0
    while y < height:
        x, row_height = 0, 0
        while x < width:
            with Image.open(next(photos)) as photo:
                canvas.paste(photo.convert("RGB"), (x, y))
                x += photo.width
                row_height = photo.height if row_height == 0 else min(row_height, photo.height)
        y += row_height
    return canvas


def size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--size", type=size, default=(4000, 3000), metavar="WIDTHxHEIGHT")
    options = parser.parse_args()
    names = sorted(options.photos.rglob("*.jpg"))
    if not names:
        parser.error(f"{options.photos}: no .jpg files")
    folder = options.out / "joined"
    folder.mkdir(parents=True, exist_ok=True)
    photos = itertools.cycle(names)
    for i in range(options.count):
        joined(photos, *options.size).save(folder / f"{i:04}.jpg", quality=90)


if __name__ == "__main__":
    main()
