"""torchvision's and timm's transforms as Stoker's own.

:func:`lower` walks a transform as it would run on the RGB image that ``ImageFolder`` loads, and gives the
:class:`~stoker.transforms.Transform` that makes the same of it, or raises
:class:`~stoker.errors.UnsupportedTransform`. Nothing of the transform is run, and neither torchvision nor timm is
imported: classes are known by name, and exactly, since a subclass may do anything.

On PIL images everything that is lowered gives the same pixels, resampled ones within 1 of 255. On tensors torch
resamples by other rules; bilinear with ``antialias=True`` comes as close and is lowered, the rest is refused. Colours
are changed on PIL images only. Values are rounded to float16 or bfloat16 once, at the end.
"""

from __future__ import annotations

from typing import Any, NoReturn, get_args

from stoker import _timm, _torchvision
from stoker.errors import UnsupportedTransform
from stoker.transforms import (
    CenterCrop,
    ColorJitter,
    Normalize,
    Op,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    Transform,
)

__all__ = ["lower"]

_ANYWHERE = "leave it out, or keep torch.utils.data.DataLoader for this dataset"
_ON_THE_BATCH = "run it on the batch that the loader gives"
_ADVICE = {
    "CutMix": _ON_THE_BATCH,
    "Lambda": _ON_THE_BATCH + ", or write it with transforms that Stoker knows",
    "MixUp": _ON_THE_BATCH,
    "RandomErasing": _ON_THE_BATCH,
    "ToNumpy": "end with ToTensor() or PILToTensor(), and convert the batch",
    "list": "wrap it in torchvision.transforms.Compose",
    "tuple": "wrap it in torchvision.transforms.Compose",
    "ToPILImage": "leave it out: pictures are PIL images until ToTensor() or ToImage()",
}
_HALVES = ("float16", "bfloat16")


def lower(transform: object) -> Transform:
    """Stoker's form of ``transform``: a transform of torchvision (v1, v2, or a preset of its weights) or timm,
    ``nn.Sequential`` and ``Compose`` of them, a :class:`Transform`, one op of :mod:`stoker.transforms` or a sequence
    of them (float32 where they end in :class:`Normalize`, else uint8).

    Raises :class:`UnsupportedTransform`, which names the transform, its argument and what to do.
    """
    if isinstance(transform, Transform):
        return transform
    ops = _own_ops(transform)
    if ops is not None:
        return Transform(ops, "float32" if ops and isinstance(ops[-1], Normalize) else "uint8")
    if transform is None:
        raise UnsupportedTransform("transform=None gives PIL images, which do not stack to a batch; a batch of tensors "
                                   "needs ToTensor() and one size, as from RandomResizedCrop, or Resize and CenterCrop")
    lowering = Lowering()
    lowering.add(transform)
    return lowering.finish(transform)


def _own_ops(transform: object) -> tuple[Op, ...] | None:
    ops = tuple(transform) if isinstance(transform, (list, tuple)) else (transform,)
    return ops if all(isinstance(op, get_args(Op)) for op in ops) else None


def public_name(kind: type) -> str:
    """The name of a class as its users write it: "torchvision.transforms.v2.Resize"."""
    module = ".".join(part for part in kind.__module__.split(".") if not part.startswith("_"))
    return f"{module.replace('transforms.transforms', 'transforms')}.{kind.__qualname__}"


