"""Stoker's native part. Users import :mod:`stoker` and :mod:`stoker.torch`."""

from collections.abc import Sequence
from typing import Any, final

from typing_extensions import Buffer, CapsuleType

from stoker.datasets import Items, PathLike
from stoker.transforms import Transform

__version__: str

def leave() -> None:
    """The interpreter is about to go: other threads stop for good where they wait for a loader."""

def plan(transform: Transform, size: tuple[int, int], seed: int, epoch: int, position: int) -> dict[str, Any]:
    """What a loader draws for a picture of `size` (height, width) at a position of an epoch, over all ranks.

    Keys: "crop", "window" and "content" (top, left, height, width), "resized" (height, width), "flip_horizontal",
    "flip_vertical", "interpolation", "color" (a list of (name, factor) in their order), "gray", "gray_after_color".
    Raises ValueError where the picture is too small, or comes out at another size than the batch has.
    """

@final
class Array:
    """One field of a batch: contiguous, shared with whoever takes it, given back by the last of them.

    Taken by DLPack or, in host memory, the buffer protocol, without a copy and as often as one likes; writable.
    bfloat16 has no place in the buffer protocol: BufferError.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str:
        """"uint8", "int64", "float16", "bfloat16" or "float32"."""

    @property
    def nbytes(self) -> int: ...
    def __len__(self) -> int: ...
    def __dlpack__(self, *, stream: object = None, max_version: object = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> CapsuleType:
        """On a GPU, `stream` is made to wait for the batch: 1 or None the default one, 2 the thread's own, -1 none.

        The memory is used again when that stream has done what it was given until the last tensor went; so it must live
        as long, and who says -1 must have waited for all that reads the memory.

        Raises BufferError where a copy or another device than the array's is asked for.
        """

    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Batch:
    """What :meth:`Loader.next` gives. The images lie in a slot; the other fields hold none."""

    @property
    def images(self) -> Array: ...
    @property
    def labels(self) -> Array:
        """int64, (N,); -1 where there is none."""

    @property
    def ids(self) -> Array:
        """int64, (N,): indices of the samples."""

    @property
    def valid(self) -> Array:
        """uint8, (N,): 0 for a masked sample."""

    @property
    def position(self) -> int:
        """Of the first sample, in this rank's order of what was started."""

@final
class FileSource:
    """Names, sizes and labels of picture files, in one native block."""

    @staticmethod
    def from_folder(folder: PathLike, classes: Sequence[str] | None, allow_empty: bool) -> FileSource: ...
    @staticmethod
    def from_paths(paths: Items, labels: Items, classes: Sequence[str]) -> FileSource: ...
    def __len__(self) -> int: ...
    def path(self, index: int) -> str: ...
    def label(self, index: int) -> int: ...
    def labels(self) -> list[int]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

@final
class Loader:
    """A native loader. Threads may share it: calls take turns, wait without the GIL, and hear signals.

    Raises :class:`stoker.Error`: "forked" in a child of fork(), and after :meth:`close`.
    """

    def __init__(self, source: FileSource, transform: Transform, options: dict[str, Any]) -> None:
        """Raises ValueError naming a bad option; the names are those of :class:`stoker.Loader`, and ``grow_slots``."""

    def start_epoch(self, epoch: int, done: int) -> int:
        """Begins a run: an epoch in the loader's own order, without its first `done` samples over all ranks.

        Gives the run's number. What was under way is dropped.
        """

    def start_list(self, epoch: int, ids: Buffer, done: int, rank: int, world_size: int) -> int:
        """Begins a run over a list of 32-bit indices, of which number n counts as done + n * world_size + rank."""

    def next(self, run: int, timeout: float = 0.0, stream: int = 0) -> Batch | None:
        """The next batch of a run; None at its end, and where another run was begun since.

        stream: of the device where there is one, as CUDA's handle, 1 for its default stream: the batch is ready for
        work that it is given from then on, and comes back when it has done what it was given until the last tensor
        went. 0: the batch is there when this returns.
        Raises RuntimeError where it takes longer than `timeout` seconds; 0 is any time.
        """

    @property
    def device(self) -> str:
        """"cpu", "sim" or "cuda:N"."""

    @property
    def run(self) -> int:
        """The number of the run begun last, 0 before the first."""

    def stalls(self) -> StallReport: ...
    def reset_stalls(self) -> None: ...
    def close(self) -> None:
        """Ends what waits in other threads and gives threads and memory back; batches stay valid."""

    @property
    def over_budget(self) -> bool:
        """Whether slots added for kept batches have taken more than memory_limit."""

    @property
    def batches_per_epoch(self) -> int: ...

