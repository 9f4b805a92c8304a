"""Probes of what an answer may offer beyond the contract: with an option it is right, or as wrong as it is without.

Codes may be off by as much as the contract allows. What is further off without them, too, is not charged to them.
"""

import contextlib
import itertools
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from harness.numerics import distinct
from harness.probing import Answer, Draw, FaultElsewhere, ProbeFailure, WorkerLost, expect, probe
from harness.probing.failures import NotOffered

from .binding import (
    SHARPNESS,
    SLOT,
    Cache,
    Floats,
    Tokens,
    agree,
    alike,
    exact,
    measure_lost_digits,
    needles,
    normal,
    require_offered,
    returned,
    right_or_like,
)
from .memory import resident, settle
from .oracle import attention
from .tokens import CODED_SCALES

LIMITS = {"int8": 0.03, "int4": 0.2}
"""Largest error of a decode over max|v|, as the contract says."""
LARGEST_PAGE = 1024
"""Tokens; published paged caches use 8 to 256."""
NEAR_END = 16
"""Decodes that lead over a page's end; a longer page is filled up to there by a prompt."""
STRANGE_ROWS = "a paged slot's values come back wrong"
FEWER_DIGITS = "a result with pages is less exact than one without"
UNPAGED = "values come back wrong without pages"
SHORTENED = 2**-8
"""Of the largest value, what it is off by at most where it was only held in fewer bits, 16 of them say."""
LATER = 140
"""Tokens behind old ones whose codes are measured: more than designs leave uncoded at the end, 32 to 128."""
STORED = (
    {"S": 9, "stepped": 0, "behind": 0, "D": 32, "equal": ""},
    {"S": 9, "stepped": 4, "behind": 0, "D": 32, "equal": ""},
    {"S": 9, "stepped": 4, "behind": LATER, "D": 32, "equal": ""},
    {"S": 9, "stepped": 0, "behind": LATER, "D": 1, "equal": "normal"},
    {"S": 9, "stepped": 4, "behind": 0, "D": 32, "equal": "tiny"},
    {"S": 9, "stepped": 0, "behind": LATER, "D": 5, "equal": "huge"},
)
"""Tokens whose codes are measured: those of the first three are of many numbers each, but for the first token."""
CYCLES = 9
"""Times that slots are filled and released for a leak to show itself."""


@probe({"groups": 2, "kv_heads": 2, "S": 2, "D": 4, "dtype": "float64"},
       {"groups": 3, "kv_heads": 1, "S": 3, "D": 4, "dtype": "float64"},
       {"groups": 2, "kv_heads": 3, "S": 7, "D": 8, "dtype": "float32"}, floors={"groups": 2})  # fmt: skip
def shared_heads_equal_repeated_heads(
    answer: Answer, draw: Draw, *, groups: int, kv_heads: int, S: int, D: int, dtype: str
) -> None:
    """K19: query head h on key/value head h // (H / Hkv) equals every query head on a copy of its own."""
    shared = normal(draw, 1, groups * kv_heads, S + 2, D, dtype, kv_heads=kv_heads)
    repeated = Tokens(shared.q, *(np.repeat(a, groups, axis=1) for a in (shared.k, shared.v)))
    title = "shared key/value heads differ from repeated ones"
    doing = f"{groups} query heads a key/value head"
    for at, out in enumerate(_steps(Cache(answer, shared), shared, S), S - 1):
        without = partial(_alone, answer, repeated.part(0, at + 1), S)
        right_or_like(answer, title, out, shared.part(0, at + 1), draw, without, f"{doing}, position {at}")


