"""Resident memory of the answer's process, read from outside after its allocator gave back what is free."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.probing import Answer, Draw, Nothing, ProbeFailure, expect
from harness.probing.failures import FaultElsewhere

from .binding import Cache, Tokens
from .oracle import attention

TIDY = """
import ctypes
import gc

LIBC = ctypes.CDLL(None)
PR_SET_THP_DISABLE = 41
LIBC.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
if not gc.get_freeze_count():
    gc.collect()
    gc.freeze()  # what is there before the first call is no later garbage, and most of what a collection looks through


def tidy():
    gc.collect()
    LIBC.malloc_trim(0)
"""
"""Runs beside the answer: without it freed memory stays resident, and memory comes in pages of 2 MiB."""
SHORT = 16
"""Short slots beside a long one. Together they hold as many tokens: what doubles its room for all then has no spare."""
HELD = 1e-3
"""Of the root mean square, what a decode may be off by where cost is measured: digits are another criterion's, and
sums of 2,048 float32 terms one by one lose up to 2,048 times 6e-8 of it."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a float32 cache."""

    layers: int
    kv_heads: int
    head_dim: int
    slots: int

    @property
    def token_bytes(self) -> int:
        """Bytes of the keys and values of one token of one slot, over all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * 4


def settle(answer: Answer) -> None:
    """A process in which nothing was kept yet."""
    answer.fresh()
    answer.load("tidy", TIDY)


def resident(answer: Answer) -> int:
    """Resident bytes, free memory given back."""
    answer.call("tidy", module="tidy", returns=Nothing())
    return answer.resident_bytes()


def grown(
    answer: Answer, draw: Draw, shape: Shape, length: int, room: int,
    after: Callable[[Cache, Tokens], object] = lambda cache, tokens: None, together: bool = True, stepped: int = 0,
    **options: Any,
) -> int:  # fmt: skip
    """Bytes by which the process grows with a new cache that holds tokens in every slot of every layer.

    Args:
        answer: settled.
        draw: of the tokens.
        shape: of the cache.
        length: tokens in each slot.
        room: max_length.
        after: what to do in the end with the cache, and the tokens that it was given.
        together: whether all slots are filled by one call, or each by its own.
        stepped: how many of a slot's tokens, the last, come one by one, by decodes, and not by a prompt.
        **options: of the cache.
    """
    numbers = draw.normal(shape.slots, shape.kv_heads, length, shape.head_dim, dtype="float32")
    tokens = Tokens(numbers, numbers, numbers)
    one = Cache(answer, tokens, slots=1, room=room, **options)
    _fill(one, tokens.rows(0), 0, [0], min(stepped, 1))  # what a first use leaves behind
    answer.forget()
    before = resident(answer)
    cache = Cache(answer, tokens, layers=shape.layers, slots=shape.slots, room=room, **options)
    for layer in range(shape.layers):
        for slots in (range(shape.slots),) if together else zip(range(shape.slots)):
            _fill(cache, tokens.rows(*slots), layer, slots, stepped)
    size = resident(answer) - before
    after(cache, tokens)
    answer.forget()
    return size


def _fill(cache: Cache, tokens: Tokens, layer: int, slots: Sequence[int], stepped: int) -> None:
    """Give slots their tokens: a prompt, and the last ones by a decode each."""
    prompt = tokens.length - stepped
    if prompt:
        cache.prefill(slots, tokens.part(0, prompt), layer=layer)
    for at in range(prompt, tokens.length):
        cache.decode(slots, tokens.part(at, at + 1), layer=layer)


def slopes(answer: Answer, draw: Draw, shape: Shape, length: int, *, together: bool = True) -> tuple[float, float]:
    """Resident bytes by token filled, where no more is reserved, and by token reserved beyond those.

    Raises:
        FaultElsewhere: the first slot does not hold its tokens.
    """
    full = grown(answer, draw, shape, length, length, together=together)
    wide = grown(
        answer, draw, shape, length, 4 * length, together=together,
        after=lambda cache, tokens: require_held(cache, 0, tokens.rows(0)),
    )  # fmt: skip
    return round(full / (shape.slots * length), 1), round((wide - full) / (shape.slots * 3 * length), 1)


def slope_of_one(answer: Answer, draw: Draw, shape: Shape, length: int) -> float:
    """Return the resident bytes by token of one slot that is filled beside many short ones, where room is for all."""
    numbers = draw.normal(1, shape.kv_heads, length, shape.head_dim, dtype="float32")
    long, short = Tokens(numbers, numbers, numbers), length // SHORT
    cache = Cache(answer, long, layers=shape.layers, slots=SHORT + 1, room=length)
    for layer in range(shape.layers):
        cache.prefill(range(1, SHORT + 1), long.part(0, short).rows(*[0] * SHORT), layer=layer)
    before = resident(answer)
    for layer in range(shape.layers):
        cache.prefill([0], long, layer=layer)
    size = resident(answer) - before
    answer.forget()
    return round(size / length, 1)


def require_held(cache: Cache, slot: int, held: Tokens) -> None:
    """Require the cache to attend to every token that a slot holds.

    Decode one more token, whose query is that of the token in the middle, and compare the output with the oracle's. A
    cache that forgets tokens takes no memory and no time.

    Raises:
        FaultElsewhere: the output (1, H, 1, D) is off by more than `HELD`.
    """
    last, middle = held.part(held.length - 1), held.length // 2
    more = held.then(last.but(q=held.q[:, :, middle : middle + 1]))
    out = cache.decode([slot], more.part(held.length))
    oracle = attention(more.q[0, :, held.length :], more.k[0], more.v[0], held.length)[None]
    title, doing = "a decode is wrong where cost is measured", f"a decode behind {held.length} tokens"
    try:
        expect.same("out", out, oracle.astype(out.dtype), title, doing, within=HELD)
    except ProbeFailure as why:
        raise FaultElsewhere(title, why.detail, where=why.where, expected=why.expected, got=why.got) from None