@final
class ForeignBatches:
    """Copies batches of bytes to a device ahead of the caller: one thread puts them in, others take them out.

    Raises :class:`stoker.Error`: "forked" in a child of fork(), and where the device fails.
    """

    def __init__(self, device: str, depth: int) -> None: ...
    def begin(self) -> None:
        """Before the first :meth:`put` of an epoch, and after :meth:`end` of the last one."""

    def put(self, pieces: Sequence[tuple[int, int, int]], nbytes: int) -> bool:
        """The next batch, from pieces of host memory: (offset in the batch, address, bytes).

        Waits for room. False once the epoch was left, or it was closed.
        """

    def end(self) -> None:
        """No more batches come in this epoch."""

    def next(self, stream: int = 0) -> Batch | None:
        """The next batch, as :meth:`Loader.next` gives them: its bytes are `images`. None at the end of the epoch."""

    def leave(self) -> None:
        """No more batches of this epoch are wanted."""

    def stalls(self) -> StallReport:
        """Samples are batches; "io" is the time of their own loader, "runtime" has the copy into a slot."""

    def reset_stalls(self) -> None: ...
    def close(self) -> None:
        """Ends what waits in other threads and gives threads and memory back; batches stay valid."""

    @property
    def slot_bytes(self) -> int:
        """Of the largest batch that there is room for; 0 before the first one."""

@final
class SkippedSample:
    """A bad sample that was skipped or masked."""

    @property
    def index(self) -> int:
        """In the dataset."""

    @property
    def name(self) -> str: ...
    @property
    def reason(self) -> str: ...

@final
class StallReport:
    """What held the trainer back. ``print`` it for people; the fields are for programs."""

    @property
    def verdict(self) -> str:
        """One clause: how much the loader holds the trainer back, and which stage does it."""

    @property
    def advice(self) -> str:
        """One sentence."""

    @property
    def seconds(self) -> float:
        """Since the first batch was asked for, or the report was begun anew."""

    @property
    def samples(self) -> int: ...
    @property
    def batches(self) -> int: ...
    @property
    def bytes_read(self) -> int:
        """Encoded bytes."""

    @property
    def images_per_second(self) -> float: ...
    @property
    def stall_share(self) -> float:
        """Of the time that the trainer waited in ``next``, 0 to 1."""

    @property
    def empties(self) -> int:
        """Times that a batch was asked for and none was ready."""

    @property
    def shares(self) -> dict[str, float]:
        """Of the time, by stage along the critical path; they sum to 1."""

    @property
    def ceilings(self) -> dict[str, float]:
        """Images a second that "io", "decode", "copy" and "consumer" could do alone; 0 where it cannot be said."""

    @property
    def read_ms(self) -> float:
        """Mean of a sample, as are the next two."""

    @property
    def decode_ms(self) -> float: ...
    @property
    def augment_ms(self) -> float: ...
    @property
    def reader(self) -> str:
        """Its name, and why it was chosen."""

    @property
    def device(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def workers(self) -> int: ...
    @property
    def cached_share(self) -> float:
        """Of the reads that the page cache answered."""

    @property
    def budget_bytes(self) -> int:
        """Reserved memory."""

    @property
    def slots(self) -> int: ...
    @property
    def slot_bytes(self) -> int: ...
    @property
    def extra_slots(self) -> int:
        """Added for batches that are kept: now."""

    @property
    def extra_slots_peak(self) -> int:
        """Added for batches that are kept: at most."""

    @property
    def decoder_warnings(self) -> int:
        """Pictures that the decoder complained of, but gave."""

    @property
    def skipped_count(self) -> int:
        """Different bad samples."""

    @property
    def skipped(self) -> list[SkippedSample]:
        """The first thousand of them."""

    @property
    def line(self) -> str:
        """Rate, stall and verdict, for a log."""
