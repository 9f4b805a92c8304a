"""When faults made by machine act in a cache, and histories of calls that meet each of these conditions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.probing import Answer, ArgumentsRejected, Draw, ProbeFailure, expect
from harness.probing.guards import Driver, Guard, Guards

from .binding import Cache, Tokens, exact, normal

Change = Callable[[Draw, Tokens], Tokens]
OPTIONS: tuple[dict[str, Any], ...] = (
    {"window": 3}, {"page_size": 2}, {"page_size": 5}, {"quantization": "int8"}, {"quantization": "int4"},
)  # fmt: skip
QUANTIZED = {"int8": 0.03, "int4": 0.2}
"""What an output may be off by, of the largest value it sees."""


@dataclass
class Run:
    """A cache of the answer beside everything that it was given; each result is judged."""

    answer: Answer
    draw: Draw
    D: int = 8
    heads: int = 2
    kv_heads: int = 0
    layers: int = 1
    slots: int = 4
    room: int = 64
    dtype: str = "float64"
    change: Change = lambda draw, tokens: tokens
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kv_heads = self.kv_heads or self.heads
        self.held: dict[tuple[int, int], Tokens] = {}
        self.cache = Cache(
            self.answer, self._tokens(1, 1), layers=self.layers, slots=self.slots, room=self.room, **self.options
        )

    def prefill(self, slots: Sequence[int], lengths: Sequence[int], layer: int = 0, padding: int = 0) -> None:
        """A prompt for each slot."""
        tokens = self._tokens(len(slots), max(lengths) + padding)
        self._judge(slots, lengths, layer, tokens, self.cache.prefill(slots, tokens, lengths, layer=layer))

    def decode(self, slots: Sequence[int], layer: int = 0) -> None:
        """A token for each slot."""
        tokens = self._tokens(len(slots), 1)
        self._judge(slots, [1] * len(slots), layer, tokens, self.cache.decode(slots, tokens, layer=layer))

    def release(self, slot: int) -> None:
        """Empty a slot in all layers."""
        self.cache.release(slot)
        self.held = {place: held for place, held in self.held.items() if place[1] != slot}

    def fork(self, src: int, dst: int) -> None:
        """Copy a slot."""
        self.cache.fork(src, dst)
        copied = {(layer, dst): held for (layer, slot), held in self.held.items() if slot == src}
        self.held = {place: held for place, held in self.held.items() if place[1] != dst} | copied

    def overfill(self, slot: int, layer: int = 0) -> None:
        """A prompt that the slot has no room for is refused."""
        held = self.held.get((layer, slot))
        n = self.room - (held.length if held else 0) + 1
        try:
            self.cache.prefill([slot], self._tokens(1, n), layer=layer)
        except ArgumentsRejected:
            return
        raise ProbeFailure("holds more than max_length", f"slot {slot} takes {n} more tokens", expected=0, got=n)

    def _tokens(self, B: int, n: int) -> Tokens:
        tokens = normal(self.draw, B, self.heads, n, self.D, self.dtype, self.kv_heads)
        return self.change(self.draw, tokens)

    def _judge(self, slots: Sequence[int], lengths: Sequence[int], layer: int, tokens: Tokens, out: Any) -> None:
        for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
            new, old = tokens.rows(row).part(0, n), self.held.get((layer, slot))
            held = old.then(new) if old else new
            self.held[layer, slot] = held
            self._right(held, held.length - n, out[row : row + 1, :, :n])

    def _right(self, held: Tokens, start: int, out: Any) -> None:
        bits, window = self.options.get("quantization"), self.options.get("window")
        oracle, spread = exact(held, self.draw, start, window)
        if bits is None:
            expect.close("out", out, oracle, spread)
            return
        off = np.abs(out - oracle).max() / (np.abs(held.v).max() or 1.0)
        if not off <= QUANTIZED[bits]:
            raise ProbeFailure("out is wrong", f"off by {float(off):.3g}", expected=QUANTIZED[bits], got=float(off))


def lengths_of(draw: Draw) -> dict[str, int]:
    """The longest prompt, mostly short, and room for the whole of `history`; the long ones need more than a page."""
    longest = 6 if draw.integer(0, 2) else 80
    return {"longest": longest, "room": 8 * longest + 40}


def history(run: Run, draw: Draw, longest: int) -> None:
    """Prompts, tokens, a release and an appended prompt, over all layers and several slots."""
    for layer in range(run.layers):
        slots = [int(s) for s in draw.permutation(run.slots)[: draw.integer(1, run.slots)]]
        run.prefill(slots, [draw.integer(1, longest) for _ in slots], layer, padding=draw.integer(0, 2))
    for layer in range(run.layers):
        run.decode([int(s) for s in draw.permutation(run.slots)[: draw.integer(1, run.slots)]], layer)
    run.release(draw.integer(0, run.slots - 1))
    for layer in range(run.layers):
        run.prefill([draw.integer(0, run.slots - 1)], [draw.integer(1, longest)], layer, padding=draw.integer(0, 2))
        run.decode([int(s) for s in draw.permutation(run.slots)], layer)


def driver(dtype: str = "", **settings: Any) -> Driver:
    """A short history under some settings, and one under an option besides, in either dtype or in one."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for used in (dtype,) if dtype else ("float64", "float32"):
            made = {name: value(draw, t) if callable(value) else value for name, value in settings.items()}
            longest, room = lengths_of(draw).values()
            for options in ({}, OPTIONS[draw.integer(0, len(OPTIONS) - 1)]):
                try:
                    run = Run(answer, draw, dtype=used, layers=draw.integer(1, 3), room=room, options=options, **made)
                except ArgumentsRejected:
                    continue  # an option that this answer does not offer
                history(run, draw, longest)

    return drive


