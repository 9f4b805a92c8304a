"""A fixed history with calls that must be refused, beside the same history without them.

It is the same for every seed, so that the same fault is seen by each. An answer is compared with itself: what else is
wrong with it shows on both sides. Whether a call is refused at all is `capacity`'s and `argument_errors`'s matter.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.probing import Answer, ArgumentsRejected, NotRun, ProbeFailure, WorkerLost, expect

from .binding import Cache, Floats, Tokens, agree

TRACES = "a refused call leaves traces"
SLOTS, LAYERS, ROOM = 6, 2, 120
POOL = ROOM + 8
"""Tokens of a sequence that all calls take theirs from."""
EMPTY, PARTLY, LATE, AGAIN = 0, 4, 2, 5
"""Slots: empty before every refused call; filled by a prompt and a chunk; by decodes; released and used again."""
FULL = (1, 3)
"""By layer, the slot that is full in it; in the other layer it is not."""
OVER = -1
"""A length that is one more than what still fits."""

Lengths = Sequence[int] | None
"""Tokens that each row of a prompt takes; None for a decode."""
Change = Callable[[Tokens], Tokens]


@dataclass
class Filled:
    """A cache of the answer, and how much it holds.

    Attributes:
        cache: of the answer.
        pool: a sequence for every slot, which all calls take their tokens from.
        held: tokens by layer and slot.
        calls: that it took.
    """

    cache: Cache
    pool: Tokens
    held: dict[tuple[int, int], int] = field(default_factory=dict)
    calls: int = 0

    def room_in(self, layer: int, slot: int) -> int:
        """Return how many tokens still fit."""
        return ROOM - self.held.get((layer, slot), 0)

    def take(self, layer: int, slots: Sequence[int], lengths: Lengths = None) -> Floats:
        """Make a call and return its outputs, (B, H, n, D), with zeros at padding."""
        self.calls += 1
        n = max(lengths or [1])
        tokens = self._tokens(slots, n, self.calls % (POOL - n))
        for slot, more in zip(slots, lengths or [1] * len(slots), strict=True):
            self.held[layer, slot] = ROOM - self.room_in(layer, slot) + more
        if lengths is None:
            return np.asarray(self.cache.decode(slots, tokens, layer=layer))
        out = self.cache.prefill(slots, tokens, lengths, layer=layer)
        real = np.arange(n) < np.array(lengths)[:, None]
        return np.where(real[:, None, :, None], out, 0)

    def offer(self, layer: int, slots: Sequence[int], lengths: Lengths, change: Change) -> None:
        """Make a call that must be refused, of tokens changed as it needs."""
        named = zip(slots, lengths or (), strict=False)
        fitting = [self.room_in(layer, slot) + 1 if n == OVER else n for slot, n in named]
        tokens = change(self._tokens(slots, max(fitting, default=1), 5))
        if lengths is None:
            self.cache.decode(slots, tokens, layer=layer)
        else:
            self.cache.store(slots, tokens, fitting, layer=layer)

    def release(self, slot: int) -> None:
        """Empty a slot."""
        self.cache.release(slot)
        self.held = {place: n for place, n in self.held.items() if place[1] != slot}

    def _tokens(self, slots: Sequence[int], n: int, start: int) -> Tokens:
        return self.pool.rows(*range(len(slots))).part(start, start + n)


@dataclass(frozen=True)
class Refusal:
    """A call that must be refused.

    Attributes:
        what: it is, in words.
        call: makes it.
        slots: that it names.
        unfit: whether it has no room, and else what is wrong are its arguments.
    """

    what: str
    call: Callable[[Filled], object]
    slots: Sequence[int] = ()
    unfit: bool = False


class NotRefused(Exception):
    """The answer took a call that it must refuse, or raised something else."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.what)
        self.refusal = refusal


def feed(
    what: str, layer: int, slots: Sequence[int], lengths: Lengths = None, change: Change = lambda tokens: tokens
) -> Refusal:
    """A prompt that must be refused, or without lengths a decode."""
    unfit = OVER in (lengths or ()) or any(slot in slots for slot in FULL[layer : layer + 1] if layer >= 0)
    return Refusal(f"{what} in layer {layer}", lambda filled: filled.offer(layer, slots, lengths, change), slots, unfit)


def without_room(layer: int) -> Iterator[Refusal]:
    """Calls that do not fit, in one row or in one of several."""
    full, part = FULL[layer], FULL[1 - layer]
    rows = (PARTLY, EMPTY, AGAIN, LATE, part)
    yield from late_without_room(layer)
    yield feed("a prompt too long for an empty slot", layer, [EMPTY], [OVER])
    yield feed("a prompt for a full slot", layer, [full], [1])
    yield feed("prompts of which the first has no room", layer, [full, EMPTY, LATE], [1, 2, 1])
    yield feed("prompts for all slots, the last of which is full", layer, [*rows, full], [1, 2, 1, 2, 1, 1])
    yield feed("a decode of a full slot", layer, [full])
    yield feed("a decode of slots of which the first is full", layer, [full, PARTLY])
    yield feed("a decode of all slots, the last of which is full", layer, [*rows, full])


