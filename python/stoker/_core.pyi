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

    def stalls(self) -> StallReport:
        """As it stands now, also while another thread waits in :meth:`next`: within some 0.1 s."""

    def reset_stalls(self) -> None: ...
    def end_epoch(self) -> None:
        """For the periodic reports: an epoch that was given as lists is over."""

    def take_reports(self) -> list[StepReport]:
        """The periodic reports that came since the last call, the latest 16 of them."""

    @property
    def last_report(self) -> StepReport | None: ...
    def write_trace(self, path: PathLike) -> None:
        """What the counters still hold, for Chrome's and Perfetto's viewers. Raises OSError naming the path."""

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

class StallReport:
    """What held the trainer back. ``print`` it for people; the fields are for programs. Pickles and copies.

    Stages are "io", "decode", "copy", "consumer" (the training step), "runtime" and "other"; the first four have
    servers, which can be full.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        """The inverse of :meth:`to_dict`: names that are missing have their defaults, others are left alone."""

    def to_dict(self) -> dict[str, Any]:
        """Every field by its name, of types that JSON has."""

    @property
    def line(self) -> str:
        """Rate, stall and verdict, for a log."""

    @property
    def counts(self) -> str:
        """What `samples`, rates and ceilings count: "images"; of a Prefetcher, "batches"."""

    @property
    def verdict(self) -> str:
        """One clause: how much the loader holds the trainer back, and which stage does it."""

    @property
    def advice(self) -> str:
        """One sentence."""

    @property
    def leader(self) -> str:
        """The stage with the largest share."""

    @property
    def bound(self) -> str:
        """What kind of limit the verdict names.

        "unknown" (nothing was loaded, or start-up dominates), "consumer" (the loader keeps up), "capacity" (the leader
        is full: more of it helps), "latency" (it is not: the delay or the order of its work holds the path), "starved"
        (its threads want a CPU and do not get one), "page cache" (opening and copying cached files), "contended"
        (copies take longer than they could), "hand-over" (the loader's own), "mixed" (no stage leads for sure).
        """

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
        """Of the time that the trainer waited, in ``next`` or on the device, 0 to 1."""

    @property
    def device_stall_share(self) -> float:
        """The part of it on the device."""

    @property
    def empties(self) -> int:
        """Times that a batch was asked for and none was ready."""

    @property
    def shares(self) -> dict[str, float]:
        """Of the time, by stage along the critical path; they sum to 1."""

    @property
    def margins(self) -> dict[str, float]:
        """Half the width of each share's 95 % interval; all 0 where there were too few batches to tell."""

    @property
    def windows(self) -> int:
        """Stretches of the run that the margins are made of."""

    @property
    def parts(self) -> dict[str, float]:
        """What the stages' shares went into; they sum to 1.

        io: "open", "storage", "page cache", "reaped late". decode: "decode", "augment", "off CPU". copy: "transfer",
        "foreign copies". consumer: "step", "host gap". And "runtime" and "other".
        """

    @property
    def ceilings(self) -> dict[str, float]:
        """Images a second that a stage with servers could do if nothing else held it back; 0: it cannot be said."""

    @property
    def busy(self) -> dict[str, float]:
        """How much of its servers' time each such stage used, 0 to 1."""

    @property
    def gains(self) -> dict[str, float]:
        """How much higher the rate would be if that stage alone worked 10 % faster; 0.06 is 6 %."""

    @property
    def on_cpu_share(self) -> float | None:
        """Of the time that workers had samples, how much they were on a CPU; None: not known."""

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
    def workers(self) -> int:
        """That work now."""

    @property
    def max_workers(self) -> int:
        """That there are buffers for."""

    @property
    def auto_workers(self) -> bool:
        """``num_workers="auto"``: the loader chooses how many of them work."""

    @property
    def cached_share(self) -> float:
        """Of the reads that the page cache answered, where that is asked first (`cached_known`)."""

    @property
    def cached_known(self) -> bool: ...
    @property
    def budget_bytes(self) -> int:
        """Reserved memory."""

    @property
    def scratch_bytes(self) -> int:
        """Of it, what decoders and augmenters have taken since."""

    @property
    def oversized_bytes_peak(self) -> int:
        """One-off buffers for large files, beside it."""

    @property
    def slots(self) -> int:
        """Batches in host memory."""

    @property
    def slot_bytes(self) -> int: ...
    @property
    def device_slots(self) -> int:
        """Batches on the device; 0 where they are given in host memory."""

    @property
    def device_slot_bytes(self) -> int: ...
    @property
    def device_is_host(self) -> bool:
        """The simulated device's slots are host memory too."""

    @property
    def read_buffers(self) -> int: ...
    @property
    def read_buffer_bytes(self) -> int: ...
    @property
    def stall_log_bytes(self) -> int: ...
    @property
    def source_bytes(self) -> int:
        """Names, sizes and labels."""

    @property
    def index_bytes(self) -> int:
        """Reserved for the row index; 0: there is none."""

    @property
    def index_used_bytes(self) -> int:
        """What of them is used."""

    @property
    def index_entries(self) -> int:
        """Pictures of which something was learned, beside those of the file."""

    @property
    def index_full(self) -> bool:
        """No more is learned for want of room."""

    @property
    def index_file_entries(self) -> int:
        """Pictures that the index's file knows."""

    @property
    def index_file(self) -> str:
        """The path of that file; empty: there is none."""

    @property
    def extra_slots(self) -> int:
        """Added for batches that are kept: now."""

    @property
    def extra_slots_peak(self) -> int:
        """Added for batches that are kept: at most."""

    @property
    def cpu_path(self) -> str:
        """The instructions that decoding uses: ``"sse2"``, ``"avx2"`` or ``"avx512"``; STOKER_CPU may name less."""

    @property
    def jpegs_own(self) -> int:
        """JPEGs decoded by Stoker's own decoder."""

    @property
    def jpegs_library(self) -> int:
        """JPEGs decoded by libjpeg-turbo: kinds that are left to it."""

    @property
    def jpegs_started_over(self) -> int:
        """JPEGs decoded by libjpeg-turbo after the own decoder met something odd in the data."""

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
    def abandoned(self) -> bool:
        """A read was stuck past its deadline, and its memory was given up on purpose."""

@final
class StepReport:
    """A periodic report. What is not known (an old kernel, a sandbox, no GPU) is None."""

    @property
    def kind(self) -> str:
        """"steps": report_every batches; "epoch": a whole one."""

    @property
    def unix_seconds(self) -> float: ...
    @property
    def step(self) -> int:
        """Batches given out since the loader was made."""

    @property
    def epoch(self) -> int: ...
    @property
    def step_ms(self) -> float:
        """Mean."""

    @property
    def smoothed_step_ms(self) -> float:
        """Moving average over reports, a fifth for the newest."""

    @property
    def stalls(self) -> StallReport:
        """Of these steps alone."""

    @property
    def rss_bytes(self) -> int | None:
        """Of the process."""

    @property
    def anonymous_bytes(self) -> int | None:
        """Of the process: heap and the like."""

    @property
    def growth_bytes_per_epoch(self) -> float | None:
        """Of anonymous memory, the median slope over epochs; from four of them on."""

    @property
    def loader_bytes(self) -> int:
        """What the loader holds of them."""

    @property
    def pinned_bytes(self) -> int:
        """Of those, page-locked for the GPU."""

    @property
    def cpu_cores(self) -> float | None:
        """Busy, of the process and all that it started."""

    @property
    def cpu_share(self) -> float | None:
        """The same, of the CPUs that it may use."""

    @property
    def run_queue_share(self) -> float | None:
        """Of the time that its threads could run, they had no CPU."""

    @property
    def cache_hit_share(self) -> float | None:
        """Of the bytes read, those that storage had no part in."""

    @property
    def io_pressure(self) -> float | None:
        """Of the time, some task waited for storage (PSI)."""

    @property
    def memory_pressure(self) -> float | None:
        """Of the time, some task waited for memory (PSI)."""

    @property
    def vram_used_bytes(self) -> int | None:
        """Of the loader's GPU, by everybody."""

    @property
    def vram_total_bytes(self) -> int | None: ...
    @property
    def gpu_busy_percent(self) -> int | None:
        """Some kernel ran; 100 is not full use."""

    @property
    def slots_full(self) -> int:
        """Batches that wait for the caller."""

    @property
    def slots(self) -> int: ...
    @property
    def warnings(self) -> list[str]:
        """Each said once: memory that grows, steps that became slower."""

    @property
    def line(self) -> str:
        """All of it in one line."""

    @property
    def json(self) -> str:
        """The same as a line of JSON; bench/report.schema.json describes it."""

@final
class Search:
    """The search for the smallest setting that is as good as the best: what to run next, and what that came to.

    The same answers always lead to the same questions. For one thread at a time.
    """

    def __init__(self, cpus: int = 0, full: bool = False, rounds: int = 3, most_rounds: int = 7) -> None:
        """cpus: 0 for those that the process may use, its share of them where it is one of several ranks.

        full: every combination, not only those that the model predicts to matter.
        rounds, most_rounds: how often each setting of a race is run.
        """

    def next(self) -> dict[str, Any] | None:
        """The setting to run, by the names of a loader's arguments; None: the search is over."""

    def add(self, report: StallReport, first_batch_seconds: float, cpu_seconds_per_1000: float,
            memory_bytes: int) -> None:
        """What a run of :meth:`next`'s setting gave. Raises RuntimeError where the search is over."""

    def fail(self, reason: str) -> None:
        """It could not be run, and is not asked for again. Raises RuntimeError where the search is over."""

    def found(self) -> dict[str, Any] | None:
        """As :class:`stoker.Recommendation` has it; also before the end. None where no run has succeeded."""

    @property
    def round(self) -> int: ...
    @property
    def words(self) -> str:
        """What :meth:`next` is about: "number of workers: 4 workers, prefetch 2, depth 32, auto"; "over"."""

    @property
    def runs_left(self) -> int:
        """About, and rather too many."""

@final
class Overview:
    """The machine as a loader finds it. ``print`` it for all of it, with every check."""

    @property
    def short(self) -> str:
        """The lines that matter, and the warnings."""

    @property
    def warnings(self) -> list[str]:
        """What does not fit, each with its remedy."""

def overview(path: str = "", num_workers: int = -1, device: str = "cpu", planned_bytes: int = 0,
             torch_threads: int | None = None, torch_interop_threads: int | None = None,
             opencv_threads: int | None = None) -> Overview: ...
