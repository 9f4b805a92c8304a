"""Probes of the attention of a prompt alone: one sequence, one call.

Where causality is not the question, only the last position is judged: it sees the same tokens under any mask.
"""

from typing import Any

import numpy as np

from harness.probing import Answer, Draw, ProbeFailure, WorkerLost, expect, probe

from .binding import (
    SLOT,
    Cache,
    Floats,
    Tokens,
    agree,
    exact,
    figures,
    labelled,
    normal,
    plain_results,
    returned,
    right,
    within,
)

SMALL = {"S": 3, "H": 1, "D": 4, "dtype": "float64"}
WIDE = {"S": 12, "H": 3, "D": 16, "dtype": "float64"}
WIDE_32 = {"S": 12, "H": 3, "D": 16, "dtype": "float32"}
LESS_EXACT = "a result at {0} is less exact than {0}"
LEAKS = "a position of a prompt attends to later tokens"
FAR_APART = (1e3, 1e11, -1e3, -1e11)
"""Times that keys are larger: later ones, whose scores are above 0, or below 0 all of them."""


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 3, "D": 5, "dtype": "float32"},
       {"H": 4, "D": 64, "dtype": "float64"}, floors={"D": 2})  # fmt: skip
def the_first_token_returns_its_value(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> dict[str, float]:
    """K08: a prompt of one token comes back as its value; in several slots, each of a cache of its own."""
    ratios = []
    for slot in (2, 0, 3):
        token = normal(draw, 1, H, 1, D, dtype)
        out = Cache(answer, token).prefill([slot], token)
        ratios.append(right(answer, "a first token does not return its value", "out", out, *exact(token, draw)))
    return figures(first_token=max(ratios))


@probe({**SMALL, "D": 3}, {**SMALL, "D": 3, "dtype": "float32"}, floors={"S": 3, "D": 2})
def a_prompt_does_more_than_copy(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """What every other probe rests on: a prompt of several tokens comes back as no constant and as no input."""
    tokens = normal(draw, 1, H, S, D, dtype)
    expect.alive("out", Cache(answer, tokens).prefill([SLOT], tokens), *tokens)


@probe({**SMALL, "S": 2}, {**WIDE, "S": 9}, {**WIDE_32, "S": 16}, floors={"S": 2})
def later_tokens_change_nothing_before_them(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K02: exchange every token from some position on, and the outputs before it stay."""
    first, other = (normal(draw, 1, H, S, D, dtype) for _ in range(2))
    start = draw.integer(1, S - 1)
    second = first.part(0, start).then(other.but(k=4 * other.k).part(start))
    before = Cache(answer, first).prefill([SLOT], first)
    expect.alive("out", before, *first)
    after = Cache(answer, second).prefill([SLOT], second)
    doing = f"the tokens from position {start} on exchanged"
    spread = exact(first.part(0, start), draw)[1]
    agree(answer, LEAKS, "out", after[:, :, :start], before[:, :, :start], spread, doing)


@probe({"S": 2, "H": 1, "dtype": "float64"}, {"S": 11, "H": 2, "dtype": "float32"}, floors={"S": 2})
def later_tokens_have_no_weight(answer: Answer, draw: Draw, *, S: int, H: int, dtype: str) -> None:
    """K23: with queries of zero every token seen weighs the same, and a later one nothing."""
    tokens = labelled(draw, H, S, dtype)
    tokens = tokens.but(q=np.zeros_like(tokens.q))
    weights = Cache(answer, tokens).prefill([SLOT], tokens)
    expect.that(bool(weights.any()), "a prompt's positions see nothing", "every weight is 0")
    ahead = np.triu(np.ones((S, S), bool), 1)
    leaks = np.argwhere(~(abs(weights) <= np.finfo(dtype).eps) & ahead)
    if len(leaks):
        _, head, i, j = (int(n) for n in leaks[0])
        seen = float(weights[0, head, i, j])
        detail = f"position {i} gives the later token {j} the weight {seen:.3g}"
        raise ProbeFailure(LEAKS, detail, where=f"weight[{head}, {i}, {j}]", expected=0.0, got=seen)


@probe({**SMALL, "past": 1}, {**WIDE, "S": 7, "past": 4}, floors={"S": 2})
def later_tokens_of_a_chunk_change_nothing_before_them(
    answer: Answer, draw: Draw, *, S: int, past: int, H: int, D: int, dtype: str
) -> None:
    """K02 for a prompt's second chunk. An answer that takes no second chunk fails elsewhere, not here."""
    held, first, other = (normal(draw, 1, H, n, D, dtype) for n in (past, S, S))
    start = draw.integer(1, S - 1)
    second = first.part(0, start).then(other.but(k=4 * other.k).part(start))
    outs: list[Any] = []
    for chunk in (first, second):
        cache = Cache(answer, held)
        cache.store([SLOT], held)
        try:
            outs.append(cache.prefill([SLOT], chunk)[:, :, :start])
        except WorkerLost:
            raise
        except ProbeFailure:
            return
    spread = exact(held.then(first.part(0, start)), draw, past)[1]
    doing = f"a chunk at position {past}, its tokens from {start} on exchanged"
    agree(answer, "a position of an appended chunk attends to later tokens", "out", outs[1], outs[0], spread, doing)


@probe(SMALL, WIDE, WIDE_32)
def equal_values_come_back(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K09: weights sum to one."""
    tokens = normal(draw, 1, H, S, D, dtype)
    value = draw.normal(1, H, 1, D, dtype=dtype)
    got = _last(answer, tokens.but(v=value))
    returned(answer, "equal values do not come back", "out", got, value, f"{S} tokens of one value")


@probe(SMALL, WIDE, WIDE_32)
def a_shift_of_all_keys_changes_nothing(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K10: adding one vector to every key adds the same to every score."""
    tokens = normal(draw, 1, H, S, D, dtype).but(k=draw.grid(1, H, S, D, bits=8))
    shifted = tokens.but(k=tokens.k + draw.grid(1, H, 1, D, bits=8))
    spread = max(exact(each, draw, S - 1)[1] for each in (tokens, shifted))
    plain = _last(answer, tokens)
    expect.alive("out", plain, *tokens)
    agree(answer, "a shift of all keys changes the result", "out", _last(answer, shifted), plain, spread)


@probe(SMALL, WIDE, WIDE_32)
def outputs_are_linear_in_the_values(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K11: out(v + w) = out(v) + out(w)."""
    tokens = normal(draw, 1, H, S, D, dtype)
    v, w = (draw.grid(1, H, S, D, dtype=dtype, bits=10) for _ in range(2))
    parts = [tokens.but(v=values) for values in (v, w, v + w)]
    spread = sum(exact(part, draw, S - 1)[1] for part in parts)
    first, second, both = (_last(answer, part) for part in parts)
    expect.alive("out", both, *parts[2])
    doing = "values v, w and v + w"
    agree(answer, "the result is not linear in the values", "out", both, first + second, spread, doing)


@probe(SMALL, WIDE, WIDE_32, floors={"S": 3})
def the_order_of_past_tokens_does_not_matter(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K12: the last position sees a set of keys with their values, not a sequence."""
    tokens = normal(draw, 1, H, S, D, dtype)
    order = [*draw.permutation(S - 1), S - 1]
    spread = exact(tokens, draw, S - 1)[1]
    plain = _last(answer, tokens)
    expect.alive("out", plain, *tokens)
    moved = _last(answer, tokens.but(k=tokens.k[:, :, order], v=tokens.v[:, :, order]))
    agree(answer, "the order of past tokens matters", "out", moved, plain, spread, "keys moved with their values")


@probe(SMALL, WIDE, WIDE_32)
def zero_queries_average(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K23: with a query of zero the output is the mean of the values."""
    tokens = normal(draw, 1, H, S, D, dtype)
    tokens = tokens.but(q=np.zeros_like(tokens.q))
    right(answer, "a query of zero does not average", "out", _last(answer, tokens), *exact(tokens, draw, S - 1))


@probe(SMALL, WIDE, WIDE_32, floors={"D": 2})
def outputs_lie_among_the_values(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K24: every output lies within the smallest and largest value seen, in each feature."""
    tokens = normal(draw, 1, H, S, D, dtype)
    got = _last(answer, tokens)
    expect.alive("out", got, *tokens)
    within(answer, "a result lies outside the values", "out", got, tokens.v)


@probe(SMALL, WIDE, WIDE_32, floors={"S": 2})
def large_scores_stay_exact(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K22: queries and keys 60 times as large give what the oracle gives."""
    tokens = normal(draw, 1, H, S, D, dtype)
    tokens = tokens.but(q=60 * tokens.q, k=60 * tokens.k)
    doing = "q and k times 60"
    right(answer, "large scores give wrong values", "out", _last(answer, tokens), *exact(tokens, draw, S - 1), doing)


@probe({**SMALL, "by": -1000}, {**SMALL, "by": 1000}, {**WIDE_32, "by": -1000}, {**WIDE_32, "by": 1000},
       fixed=("by",))  # fmt: skip
def far_scores_stay_exact(answer: Answer, draw: Draw, *, S: int, H: int, D: int, by: int, dtype: str) -> None:
    """K10 with a shift that moves the scores of the last position beyond the range of exp."""
    tokens = _shifted(normal(draw, 1, H, S, D, dtype), by)
    doing = f"the scores of the last position moved by {by}"
    title = "scores far from 0 give wrong values"
    right(answer, title, "out", _last(answer, tokens), *exact(tokens, draw, S - 1), doing)


@probe({**SMALL, "by": 1000}, {**WIDE_32, "by": -1000}, fixed=("by",))
def far_scores_stay_finite_in_a_decode(
    answer: Answer, draw: Draw, *, S: int, H: int, D: int, by: int, dtype: str
) -> None:
    """K22 and K24 in a decode: out of the range of exp, results still lie among the values in the slot."""
    tokens = _shifted(normal(draw, 1, H, S, D, dtype), by)
    cache = Cache(answer, tokens)
    if S > 1:
        cache.store([SLOT], tokens.part(0, S - 1))
    got = cache.decode([SLOT], tokens.part(S - 1))
    title = "scores far from 0 give wrong values in a decode"
    within(answer, title, "out", got, tokens.v, f"the scores of the last position moved by {by}")


@probe(*({**SMALL, "S": 4, "dtype": dtype, "times": times} for dtype in ("float64", "float32") for times in FAR_APART),
       fixed=("times",), floors={"S": 2})  # fmt: skip
def hidden_scores_far_above_change_nothing(
    answer: Answer, draw: Draw, *, S: int, H: int, D: int, times: float, dtype: str
) -> None:
    """K02 where later tokens score far above all before them, and where all seen score far below 0: a finite number
    that stands for a hidden score, or is added to it, does not hide it."""
    tokens, cut = normal(draw, 1, H, S, D, dtype), S // 2
    tokens = tokens.but(q=abs(tokens.q), k=abs(tokens.k))
    raised, seen = (slice(cut, None), tokens) if times > 0 else (slice(None), tokens.but(k=-tokens.k))

    def require(times: float, title: str) -> None:
        k = seen.k.copy()
        k[:, :, raised] *= k.dtype.type(abs(times))
        given = seen.but(k=k)
        others = given.but(v=np.concatenate([given.v[:, :, :cut], -given.v[:, :, cut:]], axis=2))
        before, after = (Cache(answer, each).prefill([SLOT], each)[:, :, :cut] for each in (given, others))
        doing = f"keys from position {cut if times > 0 else 0} on times {abs(times):g}, values from {cut} on exchanged"
        agree(answer, title, "out", after, before, exact(given.part(0, cut), draw)[1], doing)

    with expect.only_beside(lambda: require(np.sign(times) * 0.5, LEAKS)):
        require(times, f"{LEAKS} {'whose scores lie far above' if times > 0 else 'where all scores lie far below 0'}")


@probe({**SMALL, "S": 5}, {**SMALL, "S": 5, "dtype": "float32"}, {**WIDE, "S": 33}, {**WIDE_32, "S": 33})
def a_prompt_is_as_exact_as_its_dtype(
    answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str
) -> dict[str, float]:
    """K01 at the last position of a prompt: dtype out as in, and no more lost than its rounding."""
    tokens = normal(draw, 1, H, S, D, dtype)
    title = LESS_EXACT.format(dtype)
    ratio = right(answer, title, "out", _last(answer, tokens), *exact(tokens, draw, S - 1), digits=True)
    return {f"prompt_error_ratio_{dtype}": ratio}


@probe({"dtype": "float64"}, {"dtype": "float32"}, fixed=("dtype",))
def plain_results_are_as_exact_as_their_dtype(answer: Answer, draw: Draw, *, dtype: str) -> None:
    """Judge the digits of the plain results, by which an answer that loses some is judged in every other criterion."""
    for doing, out, oracle, spread in plain_results(answer, draw, dtype):
        right(answer, LESS_EXACT.format(dtype), "out", out, oracle, spread, doing, digits=True)


def _last(answer: Answer, tokens: Tokens) -> Floats:
    """What the last position of a prompt comes to, (1, H, 1, D)."""
    last: Floats = Cache(answer, tokens).prefill([SLOT], tokens)[:, :, -1:]
    return last


def _shifted(tokens: Tokens, by: float) -> Tokens:
    """Every key moved so that the last query's scores all move by `by`."""
    q = tokens.q[:, :, -1:]
    return tokens.but(k=tokens.k + q * (by * np.sqrt(q.shape[-1]) / (q * q).sum(axis=-1, keepdims=True)))
