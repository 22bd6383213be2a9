"""Stoker's batches in torch on a real GPU: what no simulated driver can tell.

    python -m pytest bench/gpu/torch_checks.py
"""

from __future__ import annotations

import copy
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from stoker.torch import DataLoader
from torch import nn
from torch.utils.dlpack import from_dlpack
from torchvision import transforms  # type: ignore[import-untyped]
from torchvision.datasets import ImageFolder  # type: ignore[import-untyped]

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")

SIZE, BATCH, CLASSES, PER_CLASS = 64, 8, 3, 20
SENT = 100
_BATCH_BYTES = BATCH * 3 * SIZE * SIZE * 4


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> ImageFolder:
    """Small pictures, no two alike, with a transform that draws nothing: every epoch is the same."""
    root, noise = tmp_path_factory.mktemp("photos"), np.random.default_rng(1)
    for label in range(CLASSES):
        (root / str(label)).mkdir()
        for i in range(PER_CLASS):
            pixels = np.repeat(np.repeat(noise.integers(0, 256, (16, 20, 3), np.uint8), 8, 0), 8, 1)
            Image.fromarray(pixels).save(root / str(label) / f"{i:02}.jpg", quality=90)
    return ImageFolder(str(root), transforms.Compose([
        transforms.Resize(SIZE), transforms.CenterCrop(SIZE), transforms.ToTensor(),
        transforms.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))]))


@pytest.fixture(scope="module")
def expected(photos: ImageFolder) -> list[list[torch.Tensor]]:
    """An epoch in host memory, of Stoker's own: that those bits are right is tested without a GPU."""
    return [[field.clone() for field in batch] for batch in DataLoader(photos, BATCH, num_workers=2, drop_last=True)]


def _endless(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    """Epoch after epoch. Keeps no batch, as enumerate would: who lets go of one is the last who had it."""
    while True:
        yield from loader


def _new_stream() -> torch.cuda.Stream:
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]


def _keep_busy(stream: torch.cuda.Stream) -> None:
    """Work of some milliseconds, so that what is put on the stream next comes late."""
    with torch.cuda.stream(stream):
        matrix = torch.full((2048, 2048), 1e-3, device="cuda")
        for _ in range(20):
            matrix = matrix @ matrix


@pytest.mark.parametrize("normalize_on", ["auto", "host"])
def test_batches_are_those_of_the_cpu(photos: ImageFolder, expected: list[list[torch.Tensor]],
                                      normalize_on: str) -> None:
    batches = _endless(DataLoader(photos, BATCH, num_workers=2, drop_last=True, device="cuda",
                                  normalize_on=normalize_on))
    for want in 3 * expected:
        images, labels = next(batches)
        assert images.device == labels.device == torch.device("cuda", torch.cuda.current_device())
        assert torch.equal(images.cpu(), want[0])
        assert torch.equal(labels.cpu(), want[1])


def test_borrowed_batches_are_not_copied(photos: ImageFolder, expected: list[list[torch.Tensor]]) -> None:
    batches = _endless(DataLoader(photos, BATCH, num_workers=2, drop_last=True, device="cuda", borrow=True))
    addresses = set()
    for want in 4 * expected:
        images, labels = next(batches)
        allocated = torch.cuda.memory_allocated()
        same = from_dlpack(images)
        assert same.data_ptr() == images.data_ptr()
        assert torch.cuda.memory_allocated() == allocated
        assert torch.equal(images.cpu(), want[0])
        addresses.add(images.data_ptr())
        del images, labels, same
    assert len(addresses) < len(expected)  # the loader's few blocks again and again, none of torch's


def test_batches_are_torchs_own_memory_unless_borrowed(photos: ImageFolder,
                                                       expected: list[list[torch.Tensor]]) -> None:
    batches = iter(DataLoader(photos, BATCH, num_workers=2, drop_last=True, device="cuda"))
    before = torch.cuda.memory_allocated()
    kept = [next(batches)[0] for _ in expected]
    assert torch.cuda.memory_allocated() - before >= len(kept) * _BATCH_BYTES
    assert all(torch.equal(images.cpu(), want) for images, (want, _) in zip(kept, expected))


