"""Probes of what an answer may offer beyond the contract: each option against the answer's own plain path.

That isolates the option: an answer that is wrong without it is wrong in the same way with it. Stored codes alone are
compared with the oracle, for their error is theirs.
"""

from collections.abc import Iterator

import numpy as np

from harness.probing import Answer, Draw, Refuted, expect, probe

from .binding import SLOT, Cache, Floats, Tokens, agree, exact, needles, normal
from .memory import resident, settle

LIMITS = {"int8": 0.03, "int4": 0.2}
"""Largest error of a decode over max|v|, as the contract says."""
CYCLES = 13
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
    outs = [_history(Cache(answer, tokens), SLOT, tokens, S) for tokens in (shared, repeated)]
    title = "shared key/value heads differ from repeated ones"
    _same_history(title, outs[0], outs[1], repeated, draw, f"{groups} query heads a key/value head")


@probe({"W": 1, "S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"W": 3, "S": 3, "H": 1, "D": 4, "dtype": "float64"},
       {"W": 4, "S": 11, "H": 2, "D": 8, "dtype": "float64"}, {"W": 9, "S": 4, "H": 2, "D": 8, "dtype": "float32"},
       floors={"S": 2})  # fmt: skip
def a_window_forgets_what_is_older(
    answer: Answer, draw: Draw, *, W: int, S: int, H: int, D: int, dtype: str
) -> None:
    """K13 turned round: with a window of W, a token sees what it would see if the slot began W - 1 tokens earlier."""
    tokens = normal(draw, 1, H, S + W + 2, D, dtype)
    windowed = Cache(answer, tokens, window=W)
    out = windowed.prefill([SLOT], tokens.part(0, S))[:, :, -1:]
    for at in range(S - 1, tokens.length):
        out = out if at < S else windowed.decode([SLOT], tokens.part(at, at + 1))
        seen = tokens.part(max(0, at - W + 1), at + 1)
        plain = Cache(answer, seen)
        if at < S:
            wanted = plain.prefill([SLOT], seen)[:, :, -1:]
        else:
            if W > 1:
                plain.store([SLOT], seen.part(0, seen.length - 1))
            wanted = plain.decode([SLOT], seen.part(seen.length - 1))
        spread = exact(seen, draw, seen.length - 1)[1]
        title = "a window shows other tokens than the last ones"
        agree(title, "out", out, wanted, spread, f"position {at} with a window of {W}")


@probe({"S": 2, "H": 1, "D": 4, "dtype": "float64"}, {"S": 7, "H": 2, "D": 4, "dtype": "float32"})
def a_fork_is_a_copy_of_its_own(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K14: source and copy go on as two slots filled with the same tokens would, in every layer."""
    common, old = normal(draw, 2, H, S, D, dtype), normal(draw, 1, H, 1, D, dtype)
    ways = normal(draw, 2, H, 3, D, dtype)
    forked, filled = Cache(answer, common, layers=2), Cache(answer, common, layers=2)
    for layer in (0, 1):
        forked.store([1], old, layer=layer)
        forked.store([SLOT], common.rows(layer), layer=layer)
        for slot in (1, SLOT):
            filled.store([slot], common.rows(layer), layer=layer)
    forked.fork(SLOT, 1)
    for layer in (1, 0):
        for at in range(3):
            for way, slot in enumerate((SLOT, 1)):
                token = ways.rows(way).part(at, at + 1)
                out, wanted = (cache.decode([slot], token, layer=layer) for cache in (forked, filled))
                expect.alive("out", wanted, token.q)
                spread = exact(common.rows(layer).then(ways.rows(way).part(0, at + 1)), draw, S + at)[1]
                doing = f"layer {layer}, decode {at + 1} of the {'copy' if way else 'source'}"
                agree("a fork is not a copy of its own", "out", out, wanted, spread, doing)


@probe({"off": -1, "H": 1, "D": 4, "dtype": "float64"}, {"off": 0, "H": 1, "D": 4, "dtype": "float64"},
       {"off": 1, "H": 2, "D": 4, "dtype": "float32"}, fixed=("off",))  # fmt: skip
def pages_change_nothing(answer: Answer, draw: Draw, *, off: int, H: int, D: int, dtype: str) -> None:
    """A paged cache gives what a plain one gives, with prompts that end before, on and after a page's end."""
    page = page_size(answer)
    S = max(1, page + off)
    tokens = normal(draw, 1, H, S + page + 2, D, dtype)
    paged, plain = Cache(answer, tokens, page_size=page, room=S + page + 2), Cache(answer, tokens, room=S + page + 2)
    outs = [_history(cache, SLOT, tokens, S) for cache in (paged, plain)]
    _same_history("pages change the result", outs[0], outs[1], tokens, draw, f"pages of {page}, a prompt of {S}")


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 4, "dtype": "float32"})
def a_page_used_again_is_clean(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """Slots released and filled again give what slots of a fresh plain cache give: no stale row, no page twice."""
    page = page_size(answer)
    room = 3 * page
    cache = Cache(answer, normal(draw, 1, H, 1, D, dtype), page_size=page, room=room)
    for S in (2 * page + 1, page - 1 or 1, page, page + 1):
        pair = [normal(draw, 1, H, S + 2, D, dtype) for _ in range(2)]
        for slot, tokens in enumerate(pair):
            cache.store([slot], tokens.part(0, S))
        for slot, tokens in enumerate(pair):
            plain = Cache(answer, tokens, room=room)
            plain.store([slot], tokens.part(0, S))
            for at in (S, S + 1):
                out, wanted = (each.decode([slot], tokens.part(at, at + 1)) for each in (cache, plain))
                spread = exact(tokens.part(0, at + 1), draw, at)[1]
                doing = f"pages of {page} released and used again for {at} tokens"
                agree("a page used again is not clean", "out", out, wanted, spread, doing)
            cache.release(slot)


@probe(slots=4, pages=8, fixed=("slots", "pages"), traced=False)
def released_pages_are_used_again(answer: Answer, draw: Draw, *, slots: int, pages: int) -> dict[str, float]:
    """Filling and releasing again and again takes no more memory than the first times."""
    page = page_size(answer)
    S = -(-64 // page) * page
    tokens = normal(draw, slots, 2, S, 64, "float32")
    settle(answer)
    cache = Cache(answer, tokens, slots=slots, page_size=page, room=S)
    held = list(_filled_and_released(answer, cache, tokens, slots))
    payload = 2 * tokens.k.nbytes * (CYCLES - 1)
    leaked = max(0.0, (held[-1] - held[0]) / payload)
    detail = f"{CYCLES - 1} times filled and released: {leaked:.0%} of what was released is still held"
    expect.that(leaked <= 0.25, "released pages are not used again", detail, paged_leak_ratio=leaked)
    return {"paged_leak_ratio": leaked}


@probe({"S": 1, "stepped": 0}, {"S": 9, "stepped": 4}, kind="int8", D=32, dtype="float32", fixed=("D",))
def int8_stays_close(
    answer: Answer, draw: Draw, *, kind: str, S: int, stepped: int, D: int, dtype: str
) -> dict[str, float]:
    """K13 on stored codes: each head finds one token; its value is off by what int8 may cost."""
    return _stays_close(answer, draw, kind, needles(draw, S, D, dtype, keys=30.0, values=3.0), stepped)


@probe({"S": 1, "stepped": 0}, {"S": 9, "stepped": 4}, kind="int4", D=32, dtype="float32", fixed=("D",))
def int4_stays_close(
    answer: Answer, draw: Draw, *, kind: str, S: int, stepped: int, D: int, dtype: str
) -> dict[str, float]:
    """K13 on stored codes: each head finds one token; its value is off by what int4 may cost."""
    return _stays_close(answer, draw, kind, needles(draw, S, D, dtype, keys=30.0, values=3.0), stepped)


def page_size(answer: Answer) -> int:
    """Tokens a page, as the answer claims; 4 where it says nothing."""
    paged = answer.capabilities.get("paged")
    return int(paged.get("page_size", 4)) if isinstance(paged, dict) else 4


def _history(cache: Cache, slot: int, tokens: Tokens, S: int) -> list[Floats]:
    """The last position of a prompt of S tokens, and a decode for each of the others."""
    out = cache.prefill([slot], tokens.part(0, S))[:, :, -1:]
    return [out, *(cache.decode([slot], tokens.part(at, at + 1)) for at in range(S, tokens.length))]


def _same_history(
    title: str, got: list[Floats], wanted: list[Floats], tokens: Tokens, draw: Draw, doing: str
) -> None:
    first = tokens.length - len(got)
    expect.alive("out", np.concatenate(wanted), tokens.q[:, :, first:])
    for at, (out, plain) in enumerate(zip(got, wanted, strict=True), first):
        spread = exact(tokens.part(0, at + 1), draw, at)[1]
        agree(title, "out", out, plain, spread, f"{doing}, position {at}")


def _filled_and_released(answer: Answer, cache: Cache, tokens: Tokens, slots: int) -> Iterator[int]:
    """Resident bytes after each of the times that every slot was filled and released."""
    for _ in range(CYCLES):
        cache.prefill(range(slots), tokens)
        for slot in range(slots):
            cache.release(slot)
        yield resident(answer)


def _stays_close(answer: Answer, draw: Draw, kind: str, tokens: Tokens, stepped: int) -> dict[str, float]:
    """A prompt, `stepped` decodes and a decode that asks for each token; the error over the largest value."""
    cache, S = Cache(answer, tokens, quantization=kind), tokens.length - 1
    cache.store([SLOT], tokens.part(0, S - stepped))
    for at in range(S - stepped, S):
        cache.decode([SLOT], tokens.part(at, at + 1))
    out = cache.decode([SLOT], tokens.part(S))
    oracle, largest = exact(tokens, draw, S)[0], float(abs(tokens.v).max())
    off = abs(out - oracle) / largest
    worst = tuple(int(i) for i in np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape))
    error = float(off[worst])
    if not error <= LIMITS[kind]:
        place = f"out[{', '.join(map(str, worst))}]"
        detail = f"{place} is off by {error:.3g} of max|v|, at most {LIMITS[kind]} passes"
        raise Refuted(f"{kind} codes are wrong", detail, where=place, expected=float(oracle[worst]),
                      got=float(out[worst]), measured={f"{kind}_max_error": error})  # fmt: skip
    return {f"{kind}_max_error": error}