def valued(change: Change) -> Driver:
    """A short history of tokens of a special kind."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for dtype in ("float64", "float32"):
            longest, room = lengths_of(draw).values()
            history(Run(answer, draw, dtype=dtype, change=change, room=room), draw, longest)

    return drive


def optional(make: Callable[[Draw, int], dict[str, Any]], **settings: Any) -> Driver:
    """A short history under options, with prompts longer than small windows and pages."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for dtype in ("float64", "float32"):
            longest, room = lengths_of(draw).values()
            options = make(draw, t)
            change = with_zero_tokens if "quantization" in options and draw.integer(0, 1) else Run.change
            layers = draw.integer(1, 2)
            run = Run(answer, draw, dtype=dtype, layers=layers, room=room, options=options, change=change, **settings)
            history(run, draw, 2 * longest)

    return drive


def over(draw: Draw, t: int) -> int:
    """A little more than t."""
    return t + draw.integer(1, 4)


def many_rows(answer: Answer, draw: Draw, t: int) -> None:
    """More than t rows in a call."""
    longest, room = lengths_of(draw).values()
    run = Run(answer, draw, D=4, slots=over(draw, t) + 1, room=room)
    slots = [int(s) for s in draw.permutation(run.slots)][: over(draw, t - 1)]
    run.prefill(slots, [draw.integer(1, longest) for _ in slots])
    run.decode(slots)
    run.decode(slots[::-1])


def long_prompts(answer: Answer, draw: Draw, t: int) -> None:
    """Prompts of more than t positions."""
    for dtype in ("float64", "float32"):
        run = Run(answer, draw, D=draw.integer(2, 6), heads=1, room=3 * t + 20, dtype=dtype)
        run.prefill([1, 3], [over(draw, t), draw.integer(1, t)])
        run.prefill([3], [over(draw, t)])
        run.decode([3, 1])