def late_without_room(layer: int) -> Iterator[Refusal]:
    """Calls that do not fit, found in the only row or behind others."""
    full = FULL[layer]
    yield feed("a prompt that is one token too long", layer, [PARTLY], [OVER])
    yield feed("prompts of which the last has no room", layer, [PARTLY, EMPTY, full], [2, 1, 1])
    yield feed("prompts of which the second is too long", layer, [AGAIN, LATE, PARTLY], [1, OVER, 2])
    yield feed("a decode of slots of which the last is full", layer, [LATE, AGAIN, full])


def wrong_arguments() -> Iterator[Refusal]:
    """Calls of slots, layers, lengths, shapes and dtypes that do not exist or do not fit."""
    for function, lengths in (("prompts", (2, 1)), ("a decode", None)):
        for layer in (-1, LAYERS):
            yield feed(function, layer, [PARTLY, LATE], lengths)
        for slot in (-1, SLOTS):
            yield feed(f"{function} of a slot and of slot {slot}", 0, [PARTLY, slot], lengths)
        twice = None if lengths is None else (1, 2, 1)
        yield feed(f"{function} of the slots {AGAIN}, {PARTLY}, {AGAIN}", 1, [AGAIN, PARTLY, AGAIN], twice)
    yield feed("prompts of lengths 2 and 0", 0, [PARTLY, LATE], [2, 0])
    yield feed("prompts of lengths 2 and 3 in arrays of 2", 1, [PARTLY, LATE], [2, 3], lambda t: t.part(0, 2))
    yield feed("two prompts with one length", 0, [PARTLY, LATE], [2])
    yield feed("prompts of another head_dim", 1, [PARTLY, LATE], [2, 1], lambda t: _widened(t, 3, "kv"))
    yield feed("prompts with one query head too many", 0, [PARTLY, LATE], [2, 1], lambda t: _widened(t, 1, "q"))
    yield feed("prompts with values longer than the keys", 1, [PARTLY, LATE], [2, 1], lambda t: _widened(t, 2, "v"))
    yield feed("prompts of another dtype", 0, [PARTLY, LATE], [2, 1], _recast)
    yield feed("a decode of two tokens a slot", 1, [PARTLY, LATE], None, lambda t: _widened(t, 2, "qkv"))
    yield feed("a decode of more slots than rows", 0, [PARTLY, LATE], None, lambda t: t.rows(0))
    for slot in (-1, SLOTS):
        yield Refusal(f"release of slot {slot}", lambda filled, slot=slot: filled.cache.release(slot))
    yield Refusal("create_cache with an option that does not exist", lambda filled: _created(filled, no_such_option=1))
    yield Refusal("create_cache with num_layers of 0", lambda filled: _created(filled, layers=0))


def in_one_slot() -> Iterator[Refusal]:
    """Calls for one slot of a cache of one layer."""
    yield feed("a prompt that is one token too long", 0, [PARTLY], [OVER])
    yield feed("a decode", 1, [PARTLY])
    yield feed("a prompt", 1, [PARTLY], [1])
    yield feed("a prompt of length 0", 0, [PARTLY], [0])
    yield feed("a prompt longer than its array", 0, [PARTLY], [2], lambda t: t.part(0, 1))
    yield feed("a prompt of another head_dim", 0, [PARTLY], [1], lambda t: _widened(t, 3, "kv"))


def forks() -> Iterator[Refusal]:
    """Forks from and to slots that do not exist."""
    for src, dst in ((PARTLY, SLOTS), (SLOTS, PARTLY), (LATE, -1), (-1, LATE)):
        yield Refusal(f"fork from {src} to {dst}", lambda filled, src=src, dst=dst: filled.cache.fork(src, dst))


def _widened(tokens: Tokens, axis: int, names: str) -> Tokens:
    """The tokens, of which some arrays have one entry more along an axis."""
    wider = {n: np.concatenate([a, a.take([0], axis)], axis) for n, a in zip("qkv", tokens, strict=True) if n in names}
    return Tokens(**{name: wider.get(name, getattr(tokens, name)) for name in "qkv"})


def _recast(tokens: Tokens) -> Tokens:
    other = {"float32": "float64", "float64": "float32"}[tokens.dtype]
    return Tokens(*(a.astype(other) for a in tokens))


def _created(filled: Filled, **how: Any) -> None:
    Cache(filled.cache.answer, _widened(filled.pool.part(0, 1), 3, "qkv"), **how)


