"""Pictures to learn from that need no download: scattered shapes, made from a seed."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

__all__ = ["CLASSES", "write_pictures"]

# Corners of each shape as (radius, angle in turns).
CLASSES = {
    "bar": [(1.0, 0.04), (1.0, 0.46), (1.0, 0.54), (1.0, 0.96)],
    "cross": [(1.0, 0.04), (0.35, 0.125), (1.0, 0.21), (1.0, 0.29), (0.35, 0.375), (1.0, 0.46),
              (1.0, 0.54), (0.35, 0.625), (1.0, 0.71), (1.0, 0.79), (0.35, 0.875), (1.0, 0.96)],
    "disc": [(0.8, corner / 24) for corner in range(24)],
    "square": [(0.9, corner / 4) for corner in range(4)],
    "triangle": [(1.0, corner / 3) for corner in range(3)],
}


def write_pictures(folder: Path, per_class: int, seed: int) -> None:
    """Writes folder/CLASS/NUMBER.jpg: shapes of one kind, of any colour, size, place and angle, on striped ground."""
    for name, corners in CLASSES.items():
        (folder / name).mkdir(parents=True)
        for number in range(per_class):
            dice = random.Random(f"{seed} {name} {number}")
            _picture(dice, corners).save(folder / name / f"{number:04}.jpg", quality=dice.randint(75, 95))


def _picture(dice: random.Random, corners: list[tuple[float, float]]) -> Image.Image:
    width, height = dice.randint(100, 160), dice.randint(100, 160)
    image = _ground(dice, width, height)
    draw = ImageDraw.Draw(image)
    for _ in range(dice.randint(5, 9)):
        x, y = dice.uniform(0, width), dice.uniform(0, height)
        radius, turn = dice.uniform(14, 22), dice.random()
        points = [(x + radius * far * math.cos((turn + angle) * math.tau),
                   y + radius * far * math.sin((turn + angle) * math.tau)) for far, angle in corners]
        draw.polygon(points, fill=(dice.randint(120, 255), dice.randint(120, 255), dice.randint(120, 255)))
    return image


def _ground(dice: random.Random, width: int, height: int) -> Image.Image:
    """Dark stripes of two colours, and grain."""
    y, x = np.mgrid[:height, :width]
    frequency, angle = dice.uniform(0.05, 0.9), dice.uniform(0, math.pi)
    wave = np.sin((x * math.cos(angle) + y * math.sin(angle)) * frequency)[..., None] * 0.5 + 0.5
    first, second = (np.array([dice.uniform(0, 120) for _ in range(3)]) for _ in range(2))
    grain = np.random.default_rng(dice.getrandbits(32)).normal(0, 10, (height, width, 1))
    return Image.fromarray(np.clip(first * wave + second * (1 - wave) + grain, 0, 255).astype(np.uint8))
