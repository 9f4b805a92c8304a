"""What programs of calls must come to: the tokens that every slot holds, and each call made and judged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.numerics import PASS, instead
from harness.probing import (
    Answer,
    ArgumentsRejected,
    Array,
    InputUse,
    Keep,
    ProbeFailure,
    RemoteObject,
    WorkerLost,
)
from harness.probing.programs import Program, StepFailed

from .binding import Floats, measure_lost_digits
from .calls import FAULTS, Ask, Create, Feed, Fork, Release, Truncate, Wrong
from .oracle import attention_with_bound, attention_with_rounding
from .tokens import batch_of, rows_of_tokens

WRONG = "a history of calls leads to a wrong value"
INEXACT = "a history of calls leads to a less exact value"
STRUCTURE = {"float64": 1e-6, "float32": 1e-4}
"""Of a head's largest output, what one may be off by for its digits, which are a criterion of their own: no token is
missing, and none too many. Sums of 400 float32 terms one by one lose up to 400 times 6e-8 of it."""
CAST = 8
"""Times that an answer may be off what the oracle is off by in a narrower type."""
CHANGED = "a later call changes an earlier result"
CODED_ERROR = {"int8": 0.03, "int4": 0.2}
"""Largest error over max|v| of the tokens seen, as the contract says."""
FULL = "max_length"
"""What is wrong with a call that does not fit, beside `FAULTS`."""


class NotRefused(Exception):
    """The answer took a call that it must refuse: another probe's matter, but what it holds now nobody knows."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault


class Slot:
    """Keys and values that one slot holds in one layer, (Hkv, n, D) in float64."""

    def __init__(self, kv_heads: int, head_dim: int) -> None:
        self.length = 0
        self._rows = np.empty((2, kv_heads, 16, head_dim))

    @property
    def keys(self) -> Floats:
        """(Hkv, n, D)."""
        return self._rows[0, :, : self.length]

    @property
    def values(self) -> Floats:
        """(Hkv, n, D)."""
        return self._rows[1, :, : self.length]

    def append(self, k: Floats, v: Floats) -> None:
        """Add tokens."""
        end = self.length + k.shape[1]
        if end > self._rows.shape[2]:
            grown = np.empty((2, self._rows.shape[1], 2 * end, self._rows.shape[3]))
            grown[:, :, : self.length] = self._rows[:, :, : self.length]
            self._rows = grown
        self._rows[0, :, self.length : end], self._rows[1, :, self.length : end] = k, v
        self.length = end

    def copy(self) -> "Slot":
        """The same tokens, apart from these."""
        other = Slot(self._rows.shape[1], self._rows.shape[3])
        other._rows, other.length = self._rows.copy(), self.length
        return other


@dataclass
class Held:
    """A cache of the answer, and what it must hold.

    Attributes:
        create: how it was made.
        handle: of the answer.
        slots: by layer and slot; those missing are empty.
    """

    create: Create
    handle: RemoteObject
    slots: dict[tuple[int, int], Slot] = field(default_factory=dict)

    def at(self, layer: int, slot: int) -> Slot:
        """What a slot holds in a layer."""
        if (layer, slot) not in self.slots:
            self.slots[layer, slot] = Slot(self.create.kv_heads, self.create.head_dim)
        return self.slots[layer, slot]

    def fits(self, feed: Feed) -> bool:
        """Whether the call is legal."""
        create = self.create
        exists = feed.layer < create.layers and max(feed.slots) < create.slots
        return exists and all(self.at(feed.layer, row.slot).length + row.length <= create.room for row in feed.rows)

    def release(self, slot: int) -> None:
        """Empty a slot in every layer."""
        self.slots = {place: held for place, held in self.slots.items() if place[1] != slot}

    def fork(self, src: int, dst: int) -> None:
        """Make one slot a copy of another."""
        if src == dst:
            return
        self.release(dst)
        self.slots |= {(layer, dst): held.copy() for (layer, slot), held in self.slots.items() if slot == src}

    def truncate(self, slot: int, length: int) -> None:
        """Leave a slot its first tokens in every layer."""
        for (_, other), held in self.slots.items():
            if other == slot:
                held.length = min(held.length, length)


