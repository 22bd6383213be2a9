"""The order that a PyTorch sampler gives an epoch, and how to find back into it."""

from __future__ import annotations

import copy
import logging
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch

__all__ = ["EpochOrder", "draw_dice", "generators_of", "length_of", "load_finished", "state_of_finished"]

_log = logging.getLogger("stoker")

# Ids read at once from a sampler that may never end.
_CHUNK = 1 << 16
# These deal one order out to the ranks, a function of (seed, epoch): any rank can draw all of it.
_DEALERS = ("torch.utils.data.distributed.DistributedSampler",
            "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler")


class EpochOrder:
    """The ids of one epoch, drawn from a sampler as torch's DataLoader draws them.

    As many ids as the sampler has a length are drawn at once; what it gives beyond, or without one, in chunks. The
    place in it is found again in one of three ways: a dealt order is drawn anew, a sampler with state_dict() is asked,
    any other is drawn again from the generators' states up to there, and a checksum tells whether that was the same.

    sampler, batch_size: the loader's. generators: those that loader and sampler draw from, first at the first chunk.
    dice: seeds what is drawn for each sample.
    """

    def __init__(self, sampler: Any, generators: Sequence[torch.Generator], batch_size: int, dice: int) -> None:
        self.dice = dice
        self.world_size: int = getattr(sampler, "num_replicas", 1)
        self.rank: int = getattr(sampler, "rank", 0)
        self.done = 0  # samples of the epoch, over all ranks, that were given out
        self.over = False
        self.chunk_at = 0  # those before the chunk
        self._sampler = sampler
        self._generators = generators
        self._batch_size = batch_size
        self._drawn_from: dict[str, Any] | None = None  # where the order begins; None as long as nothing was drawn
        self._ids: Iterator[int] = iter(())
        self._places: list[Any] = []  # at the beginning of the chunk, and after each of its batches
        self._next_size = 0
        self._chunk = array("I")
        self._drawn: array[int] | None = None  # the next chunk, where it was drawn already

    @classmethod
    def again(cls, sampler: Any, generators: Sequence[torch.Generator], batch_size: int,
              state: dict[str, Any]) -> EpochOrder:
        """The order that `state` is of, from its place on. Raises ValueError where the sampler does not give it."""
        drawn_from, done, place = state["drawn_from"], state["done"], state["place"]
        _check_same_deal(sampler, generators, state)
        with torch.random.fork_rng(devices=[]):
            _bring_back(sampler, generators, state)
            torch.set_rng_state(drawn_from["rng"])
            order = cls(sampler, generators, batch_size, state["dice"])
            if not _at_own_end(sampler, state):  # else the sampler would begin another epoch
                order._begin()
            if drawn_from["dealt"] is not None:
                order._ids = iter(_rest_for(sampler, done))
            elif not isinstance(place, dict):
                order._draw_again(done // order.world_size, place)
            elif place["iterator"] is not None:
                _load(order._ids, place["iterator"])
            order._places = [place]
            order._drawn = order._draw()  # from these generators
        order._drawn_from = drawn_from
        order.chunk_at = order.done = done
        return order

    def chunk(self) -> array[int]:
        """The next ids: whole batches, but for the last chunk. Empty at the end."""
        self._begin()
        self.chunk_at += len(self._chunk) * self.world_size
        if self._drawn is None:
            self._places = self._places[-1:]
            self._chunk = self._draw()
        else:
            self._chunk, self._drawn = self._drawn, None
        return self._chunk

    def give(self, samples: int) -> None:
        """Notes that as many samples of the chunk were given out, to the end of a batch."""
        self.done = max(self.done, self.chunk_at + samples * self.world_size)

    def comes_again(self) -> bool:
        """Whether this shuffled order is over and the next epoch's will be the same: nobody called set_epoch()."""
        drawn_from = self._drawn_from
        return (self.over and drawn_from is not None and drawn_from["dealt"] is not None
                and drawn_from["dealt"]["shuffle"] and drawn_from["sampler_epoch"] == self._sampler.epoch)

    def state(self) -> dict[str, Any]:
        """What finds back to this place."""
        self._begin()
        given = (self.done - self.chunk_at) // self.world_size
        return {"done": self.done, "dice": self.dice, "world_size": self.world_size, "drawn_from": self._drawn_from,
                "place": self._places[-(-given // self._batch_size)], "left": len(self._chunk) - given,
                "generators": [one.get_state() for one in self._generators]}

    def _begin(self) -> None:
        if self._drawn_from is None:
            sampler = self._sampler
            self._drawn_from = {
                "rng": torch.get_rng_state(), "generators": [one.get_state() for one in self._generators],
                "dealt": _dealt(sampler), "sampler_epoch": getattr(sampler, "epoch", None),
            }
            self._next_size = self._size_of_all()
            self._ids = iter(sampler)
            self._places = [self._place(array("I"), 0)]

    def _size_of_all(self) -> int:
        length = length_of(self._sampler)
        if length is None:
            return _CHUNK // self._batch_size * self._batch_size or self._batch_size
        # torch's own end there; another may go on, so its chunks are whole batches.
        ends = type(self._sampler).__module__.startswith("torch.utils.data.")
        return length if ends else max(-(-length // self._batch_size), 1) * self._batch_size

    def _draw(self) -> array[int]:
        ids = array("I")
        size, self._next_size = self._next_size, _CHUNK // self._batch_size * self._batch_size or self._batch_size
        while len(ids) < size:
            batch = _read(islice(self._ids, min(self._batch_size, size - len(ids))))
            if len(batch) == 0:
                break
            ids += batch
            self._places.append(self._place(batch, self._places[-1]))
        return ids

    def _place(self, batch: array[int], before: Any) -> Any:
        """Where the sampler is after `batch`: its own word for it, or the checksum of what it gave so far."""
        if _dealt(self._sampler) is not None:
            return None
        own = {"sampler": _own_state(self._sampler), "iterator": _own_state(self._ids)}
        return own if any(state is not None for state in own.values()) else zlib.crc32(batch, before)

    def _draw_again(self, samples: int, checksum: int) -> None:
        name = type(self._sampler).__qualname__
        if zlib.crc32(_read(islice(self._ids, samples))) != checksum:
            raise ValueError(f"{name} gave another order than when the state was taken: it draws from something else "
                             "than torch's generators; give it state_dict() and load_state_dict()")
        length = length_of(self._sampler)
        if length is not None:
            self._next_size = max(self._next_size - samples, self._batch_size)
        if not type(self._sampler).__module__.startswith("torch.utils.data."):
            _log.warning("%s has no state_dict(): %d samples were drawn again to find the place", name, samples)


def draw_dice(generator: torch.Generator | None) -> int:
    """A seed, drawn as torch's DataLoader draws its base seed."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def generators_of(generator: torch.Generator | None, sampler: object) -> list[torch.Generator]:
    """Those of a loader and its sampler, each once."""
    own = getattr(sampler, "generator", None)
    found = [one for one in (generator, own) if isinstance(one, torch.Generator)]
    return found[:1] if len(found) == 2 and found[0] is found[1] else found


def length_of(sampler: Any) -> int | None:
    """The length of a sampler that has one."""
    try:
        return len(sampler)
    except (TypeError, NotImplementedError):
        return None


def state_of_finished(sampler: Any) -> Any:
    """What a sampler with a state of its own keeps between epochs, or None."""
    return None if _dealt(sampler) is not None else _own_state(sampler)


def load_finished(sampler: Any, state: Any) -> None:
    """Gives a sampler the state that it had between epochs: it begins the next one, at its beginning."""
    _load(sampler, state)
    # A state that says "all are done" gives nothing once. One without a place gave a sample of the next epoch.
    if next(iter(sampler), None) is not None:
        _load(sampler, state)


def _set(generators: Sequence[torch.Generator], states: Sequence[torch.Tensor]) -> None:
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)


def _load(stateful: Any, state: Any) -> None:
    stateful.load_state_dict(copy.deepcopy(state))


def _own_state(stateful: Any) -> Any:
    return copy.deepcopy(stateful.state_dict()) if hasattr(stateful, "state_dict") else None


def _read(ids: Iterable[int]) -> array[int]:
    try:
        return array("I", ids)
    except TypeError as error:
        raise TypeError(f"the sampler must yield one index at a time: {error}") from error
    except OverflowError as error:
        raise IndexError(f"the sampler yielded an index that no sample has: {error}") from error


def _dealt(sampler: Any) -> dict[str, Any] | None:
    """What decides the order that a dealer deals out, beside the epoch."""
    kind = type(sampler)
    if f"{kind.__module__}.{kind.__qualname__}" not in _DEALERS:
        return None
    return {"samples": len(sampler.dataset), "shuffle": sampler.shuffle, "seed": sampler.seed}


def _check_same_deal(sampler: Any, generators: Sequence[torch.Generator], state: dict[str, Any]) -> None:
    then, now = state["drawn_from"]["dealt"], _dealt(sampler)
    if then != now:
        raise ValueError(f"the state is of an order dealt out by {then}, this sampler has {now}")
    if len(state["drawn_from"]["generators"]) != len(generators):
        raise ValueError(f"the state is of a loader with {len(state['drawn_from']['generators'])} generators, this one "
                         f"has {len(generators)}")
    world_size = getattr(sampler, "num_replicas", 1)
    if then is None and world_size != state["world_size"]:
        raise ValueError(f"the state is of a world of {state['world_size']}, this one has {world_size}: only "
                         f"DistributedSampler can be dealt out anew, {type(sampler).__qualname__} cannot")


def _bring_back(sampler: Any, generators: Sequence[torch.Generator], state: dict[str, Any]) -> None:
    """Takes generators and sampler to where the order of `state` began, or a sampler with state_dict() to its place."""
    drawn_from, place = state["drawn_from"], state["place"]
    own = isinstance(place, dict)
    generator_states = state["generators"] if own and state["done"] > 0 else drawn_from["generators"]
    _set(generators, generator_states)
    if own and place["sampler"] is not None:
        if state["done"] > 0 and not _at_own_end(sampler, state):
            _load(sampler, place["sampler"])  # which may set its generator to the middle of the epoch
        else:
            load_finished(sampler, place["sampler"])
            _set(generators, generator_states)
    if hasattr(sampler, "set_epoch") and drawn_from["sampler_epoch"] is not None:
        sampler.set_epoch(drawn_from["sampler_epoch"])


def _at_own_end(sampler: Any, state: dict[str, Any]) -> bool:
    """Whether a sampler with state_dict() has given all that it has a length."""
    place = state["place"]
    own = isinstance(place, dict) and place["iterator"] is None
    return own and state["left"] == 0 and length_of(sampler) is not None


def _rest_for(sampler: Any, done: int) -> array[int]:
    """What this rank gets of an epoch's rest, dealt out as DistributedSampler deals out an epoch."""
    alone = copy.copy(sampler)
    alone.num_replicas, alone.rank = 1, 0
    alone.num_samples = alone.total_size = len(sampler.dataset)
    alone.next_yielded = None  # torchdata's place
    whole = array("I", iter(alone))
    world_size = sampler.num_replicas
    rest = whole[done:]
    if sampler.drop_last:
        rest = rest[: len(rest) // world_size * world_size]
    else:
        while len(rest) % world_size != 0:
            rest.extend(whole[: -len(rest) % world_size])
    return rest[sampler.rank::world_size]