@pytest.mark.parametrize("borrow", [False, True])
def test_each_batch_is_ready_on_the_stream_that_asks(photos: ImageFolder, expected: list[list[torch.Tensor]],
                                                     borrow: bool) -> None:
    streams: list[torch.cuda.Stream] = [_new_stream(), _new_stream(), torch.cuda.default_stream()]
    batches = _endless(DataLoader(photos, BATCH, num_workers=2, drop_last=True, device="cuda", borrow=borrow))
    seen: list[torch.Tensor] = []
    for number in range(4 * len(expected)):
        stream = streams[number % len(streams)]
        _keep_busy(stream)
        with torch.cuda.stream(stream):
            batch = next(batches)
            seen.append(batch[0] + 0)  # read by a kernel on this stream, and dropped before that has run
            del batch
    torch.cuda.synchronize()
    assert all(torch.equal(images.cpu(), want[0]) for images, want in zip(seen, 4 * expected))


def test_a_pinned_batch_may_be_dropped_as_soon_as_it_was_sent(photos: ImageFolder,
                                                              expected: list[list[torch.Tensor]]) -> None:
    batches = _endless(DataLoader(photos, BATCH, num_workers=2, drop_last=True, pin_memory=True))
    sent: list[torch.Tensor] = []
    for _ in range(SENT):
        batch = next(batches)
        assert batch[0].is_pinned()
        _keep_busy(torch.cuda.current_stream())
        sent.append(batch[0].to("cuda", non_blocking=True))
        del batch
    torch.cuda.synchronize()
    assert all(torch.equal(images.cpu(), expected[number % len(expected)][0]) for number, images in enumerate(sent))


class _Trainer:
    """A small model whose step gives the same weights whenever it is given the same batches."""

    def __init__(self) -> None:
        torch.manual_seed(3)
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, CLASSES)).cuda()
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.images = torch.zeros(BATCH, 3, SIZE, SIZE, device="cuda")
        self.labels = torch.zeros(BATCH, dtype=torch.int64, device="cuda")

    def step(self) -> None:
        self._optimizer.zero_grad(set_to_none=False)
        nn.functional.cross_entropy(self.model(self.images), self.labels).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()

    def take(self, batch: list[torch.Tensor]) -> None:
        self.images.copy_(batch[0], non_blocking=True)
        self.labels.copy_(batch[1], non_blocking=True)


@pytest.mark.parametrize("borrow", [False, True])
def test_a_graph_of_the_step_trains_on_copied_batches(photos: ImageFolder, borrow: bool) -> None:
    def batches() -> Iterator[list[torch.Tensor]]:
        return iter(DataLoader(photos, BATCH, num_workers=2, drop_last=True, device="cuda", borrow=borrow))

    trainer = _Trainer()
    side = _new_stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            trainer.step()
    torch.cuda.current_stream().wait_stream(side)
    start = copy.deepcopy(trainer.model.state_dict())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        trainer.step()

    weights: list[dict[str, Any]] = []
    for step in (graph.replay, trainer.step):
        trainer.model.load_state_dict(start)
        for batch in batches():
            trainer.take(batch)
            del batch
            step()
        torch.cuda.synchronize()
        weights.append(copy.deepcopy(trainer.model.state_dict()))
    for name, replayed in weights[0].items():
        assert torch.allclose(replayed, weights[1][name], rtol=1e-4, atol=1e-6)
        assert not torch.equal(replayed, start[name])


def test_the_process_has_a_context_on_one_device_alone(photos: ImageFolder) -> None:
    next(iter(DataLoader(photos, BATCH, num_workers=2, device="cuda")))
    try:
        done = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,gpu_uuid", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"nvidia-smi does not tell: {error}")
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.strip().splitlines()]
    ours = [row[1] for row in rows if row[0] == str(os.getpid())]
    if not ours:
        pytest.skip("nvidia-smi does not list this process: the machine hides processes, or numbers them anew")
    assert len(ours) == 1


def test_another_device_is_left_alone(photos: ImageFolder) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU: there is no other")
    for images, _ in DataLoader(photos, BATCH, num_workers=2, device="cuda:1"):
        assert images.device.index == 1
    assert torch.cuda.current_device() == 0