class History:
    """One program at work: the answer's caches beside what they must hold.

    Attributes:
        skipped: faults that the answer does not refuse; calls that have them are not made.
        digits: whether the last digits count, and nothing else: what is wrong in more is another criterion's matter.
        lines: the calls that were made, as a script.
    """

    def __init__(self, answer: Answer, seed: int, skipped: frozenset[str], digits: bool) -> None:
        self.answer = answer
        self.seed = seed
        self.skipped = skipped
        self.digits = digits
        self.lines: list[str] = []
        self._held: dict[str, Held] = {}
        self._lost: dict[str, float] = {}
        self._kept: list[tuple[str, RemoteObject, Floats]] = []

    def make(self, program: Program) -> None:
        """Make every call of a program and judge what it brings.

        Raises:
            StepFailed: one went wrong.
            NotRefused: the answer took a call that it must refuse.
        """
        made = 0
        try:
            for step in program:
                if isinstance(step, Create) or step.cache in self._held:
                    self._one(step)
                made += 1
            if not self.digits:
                self._look_again()
        except ProbeFailure as failure:
            seen = failure.detail if failure.title in (WRONG, INEXACT) else failure.title
            *before, last = self.lines
            failure.program = (*before, f"{last}{'; ' if '#' in last else '  # '}{seen}")
            failure.asks_for = tuple(_options(program[: made + 1]))
            raise StepFailed(failure, min(made, len(program) - 1)) from None

    def _one(self, step: Any) -> None:
        if isinstance(step, Create):
            self._create(step)
        elif isinstance(step, Feed):
            self._feed(step)
        elif isinstance(step, Wrong):
            self._wrong(step)
        elif isinstance(step, Ask):
            self._ask(step)
        elif isinstance(step, Release):
            self._slots_only("release", step, step.slot)
        elif isinstance(step, Truncate):
            self._slots_only("truncate", step, step.slot, more=(step.length,))
        else:
            self._slots_only("fork", step, step.src, step.dst)

    def _ask(self, step: Ask) -> None:
        self._say(step.line())
        try:
            self.answer.call("memory_bytes", self._held[step.cache].handle, returns=Keep())
        except WorkerLost:
            raise
        except ProbeFailure:
            return  # another probe's matter

    def _say(self, line: str) -> None:
        self.lines.append(line)

    def _create(self, step: Create) -> None:
        self._say(step.line())
        handle = self.answer.call(
            "create_cache", num_layers=step.layers, num_heads=step.heads, num_kv_heads=step.kv_heads,
            head_dim=step.head_dim, max_batch=step.slots, max_length=step.room, dtype=step.dtype, returns=Keep(),
            **dict(step.options),
        )  # fmt: skip
        self._held[step.cache] = Held(step, handle)

    def _slots_only(
        self, function: str, step: Release | Fork | Truncate, *slots: int, more: tuple[int, ...] = ()
    ) -> None:
        held = self._held[step.cache]
        if max(slots) >= held.create.slots:
            if "slot" not in self.skipped:
                self._refused("slot", function, held.handle, *slots, *more)
            return
        self._say(step.line())
        self.answer.call(function, held.handle, *slots, *more, returns=Keep())
        getattr(held, function)(*slots, *more)

    def _feed(self, feed: Feed) -> None:
        held = self._held[feed.cache]
        tokens = self._tokens(held, feed)
        function, args = self._arguments(held, feed, *self._arrays(feed, tokens))
        if not held.fits(feed):
            if FULL not in self.skipped:
                self._say(f"{feed.line()}  # refused: no room")
                self._refused(FULL, function, *args)
            return
        self._say(feed.line())
        plan = Array((len(feed.rows), held.create.heads, feed.span, held.create.head_dim), held.create.dtype)
        got = self.answer.call(function, *args, returns=plan, inputs=feed.inputs, hold=feed.keep)
        if feed.keep:
            got, kept = got
            self._kept.append((f"the result of call {len(self.lines)}", kept, got))
        for index, row in enumerate(feed.rows):
            slot, (q, k, v) = held.at(feed.layer, row.slot), tokens[index]
            slot.append(k, v)
            self._judge(held.create, slot, q.astype(np.float64), got[index, :, : row.length], index)

    def _tokens(self, held: Held, feed: Feed) -> list[tuple[Floats, Floats, Floats]]:
        pasts = [held.at(feed.layer, row.slot).keys for row in feed.rows]
        return list(rows_of_tokens(self.seed, held.create, feed, pasts))

    @staticmethod
    def _arrays(feed: Feed, tokens: Sequence[tuple[Floats, ...]]) -> list[Floats]:
        return [batch_of(part, feed.span, feed.fill) for part in zip(*tokens, strict=True)]

    @staticmethod
    def _arguments(held: Held, feed: Feed, *arrays: Floats) -> tuple[str, tuple[Any, ...]]:
        named = (held.handle, feed.layer, np.array(feed.slots, np.int64), *arrays)
        return ("decode", named) if feed.decode else ("prefill", (*named, np.array(feed.lengths, np.int64)))

    def _judge(self, create: Create, slot: Slot, q: Floats, got: Floats, row: int) -> None:
        """One row of a result, (H, n, D), against attention over what the slot holds."""
        window, coded = create.option("window"), create.option("quantization")
        first = slot.length - q.shape[1]
        limit = None if window is None else int(window)
        problem = (q, slot.keys, slot.values, first, limit, create.dtype)
        oracle, near = attention_with_rounding(*problem)
        bound_of_codes = CODED_ERROR[str(coded)] * _largest(slot, first, limit) if coded is not None else 0.0
        off = np.abs(got.astype(np.float64) - oracle)
        if (off <= np.maximum(near, bound_of_codes)).all():
            return
        bound = np.maximum(attention_with_bound(*problem)[1], bound_of_codes)
        structure = STRUCTURE[create.dtype] * np.abs(oracle).max(axis=(1, 2), keepdims=True)
        if self.digits and not (off <= structure).all():
            return
        title = INEXACT if self.digits else WRONG
        wrong, coarse = ~(off <= (bound if self.digits else np.maximum(bound, structure))), np.zeros(1)
        if wrong.any() and not self.digits:
            lost = self._lost_digits(create.dtype)
            coarse = _bound_of_narrower(problem, oracle, lost) if lost > 1 else coarse
            wrong &= ~(off <= coarse)
        if wrong.any():
            over = np.where(wrong, np.nan_to_num(off / bound, nan=np.inf), 0)
            head, position, feature = (int(i) for i in np.unravel_index(int(over.argmax()), over.shape))
            place = f"out[{row}, {head}, {position}, {feature}]"
            is_, be = float(got[head, position, feature]), float(oracle[head, position, feature])
            detail = f"{place} is {instead(is_, be)}, in call {len(self.lines)}"
            owner = "" if np.isfinite(np.broadcast_to(coarse, off.shape)[head]).all() else "accuracy"
            raise ProbeFailure(title, detail, where=place, expected=be, got=is_, fault_of=owner)

    def _lost_digits(self, dtype: str) -> float:
        """Return the error ratio of the answer's plain results, measured once a program: thousands of rows ask."""
        if dtype not in self._lost:
            self._lost[dtype] = measure_lost_digits(self.answer, dtype)
        return self._lost[dtype]

    def _wrong(self, step: Wrong) -> None:
        held, feed = self._held[step.cache], step.feed
        if step.fault in self.skipped or not held.fits(feed):
            return
        q, k, v = self._arrays(feed, self._tokens(held, feed))
        function, (handle, layer, slots, *rest) = self._arguments(held, feed, q, k, v)
        if step.fault == "layer":
            layer = held.create.layers
        elif step.fault == "slot":
            slots[-1] = held.create.slots
        elif step.fault == "negative slot":
            slots[0] = -1
        elif step.fault == "twice":
            slots = np.append(slots, slots[0])
            rest = [np.concatenate([a, a[:1]]) for a in rest]
        elif step.fault == "head_dim":
            rest[1], rest[2] = (np.concatenate([a, a[..., :1]], axis=-1) for a in (k, v))
        elif step.fault == "heads":
            rest[0] = np.concatenate([q, q[:, :1]], axis=1)
        elif step.fault == "values":
            rest[2] = np.concatenate([v, v[:, :, :1]], axis=2)
        elif not feed.decode:
            rest[3][-1] = 0 if step.fault == "lengths" else feed.span + 1
        else:
            return
        self._say(step.line())
        self._refused(step.fault, function, handle, layer, slots, *rest)

    def _refused(self, fault: str, function: str, *args: Any) -> None:
        assert fault in FAULTS or fault == FULL
        try:
            self.answer.call(function, *args, returns=Keep(), inputs=InputUse.OVERWRITTEN)
        except ArgumentsRejected:
            return
        except WorkerLost:
            raise
        except ProbeFailure:
            pass
        raise NotRefused(fault)

    def _look_again(self) -> None:
        """Results that were kept are what they were."""
        for what, kept, before in self._kept:
            now = self.answer.fetch(kept, Array(before.shape, before.dtype.name))
            if not np.array_equal(now, before, equal_nan=True):
                raise ProbeFailure(CHANGED, f"{what} is another one in the end", fault_of="ownership")