def long_histories(answer: Answer, draw: Draw, t: int) -> None:
    """More than t tokens in a slot, in several pieces."""
    for dtype in ("float64", "float32"):
        run = Run(answer, draw, D=draw.integer(2, 6), heads=1, room=t + 40, dtype=dtype)
        piece = draw.integer(max(1, t // 2), t)
        run.prefill([0, 2], [piece, 1 + t // 3])
        run.prefill([0], [max(1, t - piece)])
        for _ in range(3):
            run.decode([2, 0])
        run.prefill([2, 0], [9, draw.integer(2, 6)], padding=draw.integer(0, 1))
        run.decode([0])


def to_the_end(answer: Answer, draw: Draw, t: int) -> None:
    """A slot that is filled to max_length, refuses more, and is emptied."""
    run = Run(answer, draw, room=draw.integer(5, 30))
    run.prefill([1, 2], [run.room - 2, run.room])
    run.decode([1])
    run.decode([1])
    run.overfill(1)
    run.overfill(2)
    run.release(2)
    run.prefill([2], [run.room])
    run.release(1)
    run.decode([1])


def page_ends(answer: Answer, draw: Draw, t: int) -> None:
    """A slot that holds one token less than a multiple of t."""
    for dtype in ("float64", "float32"):
        run = Run(answer, draw, D=4, heads=1, room=5 * t + 20, dtype=dtype)
        held = t * draw.integer(1, 3) - 1
        if held:
            run.prefill([0, 3], [held, draw.integer(1, held)])
        run.prefill([0], [draw.integer(2, 5)]) if draw.integer(0, 1) else run.decode([0])
        for _ in range(2):
            run.decode([3, 0])


def far_slots(answer: Answer, draw: Draw, t: int) -> None:
    """A slot beyond number t."""
    run = Run(answer, draw, D=4, slots=over(draw, t) + 1)
    far = [run.slots - 1, draw.integer(t + 1, run.slots - 1), 0]
    slots = list(dict.fromkeys(far))
    run.prefill(slots, [draw.integer(1, 5) for _ in slots])
    run.decode(slots)
    run.release(slots[0])
    run.decode(slots[::-1])


def far_layers(answer: Answer, draw: Draw, t: int) -> None:
    """Layer t and those around it, filled in turns."""
    run = Run(answer, draw, D=4, layers=t + 2)
    history(run, draw, 6)
    run.decode([0, 2], t)


def many_steps(answer: Answer, draw: Draw, t: int) -> None:
    """More than t calls on one handle."""
    run = Run(answer, draw, D=4, heads=1, room=t + 20, dtype="float32" if t % 2 else "float64")
    run.prefill([0, 1], [2, 3])
    for _ in range(t + 1):
        run.decode([1, 0])
    run.prefill([2], [3])


def two_handles(answer: Answer, draw: Draw, t: int) -> None:
    """Handles made one after the other, and used in turns."""
    runs = [Run(answer, draw, D=draw.integer(2, 9)) for _ in range(t + 1)]
    for run in (*runs, *runs[::-1]):
        run.prefill([0, 2], [draw.integer(1, 5), draw.integer(1, 5)])
    for run in runs:
        run.decode([2, 0])


def in_step(answer: Answer, draw: Draw, t: int) -> None:
    """Slots that hold the same number of tokens, and go on together."""
    for dtype in ("float64", "float32"):
        longest, room = lengths_of(draw).values()
        run = Run(answer, draw, D=draw.integer(2, 9), layers=2, room=room, dtype=dtype)
        slots, length = [int(s) for s in draw.permutation(run.slots)[:3]], draw.integer(1, longest)
        for layer in range(run.layers):
            run.prefill(slots, [length] * 3, layer)
            run.decode(slots[::-1], layer)
            run.prefill(slots[:2], [draw.integer(1, longest), draw.integer(1, longest)], layer)


def forks(answer: Answer, draw: Draw, t: int) -> None:
    """Slots are copied, and go on apart."""
    run = Run(answer, draw, layers=2)
    for layer in range(2):
        run.prefill([0, 1], [draw.integer(1, 9), draw.integer(1, 9)], layer)
    run.fork(0, 2)
    for layer in range(2):
        run.decode([0, 2, 1], layer)
    run.fork(2, 1)
    run.release(2)
    for layer in range(2):
        run.prefill([1, 2], [3, 2], layer)
        run.decode([2, 0, 1], layer)


def often(answer: Answer, draw: Draw, t: int) -> None:
    """Calls in which a line runs more than t times: many rows of many tokens."""
    run = Run(answer, draw, D=4, slots=t + 3, room=6 * t + 40, layers=2)
    slots = [int(s) for s in draw.permutation(run.slots)]
    for layer in range(2):
        run.prefill(slots, [draw.integer(1, t + 2) for _ in slots], layer)
        run.decode(slots[::-1], layer)


def with_negative_zeros(draw: Draw, tokens: Tokens) -> Tokens:
    """Some numbers are -0.0."""
    q, k, v = (np.where(draw.rng.random(a.shape) < 0.25, -0.0, a) for a in tokens)
    q.flat[0] = k.flat[0] = v.flat[0] = -0.0
    return tokens.but(q=q, k=k, v=v)


def with_zero_queries(draw: Draw, tokens: Tokens) -> Tokens:
    """Queries of nothing but zeros."""
    return tokens.but(q=tokens.q * (draw.rng.random((*tokens.q.shape[:3], 1)) < 0.5))


def with_equal_keys(draw: Draw, tokens: Tokens) -> Tokens:
    """Neighbours have one key."""
    return tokens.but(k=np.repeat(tokens.k[:, :, ::2], 2, axis=2)[:, :, : tokens.length])


def with_zero_tokens(draw: Draw, tokens: Tokens) -> Tokens:
    """Keys and values of some tokens are nothing but zeros."""
    kept = draw.rng.random((*tokens.k.shape[:3], 1)) < 0.8
    return tokens.but(k=tokens.k * kept, v=tokens.v * kept)


def with_large_queries(draw: Draw, tokens: Tokens) -> Tokens:
    """Scores of up to some hundreds."""
    return tokens.but(q=tokens.q * 60.0)


GUARDS = Guards(
    (
        Guard("always", driver()),
        Guard("D > t", driver(D=over), "D > {t}", low=2, high=256),
        Guard("D % t", driver(D=lambda draw, t: t * draw.integer(1, 4) - 1), "D % {t} == {t} - 1", low=2, high=32),
        Guard("heads > t", driver(heads=over), "heads > {t}", low=1, high=16),
        Guard("rows > t", many_rows, "batch > {t}", low=1, high=24),
        Guard("S > t", long_prompts, "S > {t}", low=2, high=200),
        Guard("tokens > t", long_histories, "total > {t}", low=2, high=400),
        Guard("last of a page of t", page_ends, "any(h % {t} == {t} - 1 for h in held)", low=2, high=64),
        Guard("slot > t", far_slots, "max(slots) > {t}", low=1, high=24),
        Guard("layer t", far_layers, "layer == {t}", low=1, high=6),
        Guard("after t calls", many_steps, "steps > {t}", low=3, high=60),
        Guard("handle past t", two_handles, "handle > {t}", low=1, high=3),
        Guard("t-th time in a call", often, place="visit == {t}", low=2, high=16),
        Guard("one row of t", often, element="row % {t} == {t} - 1", low=2, high=16),
        Guard("features past t", driver(D=over), element="feature > {t}", low=2, high=100),
        Guard("lengths differ", driver(slots=4), "len(set(lengths)) > 1"),
        Guard("holds differ", driver(slots=4), "len(set(held)) > 1"),
        Guard("holds agree", in_step, "batch > 1 and len(set(held)) == 1 and held[0] > 0"),
        Guard("slots out of order", driver(slots=4), "not ordered"),
        Guard("reused slot", driver(slots=3), "reused"),
        Guard("after a refusal", to_the_end, "after_refusal"),
        Guard("a full slot", to_the_end, "total == max_length"),
        Guard("appended prompt", driver(slots=3), "prefills and max(held) > 0"),
        Guard("float32", driver(dtype="float32"), "dtype == 'float32'"),
        Guard("negative zero", valued(with_negative_zeros), "negative_zero()"),
        Guard("zero query", valued(with_zero_queries), "zero_query()"),
        Guard("equal keys", valued(with_equal_keys), "equal_keys()"),
        Guard("large query", valued(with_large_queries), "largest() > 50.0"),
        Guard("shared heads", driver(heads=6, kv_heads=lambda draw, t: draw.integer(1, 3)), "kv_heads < heads"),
        Guard("window of t", optional(lambda draw, t: {"window": t}), "window == {t}", low=1, high=12, needs="window"),
        Guard("pages of t", optional(lambda draw, t: {"page_size": t}), "page_size == {t}", low=1, high=20,
              needs="page_size"),
        Guard("int8", optional(lambda draw, t: {"quantization": "int8"}), "bits == 'int8'", needs="int8"),
        Guard("int4", optional(lambda draw, t: {"quantization": "int4"}), "bits == 'int4'", needs="int4"),
        Guard("after a fork", forks, "forked", needs="fork"),
    ),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
    spared=frozenset({
        "memory_bytes", "nbytes", "check_call", "check_arrays", "check_slots", "check_sizes", "is_integer", "check",
        "table",
    }),
    unasked=frozenset({"decode_cost", "decode_speed", "memory_growth", "memory_report"}),
)  # fmt: skip
