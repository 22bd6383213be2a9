"""What each of torchvision's transforms says to a Lowering. Arguments are read, never checked: torchvision did."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stoker.transforms import (
    CenterCrop,
    ColorJitter,
    Grayscale,
    Normalize,
    Pad,
    RandomCrop,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    Size,
)

if TYPE_CHECKING:
    from stoker.lowering import Lowering

__all__ = ["HANDLERS", "Handler", "default_float", "interpolation_name", "is_v2", "square"]

Handler = Callable[["Lowering", Any], None]

_PILLOW = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers


def is_v2(transform: object) -> bool:
    return type(transform).__module__.startswith("torchvision.transforms.v2")


def interpolation_name(value: Any) -> str:
    """Of an InterpolationMode, a number of Pillow's or a name. On PIL images nearest-exact is nearest."""
    value = getattr(value, "value", value)
    name = _PILLOW[value] if isinstance(value, int) else str(value)
    return "nearest" if name == "nearest-exact" else name


def square(size: tuple[int, int]) -> Size:
    """One number where both sides are the same, as people write it."""
    return size[0] if size[0] == size[1] else size


def default_float() -> str:
    """What ToTensor makes."""
    import torch

    return _dtype_name(torch.get_default_dtype())


def _dtype_name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def _pair(values: Any) -> tuple[Any, Any]:
    first, second = values
    return first, second


def _floats(values: Any) -> tuple[float, ...]:
    """Of a number, a sequence or a tensor."""
    values = values.tolist() if hasattr(values, "tolist") else values
    return tuple(float(value) for value in (values if isinstance(values, (list, tuple)) else (values,)))


# Containers.


def _container(lowering: Lowering, transform: Any) -> None:
    for child in transform.transforms:
        lowering.add(child)


def _sequential(lowering: Lowering, transform: Any) -> None:
    for child in transform:
        lowering.add(child)


def _random_apply(lowering: Lowering, transform: Any) -> None:
    if transform.p not in (0, 1):
        lowering.refuse(transform, f"p={transform.p} is not lowered", "use p=1, or leave it out")
    if transform.p == 1:
        _container(lowering, transform)


def _identity(lowering: Lowering, transform: Any) -> None:
    pass


def _image_classification(lowering: Lowering, transform: Any) -> None:
    """The preset that comes with torchvision's weights."""
    resized, size = transform.resize_size, transform.crop_size[0]
    _resize_to(lowering, transform, resized, None, transform.interpolation, transform.antialias)
    lowering.center_crop(transform, CenterCrop(size), (size, size))
    lowering.to_tensor()
    lowering.convert(transform, "float32", scale=True)
    _normalize(lowering, transform)


# Types and values.


def _to_tensor(lowering: Lowering, transform: Any) -> None:
    _from_pil(lowering, transform, default_float())


def _pil_to_tensor(lowering: Lowering, transform: Any) -> None:
    _from_pil(lowering, transform, "uint8")


def _from_pil(lowering: Lowering, transform: Any, dtype: str) -> None:
    """v2 lets a tensor pass, v1 raises."""
    if not lowering.tensor:
        lowering.to_tensor()
        lowering.convert(transform, dtype, scale=True)
    elif not is_v2(transform):
        lowering.refuse(transform, "takes a PIL image, and gets a tensor", "leave it out")


def _to_dtype(lowering: Lowering, transform: Any) -> None:
    """v2 lets a PIL image pass, v1 raises."""
    if isinstance(transform.dtype, dict):
        lowering.refuse(transform, f"dtype={transform.dtype} is not lowered", "pass the one dtype of the images")
    if lowering.tensor:
        # ConvertImageDtype always scales.
        lowering.convert(transform, _dtype_name(transform.dtype), scale=getattr(transform, "scale", True))
    elif not is_v2(transform):
        lowering.refuse(transform, "takes a tensor, and gets a PIL image", "put PILToTensor() before it")


def _normalize(lowering: Lowering, transform: Any) -> None:
    mean, std = _floats(transform.mean), _floats(transform.std)
    if {len(mean), len(std)} - {1, lowering.channels}:
        lowering.refuse(transform, f"mean={mean}, std={std} for {lowering.channels} channels",
                        "give one number for all channels, or one for each")
    spread = [values * lowering.channels if len(values) == 1 else values for values in (mean, std)]
    lowering.normalize(transform, Normalize(*spread))


# Shape.


def _resize(lowering: Lowering, transform: Any) -> None:
    size = transform.size
    if size is None:
        lowering.refuse(transform, "size=None is not lowered", "give the size of the shorter side, or (height, width)")
    _resize_to(lowering, transform, [size] if isinstance(size, int) else size, transform.max_size,
               transform.interpolation, transform.antialias)


def _resize_to(lowering: Lowering, transform: Any, size: Any, max_size: int | None, interpolation: Any,
               antialias: bool | None) -> None:
    """size: that of the shorter side alone, or height and width."""
    name = interpolation_name(interpolation)
    if len(size) == 1:
        at_least = (size[0], size[0]) if max_size is None else (1, 1)
        lowering.resample(transform, Resize(size[0], max_size, name), antialias, at_least)
        return
    if max_size is not None:
        lowering.refuse(transform, f"max_size={max_size} with size={size}", "leave one of them out")
    lowering.resample(transform, Resize(_pair(size), None, name), antialias, _pair(size))


