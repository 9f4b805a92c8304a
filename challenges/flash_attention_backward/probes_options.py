"""Probes of options that a submission claims: heads that share keys, and other numbers of queries than of keys."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from harness.probing import Answer, Axis, Draw, Drawn, FaultElsewhere, ProbeFailure, expect, probe
from harness.probing.sizes import Case

from .binding import DTYPES, Floats, Inputs, Results, backward, draw_inputs, forward
from .bounds import require_within_digits, right_and_bounds
from .cache import cache_of, entry

BOTH = {"dtype": DTYPES, "causal": (True, False)}
SHARED = ((4, 2, 1), (4, 1, 10), (6, 2, 10), (6, 3, 10), (4, 2, 10), (8, 4, 10))
"""Heads, how many sets of keys and values they share, and their length."""
FEWER = ((1, 9, 4), (3, 10, 4), (5, 6, 1), (7, 20, 30), (9, 19, 8))
"""Queries, more keys, and the tile size; the mask crosses one tile of keys, or two."""
MANY = {"N": 2, "M": 2**16 + 1, "tile": 10_000, "causal": True, "dtype": "float64", "D": 2, "share": 1, "B": 1, "G": 1}
"""Few queries and one key more than numbers of two bytes count: what they do not count is hidden, or not, by chance."""
COUNTED = (2**16, 2**15)
"""Numbers of keys that two bytes count, without a sign and with one."""
DECODED = {"N": 1, "M": 2, "tile": 2, "causal": True, "dtype": "float32", "D": 132, "share": 1, "B": 2, "G": 1_030}
"""Single queries of more than 2,048 heads over the batch, with more than 128 features: kernels divide their work in
other ways there."""
AS_MANY = 1_000
"""Keys up to which as many queries are tried where fewer give wrong results."""
BLIND = ((9, 1, 4), (10, 3, 4), (6, 5, 1), (20, 7, 30), (24, 9, 5), (7, 2, 5))
"""Queries, fewer keys, and the tile size: tiles of which no row sees anything, the first ones, and the last one."""
AXES = {"B": Axis(1, 12), "G": Axis(1, 6), "N": Axis(1, 60), "M": Axis(1, 60), "D": Axis(1, 130), "tile": Axis(1, 70)}
SHARES = (1, 2, 3, 5)
"""How many heads share keys and values."""


def cost(B: int, G: int, N: int, M: int, D: int, tile: int) -> float:
    """What a case costs."""
    return float(B * G * (N * M * (D + 12) + 2000 * N))


def fewer(**sizes: int) -> Mapping[str, int]:
    """Sizes with fewer queries than keys, in no more tiles than an answer has time for."""
    N, M = sorted((sizes["N"], sizes["M"]))
    return {**sizes, "N": N, "M": M + (M == N), "tile": max(sizes["tile"], M // 12)}


def more(**sizes: int) -> Mapping[str, int]:
    """Sizes with more queries than keys."""
    turned = fewer(**sizes)
    return {**turned, "N": turned["M"], "M": turned["N"]}


def as_many(answer: Answer, case: Case) -> Case:
    """Return a case with as many queries as keys."""
    return {**case, "M": case["N"]}


def with_fewer(answer: Answer, case: Case) -> Case:
    """Return a case with fewer queries than keys, of heads that share these only where that is claimed."""
    return {**case, "M": max(int(case["M"]), int(case["N"]) + 1), "share": _share(answer, case)}


def with_more(answer: Answer, case: Case) -> Case:
    """Return a case with more queries than keys, of heads that share these only where that is claimed."""
    return {**case, "N": max(int(case["N"]), int(case["M"]) + 1), "share": _share(answer, case)}


def _share(answer: Answer, case: Case) -> int:
    """Return how many heads may share keys and values; a reference, which claims no option, has them all."""
    return int(case["share"]) if not answer.capabilities or "gqa" in answer.capabilities else 1


@probe(
    *({"G": G, "share": H // G, "N": N, "M": N, "D": D, "tile": 4, "causal": c, "dtype": d}
      for H, G, N in SHARED for D, d in ((5, "float64"), (64, "float32")) for c in (True, False)),
    B=2, drawn=Drawn(AXES, 10, cost, 5e4, {**BOTH, "share": SHARES[1:]}, adjust=lambda **s: {**s, "M": s["N"]}),
    fit=as_many,
)  # fmt: skip
def heads_share_keys_and_values(
    answer: Answer, draw: Draw, *, B: int, G: int, share: int, N: int, M: int, D: int, tile: int, dtype: str,
    causal: bool,
) -> None:  # fmt: skip
    """Query head h has the keys and values of number h // (H / G), whose gradients add up over the heads."""
    given = _draw(draw, B, G, share, N, N, D, tile, dtype, causal)
    k, v = (shared.repeat(share, axis=1) for shared in (given.k, given.v))
    _right(answer, given, draw, "a result is wrong where heads share keys and values", [given.but(k=k, v=v)])


@probe(*({"N": N, "M": M, "tile": tile, "causal": c, "dtype": d, "D": D, "share": share} for N, M, tile in FEWER
         for D, d, share in ((5, "float64", 1), (64, "float32", 2)) for c in (True, False)), MANY, DECODED,
       B=2, G=2, drawn=Drawn(AXES, 10, cost, 5e4, {**BOTH, "share": SHARES}, adjust=fewer), fit=with_fewer)  # fmt: skip
