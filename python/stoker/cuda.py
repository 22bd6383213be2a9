"""Where a loader's batches go, in torch's terms: its CUDA devices and its streams."""

from __future__ import annotations

import warnings
from typing import Any

import torch

__all__ = ["Placement", "stream_of", "torch_device"]

_LEGACY = 1
"""CUDA's number for its default stream, which torch calls 0."""


class Placement:
    """Host memory, page-locked host memory, or a CUDA device, for a loader of torch's tensors.

    Raises ValueError for a device that is not CUDA's; warns where memory cannot be pinned.
    """

    def __init__(self, device: str | torch.device | None, borrow: bool, pin_memory: bool) -> None:
        self.device = torch_device(device)
        pins = pin_memory and self.device is None and _can_pin()
        self._streams_of = torch_device("cuda") if pins else self.device
        self.copies = self.device is not None and not borrow
        """Whether tensors are to be copied out of the loader's memory: cheap within the device, and what comes is
        torch's own memory on the caller's stream."""
        self.options: dict[str, Any] = {
            "device": "cpu" if self.device is None else str(self.device),
            "pin_memory_for": str(self._streams_of) if pins else None,
        }
        """The native loader's."""

    def stream(self) -> int:
        """The caller's current stream, as the native loader wants it: to be asked anew for each batch."""
        return 0 if self._streams_of is None else stream_of(self._streams_of)


def torch_device(device: str | torch.device | None) -> torch.device | None:
    """A CUDA device with its index; None for None and the CPU.

    "cuda" is the device that is current now. Raises ValueError for other kinds.
    """
    if device is None:
        return None
    place = torch.device(device)
    if place.type == "cpu":
        return None
    if place.type != "cuda":
        raise ValueError(f"device: Stoker copies to CUDA devices, not to {place.type}: load to the host and use .to()")
    return place if place.index is not None else torch.device("cuda", torch.cuda.current_device())


def stream_of(device: torch.device) -> int:
    """The handle of the calling thread's current stream on `device`."""
    return torch.cuda.current_stream(device).cuda_stream or _LEGACY


def _can_pin() -> bool:
    if torch.cuda.is_available():
        return True
    warnings.warn("pin_memory: no CUDA device is found, so memory is not pinned", stacklevel=4)
    return False