class History:
    """The history on caches of one kind.

    Args:
        answer: to judge.
        pool: POOL tokens for each of SLOTS slots.
        refusals: that are made, one after the other.
        layers: of the caches.
        single: whether all calls name one slot.
        forked: whether the slot used again is a copy of the one partly filled.
        options: of the caches.
    """

    def __init__(
        self, answer: Answer, pool: Tokens, refusals: Sequence[Refusal], *, layers: int = 1, single: bool = False,
        forked: bool = False, options: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.answer, self.pool, self.refusals = answer, pool, refusals
        self.single, self.forked, self.options = single, forked, dict(options or {})
        self.layers = range(layers)

    def judge(self) -> None:
        """Every call that is refused leaves the cache as it was; the others are not judged.

        Raises:
            ProbeFailure: one does not.
            NotRun: the calls between them do not give the same twice.
        """
        plain = self._plain()
        made = list(self.refusals)
        while True:
            try:
                return self._compare(made, plain)
            except NotRefused as why:
                made.remove(why.refusal)

    def _plain(self) -> list[list[Floats]]:
        """Return the outputs of the calls between the refused ones where none of those is made."""
        try:
            filled = self._begun()
            rounds = [self._round(filled, refusal) for refusal in self.refusals]
            expect.alive("out", rounds[-1][0], *self.pool)
        except WorkerLost:
            raise
        except ProbeFailure as failure:
            raise NotRun(f"what refused calls leave behind cannot be told: without any, {failure.title}") from None
        return rounds

    def _compare(self, made: Sequence[Refusal], plain: Sequence[Sequence[Floats]]) -> None:
        filled = self._begun()
        spread = float(np.finfo(self.pool.dtype).eps * np.abs(self.pool.v).max()) / 2
        for refusal, wanted in zip(self.refusals, plain, strict=True):
            if refusal in made:
                _refuse(filled, refusal)
            try:
                got = self._round(filled, refusal)
                for layer, (one, other) in enumerate(zip(got, wanted, strict=True)):
                    if not np.array_equal(one, other):  # as it is in most answers
                        doing = f"{refusal.what}, then a call in layer {layer}"
                        agree(self.answer, TRACES, "out", one, other, spread, doing)
            except WorkerLost:
                raise
            except ProbeFailure as failure:
                self._confirm(plain)
                if failure.title == TRACES:
                    raise
                seen = f"{refusal.what}, then {failure.title}: {failure.detail}"
                raise ProbeFailure(TRACES, seen, locations=failure.locations) from None

    def _confirm(self, plain: Sequence[Sequence[Floats]]) -> None:
        """The history without refused calls comes to the same again: else something else than they may be the cause."""
        pairs = zip(itertools.chain(*plain), itertools.chain(*self._plain()), strict=True)
        if not all(np.array_equal(one, other, equal_nan=True) for one, other in pairs):
            raise NotRun("what refused calls leave behind cannot be told: without any, identical calls differ")

    def _begun(self) -> Filled:
        """A cache with slots of every kind."""
        options = {"layers": len(self.layers), "slots": SLOTS, "room": ROOM, **self.options}
        filled = Filled(Cache(self.answer, self.pool, **options), self.pool)
        for layer in self.layers:
            if self.single:
                filled.take(layer, [PARTLY], [2])
            else:
                first, second = (ROOM if slot == FULL[layer] else 4 for slot in FULL)
                filled.take(layer, [AGAIN, PARTLY, *FULL], [3, 2, first, second])
        if not self.single:
            filled.release(AGAIN)
        for layer in self.layers:
            filled.take(layer, [PARTLY], [3])
            filled.take(layer, [PARTLY] if self.single else [AGAIN, LATE, PARTLY])
        if self.forked:
            filled.cache.fork(PARTLY, AGAIN)
            filled.held |= {(layer, AGAIN): filled.held[layer, PARTLY] for layer in self.layers}
        return filled

    def _round(self, filled: Filled, after: Refusal) -> list[Floats]:
        """Return the outputs of one more call a layer for all slots with room; after the last refusal it fills them.

        Prompts and decodes take turns. An empty slot is looked at where the refused call named it.
        """
        outs, empty = [], [EMPTY] * (EMPTY in after.slots)
        for layer in self.layers:
            slots = [PARTLY] if self.single else [*empty, LATE, AGAIN, FULL[1 - layer], PARTLY]
            if after is self.refusals[-1]:
                lengths: Lengths = [filled.room_in(layer, slot) for slot in slots]
            else:
                lengths = [1 + slot % 2 for slot in slots] if filled.calls // len(self.layers) % 3 == layer else None
            outs.append(filled.take(layer, slots, lengths))
        for slot in empty:
            filled.release(slot)
        return outs


def _refuse(filled: Filled, refusal: Refusal) -> None:
    """Make a call that must be refused, and where it has no room make it again.

    Raises:
        NotRefused: it is not.
        ProbeFailure: it is, but only once.
    """
    for again in (False, True)[: 1 + refusal.unfit]:
        try:
            refusal.call(filled)
        except ArgumentsRejected:
            continue
        except WorkerLost:
            raise
        except ProbeFailure:
            if not again:
                raise NotRefused(refusal) from None
            continue
        if again:
            raise ProbeFailure(TRACES, f"{refusal.what} is refused, and taken when it is made again")
        raise NotRefused(refusal)