def fewer_queries_see_the_last_keys(
    answer: Answer, draw: Draw, *, B: int, G: int, share: int, N: int, M: int, D: int, tile: int, dtype: str,
    causal: bool,
) -> None:  # fmt: skip
    """The last of N queries stands at the last of M keys; heads share these where that is claimed and right, too."""
    of = partial(_draw, draw, B, G, N=N, M=M, D=D, tile=tile, dtype=dtype, causal=causal)
    _right_beside_as_many(answer, of, share, draw, "a result is wrong where there are fewer queries than keys")


@probe(*({"N": N, "M": M, "tile": tile, "causal": c, "dtype": d, "D": D, "share": share} for N, M, tile in BLIND
         for D, d, share in ((5, "float64", 1), (64, "float32", 2)) for c in (True, False)),
       B=2, G=2, drawn=Drawn(AXES, 10, cost, 5e4, {**BOTH, "share": SHARES}, adjust=more), fit=with_more)  # fmt: skip
def queries_before_all_keys_give_zeros(
    answer: Answer, draw: Draw, *, B: int, G: int, share: int, N: int, M: int, D: int, tile: int, dtype: str,
    causal: bool,
) -> None:  # fmt: skip
    """With the mask the first N - M of N queries see none of M keys: o and dq are zero there, and L is -inf."""
    of = partial(_draw, draw, B, G, N=N, M=M, D=D, tile=tile, dtype=dtype, causal=causal)
    _right_beside_as_many(answer, of, share, draw, "a result is wrong where there are more queries than keys")


def _draw(
    draw: Draw, B: int, G: int, share: int, N: int, M: int, D: int, tile: int, dtype: str, causal: bool
) -> Inputs:
    """Normal inputs of N queries in G * share heads, and M keys in G."""
    given = draw_inputs(draw, B, G, M, D, tile, dtype, causal=causal)
    return given.but(**{name: draw.normal(B, G * share, N, D) for name in ("q", "do")})


def _right_beside_as_many(answer: Answer, of: Callable[..., Inputs], share: int, draw: Draw, title: str) -> None:
    """Require right results of both passes where calls with as many queries as keys, of either number, are right.

    Where those are wrong for heads that share, heads of their own are judged.
    """
    given = of(share)
    queries, keys = given.q.shape[2], given.k.shape[2]
    plain = (of(share, N=length, M=length) for length in (queries, keys) if length <= AS_MANY)
    try:
        _right(answer, given, draw, title, plain)
    except FaultElsewhere:
        if share == 1:
            raise
        _right_beside_as_many(answer, of, 1, draw, title)
    except ProbeFailure as why:
        if share > 1 and _is_right(answer, of(1), draw):
            why.title = f"{title} that heads share"
        elif keys > AS_MANY and (held := next((M for M in COUNTED if _is_right(answer, of(share, M=M), draw)), 0)):
            why.title = f"{title}, with {keys:,} keys and not with {held:,}"
        raise


def _is_right(answer: Answer, given: Inputs, draw: Draw) -> bool:
    """Return whether an answer serves a call rightly."""
    try:
        _judge(answer, given, draw)
    except ProbeFailure:
        return False
    return True


def _right(answer: Answer, given: Inputs, draw: Draw, title: str, plain: Iterable[Inputs]) -> None:
    """Require right results of both passes where other calls, which lack what is asked for alone, are right."""

    def without() -> None:
        for like_it in plain:
            _judge(answer, like_it, draw)

    with expect.only_beside(without), expect.renamed(title):
        _judge(answer, given, draw)


def _judge(answer: Answer, given: Inputs, draw: Draw) -> None:
    """Require right results of both passes."""
    o, cache = forward(answer, given)
    require_within_digits(answer, backward(answer, given, cache, o), *_wanted(given), given, draw)
    N, M = given.q.shape[2], given.k.shape[2]
    if given.causal and N > M:
        _, cache = cache_of(answer, given)
        found = entry(cache, "L").reshape(given.q.shape[:3])[:, :, : N - M]
        expect.same("L", found, np.full_like(found, -np.inf), "L is wrong", "rows that see no key")


def _wanted(given: Inputs) -> tuple[Results, Results]:
    """Return the exact results, and how far an honest answer may be off, from queries that see keys.

    A sum over several heads may be taken as one of so many times the terms: its bounds grow as much.
    """
    B, groups, keys, D = given.k.shape
    share, blind = given.q.shape[1] // groups, max(0, given.q.shape[2] - keys) if given.causal else 0
    k, v = (shared.repeat(share, axis=1) for shared in (given.k, given.v))
    seen = replace(given, q=given.q[:, :, blind:], k=k, v=v, do=given.do[:, :, blind:])

    def whole(found: Results, times: int) -> Iterator[Floats]:
        for each in found[:2]:
            yield np.pad(each, ((0, 0), (0, 0), (blind, 0), (0, 0)))
        for each in found[2:]:
            yield times * each.reshape(B, groups, share, keys, D).sum(axis=2)

    right, bounds = right_and_bounds(seen)
    tiny = np.finfo(given.q.dtype).tiny  # rows that see no key give zeros to the bit
    return Results(*whole(right, 1)), Results(*(bound + tiny for bound in whole(bounds, share)))
