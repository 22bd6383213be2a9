"""Stoker: a data loader that keeps GPUs fed and says what starves them.

    import stoker
    for images, labels in stoker.Loader("photos/train", batch_size=256, transform=stoker.train(224)):
        ...

With a PyTorch training script, change one import: ``from stoker.torch import DataLoader``.
"""

from stoker._core import Array, Overview, SkippedSample, StallReport, StepReport, __version__, plan
from stoker.datasets import FileDataset, FolderDataset
from stoker.errors import Error, UnsupportedDataset, UnsupportedTransform
from stoker.loader import Loader
from stoker.machine import overview
from stoker.recommendation import Recommendation
from stoker.replaying import replay
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
    Transform,
    eval,  # noqa: A004
    train,
)
from stoker.tuning import tune

__all__ = [
    "Array", "CenterCrop", "ColorJitter", "Error", "FileDataset", "FolderDataset", "Grayscale", "Loader", "Normalize",
    "Overview", "Pad", "RandomCrop", "RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop",
    "RandomVerticalFlip", "Recommendation", "Resize", "SkippedSample", "StallReport", "StepReport", "Transform",
    "UnsupportedDataset", "UnsupportedTransform", "__version__", "eval", "overview", "plan", "replay", "train", "tune",
]
