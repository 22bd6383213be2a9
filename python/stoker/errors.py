"""What goes wrong, as Python exceptions with fields."""

from __future__ import annotations

__all__ = ["Error", "UnsupportedDataset", "UnsupportedTransform"]


class Error(RuntimeError):
    """Loading failed. The message is whole: sample, cause, place, remedy; the fields are for programs.

    path: the file, or "" where none is to blame.
    index: its index in the dataset, or -1.
    offset: the byte of the encoded picture, or -1 where unknown.
    stage: "scan", "read", "decode", "copy", "next" or "start".
    reason: format and cause in words, without the name.
    """

    path: str
    index: int
    offset: int
    stage: str
    reason: str

    def __init__(self, message: str, *, path: str = "", index: int = -1, offset: int = -1, stage: str = "",
                 reason: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.index = index
        self.offset = offset
        self.stage = stage
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), str(self), dict(self.__dict__))


class UnsupportedTransform(TypeError):
    """A transform that Stoker does not run itself: the message names it, the argument, and what to do."""


class UnsupportedDataset(TypeError):
    """A dataset whose samples Stoker cannot read itself: the message names it, and what to do."""


def _restore(kind: type[Error], message: str, fields: dict[str, object]) -> Error:
    error = kind(message)
    error.__dict__.update(fields)
    return error
