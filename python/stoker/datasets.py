"""Which pictures there are: our own datasets, and torchvision's as Stoker reads them."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, SupportsIndex, Union

from stoker import _core
from stoker.errors import UnsupportedDataset

__all__ = ["FileDataset", "FolderDataset", "transform_of", "understand"]

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Items(Protocol):
    """A sequence as far as it is needed: a list, a range, an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


_SUBSET = "torch.utils.data.dataset.Subset"
_CONCAT = "torch.utils.data.dataset.ConcatDataset"
_FOLDER = "torchvision.datasets.folder.DatasetFolder"
_INSTEAD = "keep torch.utils.data.DataLoader for it, or give its files to stoker.FileDataset"


class FileDataset:
    """Picture files and their labels, by index.

    paths: a sequence of str, bytes or PathLike; kept in one native block of about 24 bytes and the name each.
    labels: a sequence of class indices, -1 for none.
    transform: what a loader does to every picture unless told otherwise: a :class:`stoker.Transform`, a list of ops, or
        a torchvision transform.
    classes: names by label, for your own use.

    The sizes of the files are taken here, in parallel; a file that is not there is an error when it is read. Immutable.
    """

    def __init__(self, paths: Items, labels: Items, *, transform: object = None,
                 classes: Sequence[str] = ()) -> None:
        self.source = _core.FileSource.from_paths(paths, labels, list(classes))
        self.transform = transform

    def __len__(self) -> int:
        return len(self.source)

    def path(self, index: int) -> str:
        """The path of a sample."""
        return self.source.path(index)

    def label(self, index: int) -> int:
        """The label of a sample."""
        return self.source.label(index)

    @property
    def classes(self) -> list[str]:
        """Class names by label."""
        return self.source.classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Labels by class name."""
        return {name: label for label, name in enumerate(self.source.classes)}

    @property
    def targets(self) -> list[int]:
        """The labels of all samples; a new list each time."""
        return self.source.labels()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} files, {len(self.classes)} classes)"

    def __getstate__(self) -> dict[str, Any]:
        size = len(self)
        return {"paths": [self.path(i) for i in range(size)], "labels": self.targets, "classes": self.classes,
                "transform": self.transform}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.source = _core.FileSource.from_paths(state["paths"], state["labels"], state["classes"])
        self.transform = state["transform"]


class FolderDataset(FileDataset):
    """A folder with one sub-folder per class, at any depth below it, or a flat folder of pictures (label 0).

    root: the folder. Class names in byte order give the labels, on every file system.
    classes: names in the order of their labels, so that validation uses training's; another folder is an error.
    allow_empty: a class without a picture keeps its label instead of being an error.
    """

    def __init__(self, root: PathLike, *, transform: object = None, classes: Sequence[str] | None = None,
                 allow_empty: bool = False) -> None:
        self.source = _core.FileSource.from_folder(root, None if classes is None else list(classes), allow_empty)
        self.transform = transform


def understand(dataset: Any) -> tuple[FileDataset, object]:
    """What of a dataset Stoker needs: its files and labels, and the transform it carries (or None).

    Takes our own datasets, torchvision's ImageFolder, DatasetFolder with an image loader and ImageNet, their subclasses
    that leave loading alone, torch's Subset and ConcatDataset of them, and a folder's path.
    Raises UnsupportedDataset, naming the class and what to do.
    """
    if isinstance(dataset, FileDataset):
        return dataset, dataset.transform
    if isinstance(dataset, (str, bytes, os.PathLike)):
        return FolderDataset(dataset), None
    paths, labels = _samples(dataset)
    return FileDataset(paths, labels), transform_of(dataset)


def transform_of(dataset: Any) -> object:
    """The transform that a dataset carries at this moment (or None)."""
    if _is(dataset, _SUBSET):
        return transform_of(dataset.dataset)
    if not _is(dataset, _CONCAT):
        return getattr(dataset, "transform", None)
    first, *others = [transform_of(part) for part in dataset.datasets]
    if any(other is not first and repr(other) != repr(first) for other in others):
        raise UnsupportedDataset("ConcatDataset: its parts have different transforms; give them one, or a loader each")
    return first


def _is(dataset: object, name: str) -> bool:
    """By name, so that neither torch nor torchvision is imported."""
    return any(f"{kind.__module__}.{kind.__qualname__}" == name for kind in type(dataset).__mro__)


class _Picked(Sequence[Any]):
    """Some items of a large sequence, without a list of them."""

    def __init__(self, item: Callable[[int], Any], indices: Items) -> None:
        self._item = item
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, place: Any) -> Any:
        return self._item(int(self._indices[place]))


def _samples(dataset: Any) -> tuple[Sequence[PathLike], Sequence[int]]:
    """The paths and labels of a dataset in its order, target transforms applied."""
    if isinstance(dataset, FileDataset):
        every = range(len(dataset))
        return _Picked(dataset.path, every), _Picked(dataset.label, every)
    if _is(dataset, _SUBSET):
        _refuse_own_loading(dataset, _SUBSET)
        paths, labels = _samples(dataset.dataset)
        return _Picked(paths.__getitem__, dataset.indices), _Picked(labels.__getitem__, dataset.indices)
    if _is(dataset, _CONCAT):
        _refuse_own_loading(dataset, _CONCAT)
        parts = [_samples(part) for part in dataset.datasets]
        return [path for paths, _ in parts for path in paths], [label for _, labels in parts for label in labels]
    if _is(dataset, _FOLDER):
        return _folder_samples(dataset)
    raise UnsupportedDataset(
        f"{type(dataset).__module__}.{type(dataset).__qualname__}: Stoker reads picture files itself, so it must know "
        "them: pass a torchvision ImageFolder, DatasetFolder or ImageNet, a Subset or ConcatDataset of them, or "
        "stoker.FileDataset(paths, labels); for anything else keep torch.utils.data.DataLoader")


def _refuse_own_loading(dataset: Any, base: str) -> None:
    """Refuses a subclass that makes samples in its own way."""
    kind = type(dataset)
    for name in ("__getitem__", "__getitems__"):
        owner = next((one for one in kind.__mro__ if name in vars(one)), None)
        if owner is not None and f"{owner.__module__}.{owner.__qualname__}" != base:
            raise UnsupportedDataset(f"{kind.__qualname__} has a {name} of its own (from {owner.__qualname__}), which "
                                     f"Stoker would pass over: {_INSTEAD}")


def _folder_samples(dataset: Any) -> tuple[Sequence[PathLike], Sequence[int]]:
    from torchvision.datasets import folder  # type: ignore[import-untyped]

    _refuse_own_loading(dataset, _FOLDER)
    name = type(dataset).__qualname__
    if dataset.loader not in (folder.default_loader, folder.pil_loader):
        raise UnsupportedDataset(f"{name} has loader={dataset.loader!r}: Stoker decodes as torchvision's "
                                 f"default_loader does; leave it out, or {_INSTEAD}")
    standard = getattr(dataset, "transforms", None)
    if standard is not None and type(standard).__qualname__ != "StandardTransform":
        raise UnsupportedDataset(f"{name} has transforms={standard!r}, which sees picture and target together: "
                                 "use transform= and target_transform=")
    paths = [path for path, _ in dataset.samples]
    targets = [target for _, target in dataset.samples]
    if dataset.target_transform is None:
        return paths, targets
    table = _target_table(dataset.target_transform, targets)
    return paths, [table[target] for target in targets]


def _target_table(target_transform: Callable[[int], Any], targets: Iterable[int]) -> dict[int, int]:
    """What target_transform makes of each class; computed once, so it must be a function of the class alone."""
    table = {}
    for target in sorted(set(targets)):
        label = target_transform(target)
        if not isinstance(label, SupportsIndex) or getattr(label, "ndim", 0) != 0:
            raise UnsupportedDataset(f"target_transform gives {label!r} for class {target}: Stoker's labels are "
                                     "integers; make other targets of them after the loader")
        table[target] = operator.index(label)
    return table