def _options(program: Program) -> Iterator[str]:
    """Yield the criteria of the options that a program asks for, and of the optional functions that it calls."""
    named = {"window": "sliding_window", "page_size": "paged"}
    for step in program:
        if isinstance(step, Fork | Truncate):
            yield type(step).__name__.lower()
        elif isinstance(step, Create):
            yield from ["gqa"] * (step.groups > 1)
            yield from (named.get(option, str(value)) for option, value in step.options)


def _largest(slot: Slot, first: int, window: int | None) -> Floats:
    """The largest |v| that each new position sees, (n, 1), over all heads."""
    size = np.abs(slot.values).max(axis=(0, 2))
    starts = (max(0, at - window + 1) if window else 0 for at in range(first, slot.length))
    return np.array([size[start : at + 1].max() for at, start in enumerate(starts, first)])[:, None]


def _bound_of_narrower(problem: tuple[Any, ...], oracle: Floats, lost: float) -> Floats:
    """Return how far an answer may be off, head by head, that keeps the digits and the range of a narrower type.

    Args:
        problem: q, k, v and the rest, as the oracle takes them.
        oracle: what is right.
        lost: the error ratio of the answer's plain results.
    """
    *arrays, first, limit, dtype = problem
    unit = lost * float(np.finfo(dtype).eps)
    kept = np.float32 if unit <= STRUCTURE["float64"] else np.float16
    with np.errstate(all="ignore"):
        narrow = (array.astype(kept) for array in arrays)
        moved = np.abs(attention_with_rounding(*narrow, first, limit, dtype)[0] - oracle)
    size, moved = (each.max(axis=(1, 2), keepdims=True) for each in (np.abs(oracle), moved))
    return np.asarray(PASS * unit * size + CAST * np.nan_to_num(moved, nan=np.inf))


def run_program(answer: Answer, seed: int, program: Program, *, digits: bool = False) -> None:
    """Run a program; calls that the answer takes although it must refuse them are left out.

    Without `digits` a result is right that only lost some: no token is missing in it, and none too many. With them a
    result that is wrong in more than its digits is not judged.

    Raises:
        StepFailed: it went wrong.
    """
    skipped: frozenset[str] = frozenset()
    while True:
        try:
            return History(answer, seed, skipped, digits).make(program)
        except NotRefused as why:
            skipped |= {why.fault}
        finally:
            answer.forget()