@probe({"W": 1, "S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"W": 3, "S": 3, "H": 1, "D": 4, "dtype": "float64"},
       {"W": 4, "S": 11, "H": 2, "D": 8, "dtype": "float64"}, {"W": 9, "S": 4, "H": 2, "D": 8, "dtype": "float32"},
       floors={"S": 2})  # fmt: skip
def a_window_forgets_what_is_older(answer: Answer, draw: Draw, *, W: int, S: int, H: int, D: int, dtype: str) -> None:
    """K13 turned round: with a window of W, a token sees what it would see if the slot began W - 1 tokens earlier."""
    tokens = normal(draw, 1, H, S + W + 2, D, dtype)
    title = "a window shows other tokens than the last ones"
    for at, out in enumerate(_positions(Cache(answer, tokens, window=W), tokens, S)):
        first, end = max(0, at - W + 1), at + 1
        seen, begun = tokens.part(first, end), tokens.part(first, max(S, end))
        prompt = S - first if at < S else max(seen.length - 1, 1)
        without = partial(_alone, answer, begun, prompt, at - first)
        right_or_like(answer, title, out, seen, draw, without, f"position {at} with a window of {W}, a prompt of {S}")


@probe({"empty": 3, "H": 1, "D": 4, "dtype": "float64"}, {"empty": 1, "H": 2, "D": 4, "dtype": "float32"},
       fixed=("empty",))  # fmt: skip
def a_fork_of_an_empty_slot_is_empty(
    answer: Answer, draw: Draw, *, empty: int, H: int, D: int, dtype: str
) -> None:
    """K14: in the layers in which the source is empty, all three or the first, a used slot that becomes its copy takes
    a prompt as if it were new, if a new slot that holds what the source does takes it."""
    require_offered(answer, "fork")
    old, prompt = normal(draw, 1, H, 2, D, dtype), normal(draw, 1, H, 1, D, dtype)
    judge = partial(_prompt_where_empty, answer, draw, old, prompt, empty)
    with expect.only_beside(partial(judge, forked=False)):
        judge(forked=True)


def _prompt_where_empty(answer: Answer, draw: Draw, old: Tokens, prompt: Tokens, empty: int, *, forked: bool) -> None:
    """Require a prompt in the first layers of a slot, forked or not, that holds tokens in the others alone."""
    cache = Cache(answer, old, layers=3)
    for layer in range(3):
        if forked:
            cache.store([1], old, layer=layer)
        if layer >= empty:
            cache.store([SLOT if forked else 1], old.part(0, 1), layer=layer)
    if forked:
        cache.fork(SLOT, 1)
    for layer in range(empty):
        out = cache.prefill([1], prompt, layer=layer)
        doing = f"a prompt for the copy in layer {layer}, the source empty in {empty} of 3 layers"
        without = partial(_alone, answer, prompt, 1)
        right_or_like(answer, "a fork of an empty slot is not empty", out, prompt, draw, without, doing)


@probe({"S": 3, "length": 1, "held": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 7, "length": 4, "held": 7, "H": 2,
       "D": 4, "dtype": "float32"}, {"S": 7, "length": 4, "held": 2, "H": 1, "D": 4, "dtype": "float64"},
       floors={"S": 2})  # fmt: skip
def a_cut_slot_goes_on_from_there(
    answer: Answer, draw: Draw, *, S: int, length: int, held: int, H: int, D: int, dtype: str
) -> None:
    """K13 after a cut: a slot goes on as one that was only ever given its first tokens, and another slot as before.

    The second layer holds `held` tokens of the slot.
    """
    require_offered(answer, "truncate")
    length, held = min(length, S - 1), min(held, S)
    tokens, other, more = (normal(draw, 1, H, n, D, dtype) for n in (S, S, 2))
    cache = Cache(answer, tokens, layers=2)
    for slot, first, second in ((SLOT, tokens, tokens.part(0, held)), (1, other, other)):
        cache.store([slot], first)
        cache.store([slot], second, layer=1)
    cache.truncate(SLOT, length)
    for layer, at in itertools.product((1, 0), range(2)):
        left = min(length, held) if layer else length
        out, seen = cache.decode([SLOT], more.part(at, at + 1), layer=layer), tokens.part(0, left)
        seen, doing = seen.then(more.part(0, at + 1)), f"layer {layer}, decode {at + 1} after a cut of {S} to {length}"
        title = "a cut slot shows other tokens than its first"
        right_or_like(answer, title, out, seen, draw, partial(_alone, answer, seen, left), doing)
    out, seen = cache.decode([1], more.part(0, 1)), other.then(more.part(0, 1))
    doing = f"slot {SLOT} cut"
    right_or_like(answer, "a cut changes another slot", out, seen, draw, partial(_alone, answer, seen, S), doing)


MOST_STEPS = 8
"""Tokens decoded one by one; those before them come as a prompt."""


@probe({"W": 1, "room": 3}, {"W": 3, "room": 7}, {"W": 2, "room": 150}, fixed=("W", "room"), H=1, D=4, dtype="float64",
       apart=True)  # fmt: skip
def a_window_counts_every_token(
    answer: Answer, draw: Draw, *, W: int, room: int, H: int, D: int, dtype: str
) -> None:
    """K16 under a window: max_length counts the tokens that are out of sight as well."""
    tokens = normal(draw, 1, H, room + 1, D, dtype)
    stepped, full = (Cache(answer, tokens, window=W, room=room) for _ in range(2))
    stored = max(0, room - MOST_STEPS)
    if stored:
        stepped.store([SLOT], tokens.part(0, stored))
    for at in range(stored, room):
        stepped.decode([SLOT], tokens.part(at, at + 1))
    full.store([SLOT], tokens.part(0, room))
    what = "a {} beyond max_length under a window"
    expect.refused(lambda: stepped.decode([SLOT], tokens.part(room)), what.format("decode"))
    expect.refused(lambda: full.store([SLOT], tokens.part(room)), what.format("prompt"))


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 4, "dtype": "float32"}, floors={"D": 2})
def decodes_go_on_over_a_page_end(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K09 with pages: one token at a time into an empty slot, all values alike, until the second page is begun."""
    page = page_size(answer)
    S = max(0, page - NEAR_END)
    tokens, value = alike(draw, 1, H, page + 2, D, dtype)
    lost_digits = lru_cache(partial(measure_lost_digits, answer, dtype))

    def require(cache: Cache, less_exact: str, strange: str, using: str = "") -> None:
        if S:
            cache.store([SLOT], tokens.part(0, S))
        for at in range(S, page + 2):
            out = cache.decode([SLOT], tokens.part(at, at + 1))
            near = bool(np.abs(out - value).max() <= SHORTENED * np.abs(value).max())
            digits = near and lost_digits() == 1.0  # else they are lost without pages, too
            title, doing = less_exact if near else strange, f"{using}a decode at position {at}"
            returned(answer, title, "out", out, value, doing, digits=digits)

    paged = Cache(answer, tokens, page_size=page, room=page + 2)
    with expect.only_beside(lambda: require(Cache(answer, tokens, room=page + 2), UNPAGED, UNPAGED)):
        require(paged, FEWER_DIGITS, STRANGE_ROWS, f"pages of {page}, ")


@probe({"off": -1, "H": 1, "D": 4, "dtype": "float64"}, {"off": 1, "H": 2, "D": 4, "dtype": "float32"},
       floors={"D": 2}, fixed=("off",))  # fmt: skip
def pages_show_their_own_tokens(answer: Answer, draw: Draw, *, off: int, H: int, D: int, dtype: str) -> None:
    """K15, K18 with pages: all values of a layer are alike and come back, and others after a release."""
    page = page_size(answer)
    S = max(1, page + off)
    end = S + min(page, NEAR_END) + 1
    tokens, value = alike(draw, 4, H, end, D, dtype)

    def require(cache: Cache, title: str, using: str = "") -> None:
        for first in (0, 2):
            for row in (first, first + 1):
                out = cache.prefill([SLOT], tokens.rows(row).part(0, S), layer=row - first)
                returned(answer, title, "out", out, value[[row]], f"{using}a prompt of {S}")
            for at, row in itertools.product(range(S, end - first), (first, first + 1)):
                out = cache.decode([SLOT], tokens.rows(row).part(at, at + 1), layer=row - first)
                doing = f"{using}a decode at position {at} of layer {row - first}"
                returned(answer, title, "out", out, value[[row]], doing)
            cache.release(SLOT)

    paged = Cache(answer, tokens, layers=2, page_size=page, room=end)
    with expect.only_beside(lambda: require(Cache(answer, tokens, layers=2, room=end), UNPAGED)):
        require(paged, STRANGE_ROWS, f"pages of {page}, ")


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 5, "dtype": "float32"}, floors={"D": 2})
def pages_of_other_layers_leave_no_trace(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K18 with pages: exchange every token of another layer, and a layer comes to the same, be it right or not."""
    page = page_size(answer)
    S = max(1, min(page, NEAR_END) // 4)  # within a page even where the layers share it
    own, *others = (normal(draw, 1, H, S + 1, D, dtype) for _ in range(3))
    seen: list[list[Floats]] = []
    for other in others:
        cache = Cache(answer, own, layers=2, page_size=page, room=S + 1)
        cache.store([SLOT], other.part(0, S))
        prompt = cache.prefill([SLOT], own.part(0, S), layer=1)[:, :, -1:]
        cache.decode([SLOT], other.part(S))
        seen.append([prompt, cache.decode([SLOT], own.part(S), layer=1)])
    for what, at, once, again in zip(("a prompt", "a decode"), (S, S + 1), *seen, strict=True):
        doing = f"pages of {page}, every token of layer 0 exchanged, {what} of layer 1"
        spread = exact(own.part(0, at), draw)[1]
        agree(answer, "a paged layer sees tokens of another", "out", again, once, spread, doing)


@probe({"off": -1, "H": 1, "D": 4, "dtype": "float64"}, {"off": 0, "H": 1, "D": 4, "dtype": "float64"},
       {"off": 1, "H": 2, "D": 4, "dtype": "float32"}, fixed=("off",))  # fmt: skip
def pages_change_nothing(answer: Answer, draw: Draw, *, off: int, H: int, D: int, dtype: str) -> None:
    """A paged cache gives what a plain one gives, with prompts that end before, on and after a page's end."""
    page = page_size(answer)
    S = max(1, page + off)
    tokens = normal(draw, 1, H, S + min(page, NEAR_END) + 2, D, dtype)
    for at, out in enumerate(_steps(Cache(answer, tokens, page_size=page, room=tokens.length), tokens, S), S - 1):
        seen, doing = tokens.part(0, at + 1), f"pages of {page}, a prompt of {S}, position {at}"
        right_or_like(answer, "pages change the result", out, seen, draw, partial(_alone, answer, seen, S), doing)


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 4, "dtype": "float32"})
def a_page_used_again_is_clean(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """Slots released and filled again give what slots of a fresh plain cache give: no stale row, no page twice."""
    page = page_size(answer)
    room = max(3 * page, 2 * page + 3)
    cache = Cache(answer, normal(draw, 1, H, 1, D, dtype), page_size=page, room=room)
    for turn, S in enumerate((2 * page + 1, page - 1 or 1, page, page + 1)):
        title = "a page used again is not clean" if turn else "pages change the result"
        pair = [normal(draw, 1, H, S + 2, D, dtype) for _ in range(2)]
        for slot, tokens in enumerate(pair):
            cache.store([slot], tokens.part(0, S))
        for slot, tokens in enumerate(pair):
            for at in (S, S + 1):
                out = cache.decode([slot], tokens.part(at, at + 1))
                seen, doing = tokens.part(0, at + 1), f"pages of {page}, {turn} times released before, {at} tokens"
                right_or_like(answer, title, out, seen, draw, partial(_alone, answer, seen, S), doing)
            cache.release(slot)


@probe(slots=4, fixed=("slots",), traced=False)
def released_pages_are_used_again(answer: Answer, draw: Draw, *, slots: int) -> dict[str, float]:
    """Filling, refusing more and releasing, again and again, takes no more memory from some round on.

    What a process takes in its first rounds may be its own.
    """
    page = page_size(answer)
    S = -(-64 // page) * page
    tokens = normal(draw, slots, 2, S, 64, "float32")
    settle(answer)
    cache = Cache(answer, tokens, slots=slots, page_size=page, room=S)
    later = CYCLES // 2
    _fill_and_release(cache, tokens, slots, times=CYCLES - later)
    before = resident(answer)
    _fill_and_release(cache, tokens, slots, times=later)
    leaked = max(0.0, (resident(answer) - before) / (2 * tokens.k.nbytes * later))
    detail = f"the last {later} of {CYCLES} times filled, refused more and released: {leaked:.0%} is kept each"
    expect.that(leaked <= 0.25, "released pages are not used again", detail, paged_leak_ratio=leaked)
    return {"paged_leak_ratio": leaked}


@probe({"D": 32, "kind": "int8", "dtype": "float32"}, fixed=("D",))
def an_int8_value_stays_close(answer: Answer, draw: Draw, *, D: int, kind: str, dtype: str) -> dict[str, float]:
    """K13 on stored codes of one token, whose key is one number, which any code holds: only its value can be off."""
    return _stays_close(answer, kind, _plain_key(draw, D, dtype), 0)


@probe(*STORED, floors={"S": 5, "behind": 0}, kind="int8", dtype="float32", fixed=("D",))
def int8_stays_close(
    answer: Answer, draw: Draw, *, kind: str, S: int, stepped: int, behind: int, D: int, equal: str, dtype: str
) -> dict[str, float]:
    """K13 on stored codes: each head finds one token, or many equal ones; its value is off by what int8 may cost."""
    if equal:
        return _equal_stay_close(answer, draw, kind, S + behind, D, equal, dtype, stepped)
    return _stays_close(answer, kind, _needles_before(draw, S, behind, D, dtype), stepped)


@probe({"D": 32, "kind": "int4", "dtype": "float32"}, fixed=("D",))
def an_int4_value_stays_close(answer: Answer, draw: Draw, *, D: int, kind: str, dtype: str) -> dict[str, float]:
    """K13 on stored codes of one token, whose key is one number, which any code holds: only its value can be off."""
    return _stays_close(answer, kind, _plain_key(draw, D, dtype), 0)


@probe(*STORED, floors={"S": 5, "behind": 0}, kind="int4", dtype="float32", fixed=("D",))
def int4_stays_close(
    answer: Answer, draw: Draw, *, kind: str, S: int, stepped: int, behind: int, D: int, equal: str, dtype: str
) -> dict[str, float]:
    """K13 on stored codes: each head finds one token, or many equal ones; its value is off by what int4 may cost."""
    if equal:
        return _equal_stay_close(answer, draw, kind, S + behind, D, equal, dtype, stepped)
    return _stays_close(answer, kind, _needles_before(draw, S, behind, D, dtype), stepped)


def page_size(answer: Answer) -> int:
    """Tokens a page, as the answer claims; 4 where it says nothing. Larger pages than a prompt is long are refused."""
    paged = answer.capabilities.get("paged")
    page = int(paged.get("page_size", 4)) if isinstance(paged, dict) else 4
    if not 1 <= page <= LARGEST_PAGE:
        raise NotOffered("claims pages of no sensible size", f"{page} is not 1 to {LARGEST_PAGE}")
    return page


def _positions(cache: Cache, tokens: Tokens, S: int) -> Iterator[Floats]:
    """Yield each position of a prompt of S tokens, then a decode for each of the others."""
    out = cache.prefill([SLOT], tokens.part(0, S))
    yield from (out[:, :, at : at + 1] for at in range(S))
    for at in range(S, tokens.length):
        yield cache.decode([SLOT], tokens.part(at, at + 1))


def _steps(cache: Cache, tokens: Tokens, S: int) -> Iterator[Floats]:
    """Yield the last position of a prompt of S tokens, then a decode for each of the others."""
    return itertools.islice(_positions(cache, tokens, S), S - 1, None)


def _alone(answer: Answer, tokens: Tokens, S: int, at: int = -1) -> Floats:
    """Return what one of some tokens, the last if none is named, comes to in a plain cache, S of them a prompt."""
    return list(_positions(Cache(answer, tokens, room=tokens.length), tokens, S))[at]


def _plain_key(draw: Draw, D: int, dtype: str) -> Tokens:
    """One token of which the next one, of opposite key, sees nothing else."""
    tokens = needles(draw, 1, D, dtype, values=3.0)
    k = np.where(np.arange(2) == 0, 1.0, -1.0)[:, None]
    return tokens.but(k=k, q=SHARPNESS)


def _needles_before(draw: Draw, S: int, behind: int, D: int, dtype: str) -> Tokens:
    """Return needles whose query comes after so many tokens that no head asks for."""
    tokens = needles(draw, S, D, dtype, keys=30.0, values=3.0, even=True)
    if not behind:
        return tokens
    k, v = draw.normal(1, S, behind, D), draw.uniform(1, S, behind, D, low=-3.0, high=3.0)
    later = normal(draw, 1, S, behind, D, dtype).but(k=k / np.sqrt((k**2).mean(axis=-1, keepdims=True)) * 30.0, v=v)
    return tokens.part(0, S).then(later).then(tokens.part(S))


def _equal_numbers(draw: Draw, n: int, D: int, size: str, dtype: str) -> Tokens:
    """Return n tokens of one number as key and another as value, and one that asks for them, of half the key.

    No number of ordinary size is near a whole one.
    """
    number = CODED_SCALES[size] * draw.uniform(1, low=1.4, high=1.6)
    held = np.arange(n + 1)[:, None] < n
    k, v = np.where(held, number, number / 2), np.where(held, -number, number)
    return normal(draw, 1, 1, n + 1, D, dtype).but(q=4 * SHARPNESS / (number * np.sqrt(D)), k=k, v=v)


def _fill_and_release(cache: Cache, tokens: Tokens, slots: int, times: int) -> None:
    """Fill every slot, offer it more, which is to be refused, and release it; again and again."""
    for _ in range(times):
        cache.prefill(range(slots), tokens)
        for slot in range(slots // 2):
            try:
                cache.store([slot], tokens.rows(slot))
            except WorkerLost:
                raise
            except ProbeFailure:  # whether and how it is refused is no matter of pages
                pass
        for slot in range(slots):
            cache.release(slot)


def _equal_stay_close(
    answer: Answer, draw: Draw, kind: str, n: int, D: int, size: str, dtype: str, stepped: int
) -> dict[str, float]:
    """Return how far codes of equal numbers are off; name their size where those of ordinary size pass."""
    try:
        return _stays_close(answer, kind, _equal_numbers(draw, n, D, size, dtype), stepped)
    except FaultElsewhere:
        raise
    except ProbeFailure as wrong:
        with contextlib.suppress(ProbeFailure):
            _stays_close(answer, kind, _equal_numbers(draw, n, D, "normal", dtype), stepped)
            wrong.title += f" where tokens are {size}"
        raise


def _stays_close(answer: Answer, kind: str, tokens: Tokens, stepped: int) -> dict[str, float]:
    """Return how far codes are off; what is as far off without them is not charged to them."""
    require, room = partial(_require_close, kind, tokens, stepped), tokens.length
    coded, uncoded = Cache(answer, tokens, quantization=kind, room=room), f"a plain cache is too far off for {kind}"
    with expect.only_beside(lambda: require(Cache(answer, tokens, room=room), uncoded)):
        return require(coded, f"{kind} storage is too far off")


def _require_close(kind: str, tokens: Tokens, stepped: int, cache: Cache, title: str) -> dict[str, float]:
    """A prompt, `stepped` decodes and a decode that asks for each token; the error over the largest value."""
    S = tokens.length - 1
    cache.store([SLOT], tokens.part(0, S - stepped))
    for at in range(S - stepped, S):
        cache.decode([SLOT], tokens.part(at, at + 1))
    out = cache.decode([SLOT], tokens.part(S))
    oracle, largest = attention(tokens.q[0, :, S:], tokens.k[0], tokens.v[0], S)[None], float(abs(tokens.v).max())
    off = abs(out - oracle) / largest
    worst = tuple(int(i) for i in np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape))
    error = float(off[worst])
    if not error <= LIMITS[kind]:
        place = f"out[{', '.join(map(str, worst))}]"
        off, most = distinct(error, LIMITS[kind], 3)
        detail = f"{place} is off by {off} of max|v|, at most {most} passes"
        raise ProbeFailure(title, detail, where=place, expected=float(oracle[worst]), got=float(out[worst]),
                           measured={f"{kind}_max_error": error})  # fmt: skip
    return {f"{kind}_max_error": error}