class Lowering:
    """The ops so far, and what the picture is after them."""

    def __init__(self) -> None:
        self.tensor = False  # else a PIL image
        self.dtype = "uint8"
        self.channels = 3
        self.at_least = (1, 1)  # height, width: what every picture surely has
        self._ops: list[Op] = []
        self._normalize: Normalize | None = None
        self._flipped = False
        self._resampled = False
        self._padded = False
        self._jittered = False

    def refuse(self, transform: object, what: str, remedy: str) -> NoReturn:
        """Raises UnsupportedTransform: "name: what; remedy"."""
        function = getattr(transform, "__qualname__", None)
        name = public_name(type(transform)) if function is None else f"the function {function}"
        raise UnsupportedTransform(f"{name}: {what}; {remedy}")

    def add(self, transform: Any) -> None:
        """Lowers one transform, or all of a container's."""
        kind = type(transform)
        handler = _HANDLERS.get(public_name(kind))
        if handler is not None:
            return handler(self, transform)
        for base in kind.__mro__[1:]:
            if public_name(base) in _HANDLERS:
                self.refuse(transform, f"is a subclass of {public_name(base)} and may do something else",
                            f"use {base.__qualname__} itself, {_ANYWHERE}")
        self.refuse(transform, "is not lowered", _ADVICE.get(kind.__qualname__, _ANYWHERE))

    def finish(self, transform: object) -> Transform:
        """What `transform`, all of which was added, comes to."""
        if not self.tensor:
            self.refuse(transform, "gives PIL images, which do not stack to a batch", "add ToTensor()")
        ops = self._ops if self._normalize is None else [*self._ops, self._normalize]
        return Transform(tuple(ops), self.dtype)

    # Changes of type.

    def to_tensor(self) -> None:
        """Of uint8, as PIL images hold; nothing to do on a tensor."""
        self.tensor = True

    def convert(self, transform: object, dtype: str, *, scale: bool) -> None:
        """Of a tensor's values; to a float 0 to 1 if `scale`."""
        if dtype == self.dtype:
            return
        if dtype not in ("float32", *_HALVES):
            self.refuse(transform, f"dtype=torch.{dtype} from {self.dtype} is not lowered",
                        "convert to float32, float16 or bfloat16, or leave out what made it a float")
        if self.dtype in _HALVES:
            self.refuse(transform, f"dtype=torch.{dtype} of values that were rounded to {self.dtype} before",
                        f"leave out the conversion to {self.dtype}")
        if self.dtype == "uint8" and not scale:
            self.refuse(transform, "scale=False leaves floats of 0 to 255",
                        "pass scale=True, and divide mean and std by 255")
        self.dtype = dtype

    def normalize(self, transform: object, op: Normalize) -> None:
        if not self.tensor or self.dtype == "uint8":
            self.refuse(transform, "takes floats, as in torchvision",
                        "put ToTensor(), or ToImage() and ToDtype(torch.float32, scale=True), before it")
        if self._normalize is not None:
            self.refuse(transform, "comes twice", "merge the two into one")
        self._normalize = op

    # Changes of shape.

    def resample(self, transform: object, op: RandomResizedCrop | Resize, antialias: bool | None,
                 at_least: tuple[int, int]) -> None:
        if self.tensor and op.interpolation != "bilinear":
            self.refuse(transform,
                        f"interpolation={op.interpolation!r} of a tensor follows other rules than of a PIL image",
                        "put it before ToTensor() or ToImage(), or use bilinear")
        if self.tensor and not antialias:
            self.refuse(transform, f"antialias={antialias} of a tensor is not lowered",
                        "pass antialias=True, or put it before ToTensor() or ToImage()")
        if self._flipped and op.interpolation == "nearest":
            self.refuse(transform, "interpolation='nearest' after a flip picks other pixels where two are as near",
                        "put the flip behind it")
        if self._resampled:
            self.refuse(transform, "resamples what was resampled before", "let one transform make the size")
        if self._padded:
            self.refuse(transform, "resamples what was padded before", "put the padding behind it")
        self._resampled = True
        self._crop(transform, op, at_least)

    def flip(self, op: RandomHorizontalFlip | RandomVerticalFlip) -> None:
        self._flipped = True
        self._ops.append(op)

    def center_crop(self, transform: object, op: CenterCrop, size: tuple[int, int]) -> None:
        if self._normalize is not None and (size[0] > self.at_least[0] or size[1] > self.at_least[1]):
            self.refuse(transform, "pads smaller pictures with zeros, which Normalize has given another meaning",
                        "put it before Normalize")
        self._crop(transform, op, size)

    def random_crop(self, transform: object, op: RandomCrop, size: tuple[int, int]) -> None:
        if op.pad_if_needed or any(op.padding):
            self._start_padding(transform, op)
        self._crop(transform, op, size)

    def pad(self, transform: object, op: Pad) -> None:
        if any(op.padding):
            self._start_padding(transform, op)
            left, top, right, bottom = op.padding
            self._crop(transform, op, (self.at_least[0] + top + bottom, self.at_least[1] + left + right))

    def fill(self, transform: object, values: list[float]) -> tuple[int, int, int]:
        """The pixel, 0 to 255, that `values` are at this place: one for all channels or one for each."""
        if len(values) not in (1, self.channels):
            self.refuse(transform, f"fill={values} for {self.channels} channels",
                        "give one number, or one for each channel")
        if self._normalize is not None:
            self.refuse(transform, f"fill={values} comes after Normalize", "put it before Normalize")
        levels = [value * 255 if self.dtype != "uint8" else value for value in values]
        pixel = [round(level) for level in levels]
        if any(abs(level - whole) > 1e-4 or not 0 <= whole <= 255 for level, whole in zip(levels, pixel, strict=True)):
            self.refuse(transform, f"fill={values} is not a pixel of 0 to 255",
                        "put it before ToTensor(), with whole numbers")
        red, green, blue = pixel * 3 if len(pixel) == 1 else pixel
        return red, green, blue

    def _start_padding(self, transform: object, op: Pad | RandomCrop) -> None:
        if self._padded and (op.padding_mode != "constant" or any(op.fill)):
            self.refuse(transform, f"padding_mode={op.padding_mode!r}, fill={op.fill} pads what was padded before",
                        "pad once, or with zeros")
        self._padded = True

    def _crop(self, transform: object, op: Op, at_least: tuple[int, int]) -> None:
        if self._jittered:
            self.refuse(transform,
                        "comes after ColorJitter, whose contrast is relative to all that the picture then shows",
                        "put ColorJitter behind it")
        self.at_least = at_least
        self._ops.append(op)

    # Changes of colour.

    def color(self, transform: object, op: Op) -> None:
        """ColorJitter, Grayscale, RandomGrayscale."""
        if self.tensor:
            self.refuse(transform, "rounds otherwise on tensors than on PIL images",
                        "put it before ToTensor(), PILToTensor() or ToImage()")
        if isinstance(op, ColorJitter):
            if self._jittered:
                self.refuse(transform, "comes twice", "merge the two into one")
            self._jittered = True
        self._ops.append(op)


_HANDLERS = {**_torchvision.HANDLERS, **_timm.HANDLERS}