def _random_resized_crop(lowering: Lowering, transform: Any) -> None:
    size = _pair(transform.size)
    op = RandomResizedCrop(square(size), _pair(transform.scale), _pair(transform.ratio),
                           interpolation_name(transform.interpolation))
    lowering.resample(transform, op, transform.antialias, size)


def _center_crop(lowering: Lowering, transform: Any) -> None:
    size = _pair(transform.size)
    lowering.center_crop(transform, CenterCrop(square(size)), size)


def _pad(lowering: Lowering, transform: Any) -> None:
    padding = _padding(lowering, transform, transform.padding)
    lowering.pad(transform, Pad(padding, _fill(lowering, transform, any(padding)), transform.padding_mode))


def _random_crop(lowering: Lowering, transform: Any) -> None:
    padding = transform.padding
    if is_v2(transform) and padding is not None:  # kept as left, right, top, bottom
        padding = [padding[0], padding[2], padding[1], padding[3]]
    padding = _padding(lowering, transform, 0 if padding is None else padding)
    mode, if_needed = transform.padding_mode, bool(transform.pad_if_needed)
    # v1 pads twice, so what it mirrors second holds the first mirror image; v2 pads once.
    if is_v2(transform) and if_needed and any(padding) and mode in ("reflect", "symmetric"):
        lowering.refuse(transform, f"padding with pad_if_needed and padding_mode={mode!r} is not lowered",
                        "leave one of padding and pad_if_needed out, or use torchvision.transforms.RandomCrop")
    size = _pair(transform.size)
    fill = _fill(lowering, transform, if_needed or any(padding))
    lowering.random_crop(transform, RandomCrop(square(size), padding, if_needed, fill, mode), size)


def _padding(lowering: Lowering, transform: Any, padding: Any) -> tuple[int, int, int, int]:
    """Left, top, right, bottom."""
    sides = list(padding) if isinstance(padding, (list, tuple)) else [padding]
    left, top, right, bottom = sides * (4 // len(sides))
    if min(left, top, right, bottom) < 0:
        lowering.refuse(transform, f"padding={padding} crops", "use a crop for negative sides")
    return left, top, right, bottom


def _fill(lowering: Lowering, transform: Any, pads: bool) -> tuple[int, int, int]:
    if not pads or transform.padding_mode != "constant":
        return (0, 0, 0)
    fill = transform.fill
    if isinstance(fill, dict):
        lowering.refuse(transform, f"fill={fill} is not lowered", "pass the one fill of the images")
    return lowering.fill(transform, list(_floats(0 if fill is None else fill)))


def _horizontal_flip(lowering: Lowering, transform: Any) -> None:
    lowering.flip(RandomHorizontalFlip(transform.p))


def _vertical_flip(lowering: Lowering, transform: Any) -> None:
    lowering.flip(RandomVerticalFlip(transform.p))


# Colour.


def _grayscale(lowering: Lowering, transform: Any) -> None:
    lowering.color(transform, Grayscale(transform.num_output_channels))
    lowering.channels = transform.num_output_channels


def _random_grayscale(lowering: Lowering, transform: Any) -> None:
    lowering.color(transform, RandomGrayscale(transform.p))


def _rgb(lowering: Lowering, transform: Any) -> None:
    if lowering.channels == 1:
        lowering.color(transform, Grayscale(3))
        lowering.channels = 3


def _color_jitter(lowering: Lowering, transform: Any) -> None:
    ranges = (transform.brightness, transform.contrast, transform.saturation, transform.hue)
    if any(ranges):
        lowering.color(transform, ColorJitter(*ranges))


_BOTH: dict[str, Handler] = {
    "CenterCrop": _center_crop,
    "ColorJitter": _color_jitter,
    "Compose": _container,
    "ConvertImageDtype": _to_dtype,
    "Grayscale": _grayscale,
    "Normalize": _normalize,
    "PILToTensor": _pil_to_tensor,
    "Pad": _pad,
    "RandomApply": _random_apply,
    "RandomCrop": _random_crop,
    "RandomGrayscale": _random_grayscale,
    "RandomHorizontalFlip": _horizontal_flip,
    "RandomResizedCrop": _random_resized_crop,
    "RandomVerticalFlip": _vertical_flip,
    "Resize": _resize,
    "ToTensor": _to_tensor,
}

HANDLERS: dict[str, Handler] = {
    **{f"{package}.{name}": handler
       for package in ("torchvision.transforms", "torchvision.transforms.v2") for name, handler in _BOTH.items()},
    "torch.nn.modules.container.Sequential": _sequential,
    "torch.nn.modules.linear.Identity": _identity,
    "torchvision.transforms.ImageClassification": _image_classification,
    "torchvision.transforms.v2.Identity": _identity,
    "torchvision.transforms.v2.RGB": _rgb,
    "torchvision.transforms.v2.ToDtype": _to_dtype,
    "torchvision.transforms.v2.ToImage": _pil_to_tensor,
    "torchvision.transforms.v2.ToPureTensor": _identity,
}
