"""Probes of time and memory, both read from outside the answer's process."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from harness.numerics import Exponent, distinct, fit_exponent
from harness.probing import (
    Answer,
    CallTimedOut,
    Draw,
    NotRun,
    ProbeFailure,
    expect,
    probe,
    require_subquadratic,
    timings,
)

from .binding import SLOT, Cache, Tokens, normal
from .memory import SHORT, Shape, grown, require_held, resident, settle, slope_of_one, slopes
from .probes_options import page_size

CONTEXTS = (64, 128, 256, 512, 1024, 2048)
ROUNDS = 5
"""Timings of each context, after one that is thrown away."""
LONGER = 3
"""Times as many rounds for each second look."""
LONG = 1.5
"""Processor seconds of a prompt after which none twice as long is tried."""
VISIBLE = 1.5
"""How many times more the longest context must cost than one token."""
FEW, ROOMS = 12, (64, 16384)
"""Tokens held, and a small and a large max_length."""
ROOM_PAID = 8.0
"""Times as long as in the small room that a decode in the large one takes at least if it pays for the room."""
STATED, STATED_LENGTH = Shape(layers=2, kv_heads=4, head_dim=16, slots=16), 256
"""The shapes whose bytes per token an answer may state."""
WIDE, WIDE_LENGTH = Shape(layers=1, kv_heads=2, head_dim=256, slots=4), 512
"""A token's numbers are large beside any object that holds them, a slot is long beside any block it grows by."""
LIGHT, LIGHT_LENGTH = Shape(layers=1, kv_heads=1, head_dim=128, slots=16), 128
"""For what takes too long to fill `WIDE`: a sixteenth of its work, and each slot filled by a call of its own."""
OVERHEAD = 1.6
"""Bytes held over bytes of keys and values: half as much again is still in proportion, a second copy is not."""
STEPPED = replace(WIDE, slots=2)
"""For tokens that come one by one, `STATED_LENGTH` of them: designs leave no more than half as many uncoded."""
LEAST = 0.4
"""Below this the tokens cannot be held, whatever they are packed into."""
NO_REPORT = "`memory_bytes` is not offered"
NEAR = 1.5
"""Factor between what `memory_bytes` says and what is held: a slot's growth in blocks is less, a second copy more."""
NEW_ROOM = 0.25
"""Memory that other slots take beyond what one released, over their tokens' bytes: a last page each may be apart."""
SPARSE, ROOMY = 512, 256
"""Many slots of one token each, and the tokens of a page that is hardly filled by it: memory comes in 4096 bytes."""
SEEN = 2.0
"""Factor between the memory of such pages and that of pages of one token; designs with pages show 4 and more."""
COMPRESSED = {"int8": 0.75, "int4": 0.6}
"""Largest ratio of bytes to those of the plain cache: codes take 1/4 and 1/8, the rest is scales."""
INT4_OF_INT8 = 0.9
"""int4 that takes as much as int8 is not packed."""
LEAST_INT8 = 0.25
"""Bytes of int8 codes, without their scales, over those of float32 numbers: no int8 takes less."""


@probe(H=2, D=128, dtype="float32", fixed=("H", "D"), traced=False, times=True, measures=True)
def a_decode_costs_in_proportion_to_its_context(
    answer: Answer, draw: Draw, *, H: int, D: int, dtype: str
) -> dict[str, float]:
    """Exponent of processor time per decode in the tokens held; only a growth seen to be quadratic each time fails.

    What is not linear at once, as beside other work, is measured twice again, in more rounds. A prompt that
    took long leaves out the longer contexts: its cost is not the question. What tells nothing is not run.

    Keys and values of the longest context are 4 MB: copies of 16 MB go back to the system, and cost more by the byte.
    """
    caches, held, token = dict[int, Cache](), dict[int, Tokens](), normal(draw, 1, H, 1, D, dtype)
    for context in (1, *CONTEXTS):
        numbers = draw.normal(1, H, context, D, dtype=dtype)
        tokens = held[context] = Tokens(numbers, numbers, numbers)
        caches[context] = Cache(answer, tokens, room=context + ROUNDS + 2 + 2 * (LONGER * ROUNDS + 1))
        caches[context].prefill([SLOT], tokens)
        if answer.cost.processor > LONG:
            break

    def cost(context: int) -> float:
        caches[context].decode([SLOT], token)
        if context == CONTEXTS[0]:
            held[context] = held[context].then(token)
        return answer.cost.processor

    tries = [_exponent(cost, list(caches), draw, ROUNDS)]
    if tries[0].growth != "linear":
        tries = [_exponent(cost, list(caches), draw, LONGER * ROUNDS) for _ in range(2)]
    require_held(caches[CONTEXTS[0]], SLOT, held[CONTEXTS[0]])
    best = min(tries, key=lambda fit: (fit.growth != "linear", fit.value))
    figures = {"decode_cost_exponent": round(best.value, 3)}
    what = f"from {CONTEXTS[0]} to {max(caches)} tokens held, its processor time grows as tokens"
    require_subquadratic(tries, "the cost of a decode grows faster than the tokens held", what, figures)
    return figures


