"""What each of timm's transforms says to a Lowering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stoker._torchvision import Handler, default_float, interpolation_name, square
from stoker.transforms import CenterCrop, RandomResizedCrop

if TYPE_CHECKING:
    from stoker.lowering import Lowering

__all__ = ["HANDLERS"]


def _random_resized_crop(lowering: Lowering, transform: Any) -> None:
    names = transform.interpolation if isinstance(transform.interpolation, (list, tuple)) else [transform.interpolation]
    names = [interpolation_name(name) for name in names]
    if len(names) > 1 and set(names) != {"bilinear", "bicubic"}:
        lowering.refuse(transform, f"interpolation={names} is not lowered", "use 'random', or one of them")
    height, width = transform.size
    op = RandomResizedCrop(square((height, width)), tuple(transform.scale), tuple(transform.ratio),
                           names[0] if len(names) == 1 else "random")
    lowering.resample(transform, op, True, (height, width))


def _center_crop_or_pad(lowering: Lowering, transform: Any) -> None:
    fill = transform.fill
    if transform.padding_mode != "constant" or fill not in (0, (0, 0, 0), [0, 0, 0]):
        lowering.refuse(transform, f"fill={fill}, padding_mode={transform.padding_mode!r} is not lowered",
                        "pad with zeros, or use crop_mode='center' or 'squash'")
    height, width = transform.size
    lowering.center_crop(transform, CenterCrop(square((height, width))), (height, width))


def _resize_keep_ratio(lowering: Lowering, transform: Any) -> None:
    lowering.refuse(transform, f"size={transform.size} is not lowered: it rounds otherwise than Resize",
                    "use a square input size with crop_mode='center', or crop_mode='squash'; for training the crop "
                    "mode 'rrc'")


def _maybe_to_tensor(lowering: Lowering, transform: Any) -> None:
    if not lowering.tensor:
        lowering.to_tensor()
        lowering.convert(transform, default_float(), scale=True)


def _maybe_pil_to_tensor(lowering: Lowering, transform: Any) -> None:
    lowering.to_tensor()


def _to_tensor(lowering: Lowering, transform: Any) -> None:
    lowering.refuse(transform, "gives floats of 0 to 255",
                    "use torchvision.transforms.ToTensor, or PILToTensor and convert the batch")


HANDLERS: dict[str, Handler] = {
    "timm.data.transforms.CenterCropOrPad": _center_crop_or_pad,
    "timm.data.transforms.MaybePILToTensor": _maybe_pil_to_tensor,
    "timm.data.transforms.MaybeToTensor": _maybe_to_tensor,
    "timm.data.transforms.RandomResizedCropAndInterpolation": _random_resized_crop,
    "timm.data.transforms.ResizeKeepRatio": _resize_keep_ratio,
    "timm.data.transforms.ToTensor": _to_tensor,
}
