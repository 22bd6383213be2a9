"""Where torchvision's transforms crop, for loaders that bring none of their own."""

from __future__ import annotations

import math
from typing import Protocol

from rival import AREA, RATIO, RESIZED, SIZE

__all__ = ["Dice", "center_box", "random_box"]

_TRIES = 10


class Dice(Protocol):
    """random, random.Random or a NumPy generator."""

    def uniform(self, low: float, high: float, /) -> float: ...


def random_box(width: int, height: int, dice: Dice) -> tuple[int, int, int, int]:
    """RandomResizedCrop's left, top, width and height."""
    for _ in range(_TRIES):
        area = width * height * dice.uniform(*AREA)
        ratio = math.exp(dice.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < across <= width and 0 < down <= height:
            return (int(dice.uniform(0, width - across + 1)), int(dice.uniform(0, height - down + 1)), across, down)
    # So long or so high that none fitted: the middle, as much of it as the ratio allows.
    across = min(width, round(height * RATIO[1]))
    down = min(height, round(width / RATIO[0]))
    return (width - across) // 2, (height - down) // 2, across, down


def center_box(width: int, height: int) -> tuple[int, int, int, int]:
    """What Resize and CenterCrop do: the width and height to resize to, and the left and top of the crop in it."""
    short = min(width, height)
    width, height = (RESIZED if side == short else int(RESIZED * side / short) for side in (width, height))
    left, top = (round((side - SIZE) / 2) for side in (width, height))
    return width, height, left, top