@probe(H=2, D=64, dtype="float32", fixed=("H", "D"), traced=False, times=True, measures=True)
def a_decode_does_not_pay_for_room(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> dict[str, float]:
    """Compare the least processor time of a decode behind few tokens at a large max_length with that at a small one.

    Other work adds to a time and takes nothing off it. What is long at once is measured twice again, in more rounds.
    """
    tokens, token = normal(draw, 1, H, FEW, D, dtype), normal(draw, 1, H, 1, D, dtype)
    caches = {room: Cache(answer, tokens, room=room) for room in ROOMS}
    for cache in caches.values():
        cache.prefill([SLOT], tokens)

    def cost(room: int) -> float:
        caches[room].decode([SLOT], token)
        return answer.cost.processor

    def least(rounds: int) -> list[float]:
        return [max(min(times), 1e-7) for times in timings(cost, ROOMS, repeats=rounds).values()]

    tries = [least(ROUNDS)]
    if tries[0][1] > ROOM_PAID * tries[0][0]:
        tries = [least(LONGER * ROUNDS) for _ in range(2)]
    small, large = min(tries, key=lambda pair: pair[1] / pair[0])
    seen = (
        f"behind {FEW} tokens and a few more its processor time is {1e3 * large:.3g} ms where max_length is "
        f"{ROOMS[1]}, and {1e3 * small:.3g} ms where it is {ROOMS[0]}"
    )
    figures = {"decode_room_ratio": round(large / small, 3)}
    expect.that(large <= ROOM_PAID * small, "a decode costs more where max_length is larger", seen, **figures)
    return figures


@probe(traced=False, slow_fails=False, measures=True)
def memory_grows_with_the_tokens(answer: Answer, draw: Draw) -> dict[str, float]:
    """Resident bytes a token: 2 layers kv_heads head_dim itemsize, by tokens filled, reserved, or of one long slot.

    One layer tells; the two layers of the shape that an answer may state are left out where they cannot be filled.
    """
    settle(answer)
    figures: dict[str, float] = {}
    with contextlib.suppress(ProbeFailure):
        filled, reserved = slopes(answer, draw, STATED, STATED_LENGTH)
        figures |= {
            "resident_bytes_per_token_filled": filled,
            "resident_bytes_per_token_reserved": reserved,
            "bytes_per_token": max(filled, reserved),
        }
    settle(answer)
    shape, most = _most_per_token(answer, draw)
    seen, enough = _require_in_proportion(most, shape, "with each token", figures), most >= LEAST * shape.token_bytes
    expect.that(enough, "memory grows by less than the tokens' keys and values", seen, **figures)
    alone = 0.0
    if shape is WIDE:
        with contextlib.suppress(ProbeFailure):  # whether prompts of several lengths are taken is another's matter
            alone = slope_of_one(answer, draw, shape, WIDE_LENGTH)
    _require_in_proportion(alone, shape, f"with each token of one slot beside {SHORT} short ones", figures)
    return figures


@probe()
def memory_bytes_is_offered(answer: Answer, draw: Draw) -> None:
    """memory_bytes is there to be called, whatever else the answer does."""
    expect.that(answer.has("memory_bytes"), NO_REPORT)


@probe({"slots": 2, "layers": 2, "kv_heads": 2}, {"slots": 1, "layers": 1, "kv_heads": 3},
       {"slots": 3, "layers": 4, "kv_heads": 1}, length=256, room=1024,
       fixed=("slots", "layers", "kv_heads", "length", "room"), traced=False, slow_fails=False,
       measures=True)  # fmt: skip
def memory_bytes_says_what_is_held(
    answer: Answer, draw: Draw, *, slots: int, layers: int, kv_heads: int, length: int, room: int
) -> dict[str, float]:
    """memory_bytes is near the bytes of the tokens, or of what is reserved for them, or what the process grew by."""
    expect.that(answer.has("memory_bytes"), NO_REPORT)
    settle(answer)
    shape = Shape(layers, kv_heads, head_dim=64, slots=slots)
    said: list[int] = []

    def grew_by(shape: Shape) -> int:
        return grown(answer, draw, shape, length, room, after=lambda cache, _: said.append(cache.bytes()))

    grew = grew_by(shape)
    tokens, reserved = (shape.token_bytes * shape.slots * each for each in (length, room))
    right = any(held / NEAR <= said[0] <= held * NEAR for held in (tokens, reserved, grew))
    detail = (
        f"it says {said[0]:,} bytes; the tokens take {tokens:,}, max_length tokens would take {reserved:,}, "
        f"and the process grew by {grew:,}"
    )
    if not right:
        with contextlib.suppress(ProbeFailure):
            grew_by(replace(shape, slots=slots + 1))
        if said[1:] == said[:1]:
            detail = f"{detail}; with {slots} and with {slots + 1} slots filled it says the same"
    expect.that(right, "`memory_bytes` is not the bytes held", detail, memory_report_ratio=said[0] / tokens)
    return {"memory_report_ratio": round(said[0] / tokens, 3)}


@probe(kind="int8", traced=False, slow_fails=False, measures=True)
def int8_takes_fewer_bytes(answer: Answer, draw: Draw, *, kind: str) -> dict[str, float]:
    """Resident bytes of a full cache at int8 over those without quantisation, filled by prompts, and by decodes."""
    settle(answer)
    ratio = next(_compressions(answer, draw, kind))
    detail = "{} of the plain bytes, at most {} passes".format(*distinct(ratio, COMPRESSED[kind], 3))
    expect.that(ratio <= COMPRESSED[kind], "int8 takes no fewer bytes", detail, int8_bytes_ratio=ratio)
    return {"int8_bytes_ratio": ratio, **_require_decodes_compressed(answer, draw, kind)}


@probe(kind="int4", traced=False, slow_fails=False, measures=True)
def int4_takes_fewer_bytes(answer: Answer, draw: Draw, *, kind: str) -> dict[str, float]:
    """Resident bytes of a full cache at int4 over those without quantisation, and over those at int8 if offered.

    Filled by decodes it is compared with a plain cache alone.
    """
    settle(answer)
    ratios, limit = _compressions(answer, draw, kind, "int8"), COMPRESSED[kind]
    ratio = next(ratios)
    if ratio > INT4_OF_INT8 * LEAST_INT8:
        with contextlib.suppress(ProbeFailure):
            limit = min(limit, INT4_OF_INT8 * next(ratios))
    detail = "{} of the plain bytes, at most {} passes".format(*distinct(ratio, limit, 3))
    expect.that(ratio <= limit, "int4 takes no fewer bytes", detail, int4_bytes_ratio=ratio)
    return {"int4_bytes_ratio": ratio, **_require_decodes_compressed(answer, draw, kind)}


@probe(slots=8, fixed=("slots",), traced=False, slow_fails=False, measures=True)
def released_pages_serve_other_slots(answer: Answer, draw: Draw, *, slots: int) -> dict[str, float]:
    """Fill other slots from what one slot released: the process grows no more.

    First one slot is filled and released until a pool that hands out its pages in turn has handed out all of them.
    Arrays that belong to a slot, filled with zeros or not, take memory when that slot is written for the first time.
    """
    page = page_size(answer)
    S = -(-LIGHT_LENGTH // page) * page
    tokens = normal(draw, 1, 2, S, 64, "float32")
    settle(answer)
    cache = Cache(answer, tokens, slots=slots, page_size=page, room=S)
    for slot in [0] * (2 * slots):
        cache.prefill([slot], tokens)
        cache.release(slot)
    before = resident(answer)
    for slot in range(1, slots):
        cache.prefill([slot], tokens)
        cache.release(slot)
    again = max(0.0, (resident(answer) - before) / (2 * tokens.k.nbytes * (slots - 1)))
    detail = f"{slots - 1} slots, filled one after the other, took {again:.0%} of their tokens' bytes beyond it"
    figures = {"other_slots_ratio": round(again, 3)}
    expect.that(again <= NEW_ROOM, "pages that one slot released do not serve another", detail, **figures)
    return figures


@probe(traced=False, slow_fails=False, measures=True)
def a_page_takes_its_room(answer: Answer, draw: Draw) -> dict[str, float]:
    """Slots of one token take more in large pages than in pages of one token; where they do not, no page was seen."""
    tokens = normal(draw, SPARSE, 1, 1, 16, "float32")
    alone, paged = (max(1, _measure_bytes(answer, tokens, size)) for size in (1, ROOMY))
    if paged < SEEN * alone:
        raise NotRun(
            f"{SPARSE} slots of one token take {paged:,} bytes in pages of {ROOMY} tokens and {alone:,} in pages "
            "of one: `page_size` changes nothing that is seen from outside, so whether there are pages cannot be told"
        )
    return {"page_room_ratio": round(paged / alone, 2)}


def _measure_bytes(answer: Answer, tokens: Tokens, page: int) -> int:
    """Return the bytes that tokens of many slots take in a cache that is made already, with all that it set aside.

    In a process of its own: memory that another cache gave back may be resident before a token is written to it.
    """
    settle(answer)
    # what a first use leaves behind
    Cache(answer, tokens, slots=1, page_size=page, room=ROOMY).prefill([0], tokens.rows(0))
    answer.forget()
    cache = Cache(answer, tokens, slots=SPARSE, page_size=page, room=ROOMY)
    before = resident(answer)
    cache.prefill(range(SPARSE), tokens)
    return resident(answer) - before


def _most_per_token(answer: Answer, draw: Draw) -> tuple[Shape, float]:
    """Return the shape of a cache that could be filled, and the resident bytes that a further token takes there."""
    try:
        return WIDE, max(slopes(answer, draw, WIDE, WIDE_LENGTH))
    except CallTimedOut:
        settle(answer)
    return LIGHT, max(slopes(answer, draw, LIGHT, LIGHT_LENGTH, together=False))


def _require_in_proportion(taken: float, shape: Shape, when: str, figures: dict[str, float]) -> str:
    """Require the resident bytes that a token takes to be little more than its keys and values, and say what was seen.

    The figures keep the largest ratio of the two.
    """
    overhead = taken / shape.token_bytes
    figures["memory_overhead"] = max(figures.get("memory_overhead", 0.0), round(overhead, 3))
    seen = f"{when} the process grows by {overhead:.2g} times the {shape.token_bytes:,} bytes of its keys and values"
    expect.that(overhead <= OVERHEAD, "memory grows by more than the tokens' keys and values", seen, **figures)
    return seen


def _compressions(answer: Answer, draw: Draw, *kinds: str, decoded: bool = False) -> Iterator[float]:
    """Yield the resident bytes of a full cache of each kind over those without quantisation, measured once."""
    shape, stepped = (STEPPED, STATED_LENGTH) if decoded else (STATED, 0)
    fill = partial(grown, answer, draw, shape, STATED_LENGTH, STATED_LENGTH, stepped=stepped)
    plain = fill()
    for kind in kinds:
        yield round(fill(quantization=kind) / plain, 4) if plain > 0 else 1.0


def _require_decodes_compressed(answer: Answer, draw: Draw, kind: str) -> dict[str, float]:
    """Require a cache of codes that decodes alone fill to take fewer bytes than a plain one that they fill."""
    ratio = next(_compressions(answer, draw, kind, decoded=True))
    figures = {f"{kind}_bytes_ratio_of_decodes": ratio}
    detail = "{} of the plain bytes, at most {} passes".format(*distinct(ratio, COMPRESSED[kind], 3))
    expect.that(ratio <= COMPRESSED[kind], f"{kind} takes no fewer bytes for tokens of decodes", detail, **figures)
    return figures


def _exponent(cost: Callable[[int], float], contexts: Sequence[int], draw: Draw, rounds: int) -> Exponent:
    """Growth of a decode's cost over the contexts, the first of which is one token: what any call costs is taken off.

    Where the longest context costs hardly more than one token there is no growth to speak of, and nothing is taken off.
    """
    costs = timings(cost, contexts, repeats=rounds)
    idle = median(costs.pop(contexts[0]))
    visible = median(costs[contexts[-1]]) > VISIBLE * idle
    worked = {size: [max(each - idle * visible, 1e-7) for each in times] for size, times in costs.items()}
    return fit_exponent(worked, draw.rng)
