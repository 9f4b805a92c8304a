"""Probes of cost: what the cache holds, and how backward's time grows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.numerics import fit_exponent
from harness.numerics.scaling import QUADRATIC
from harness.probing import Answer, Draw, Keep, Partial, ProbeFailure, expect, probe, require_subquadratic, timings

from .binding import Inputs, draw_inputs, forward
from .probes_form import cache_of

ENTRIES = 6
"""Twice the three values that backward cannot do without."""
FULL_BYTES, NO_BYTES = 1.1, 4.0
"""Cache bytes over the minimum that earn full credit, and none: a tenth leaves room for a few vectors beside xhat."""
TIMED_ROWS = (256, 512, 1024, 2048, 4096)
"""The upper three are fitted: far above the cost of the call itself."""


@probe(B=4, T=8, D=64, dtype="float64", fixed=("B", "T", "D"))
def the_cache_holds_little_more_than_it_must(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str
) -> Partial:
    """Bytes of the cache against xhat, rstd and gamma: full credit to 1.1 times, none from 4 times."""
    given = draw_inputs(draw, B, T, D, dtype)
    size = sum(_nbytes(leaf) for leaf in _leaves_of_cache(answer, given))
    minimum = given.x.nbytes + given.x.itemsize * B * T + given.gamma.nbytes
    times = size / minimum
    figures = {"cache_bytes_ratio": size / given.x.nbytes, "cache_bytes_minimum_ratio": times}
    detail = f"{size:,} bytes, {times:.3g} times the {minimum:,} of xhat, rstd and gamma"
    # dx depends on all of x, so what holds much less, be it in half the digits, has put it elsewhere
    expect.that(size >= 0.45 * given.x.nbytes, "the cache holds less than backward needs", detail, **figures)
    share = (NO_BYTES - times) / (NO_BYTES - FULL_BYTES)
    if share <= 0:
        raise ProbeFailure("the cache holds far more than backward needs", detail, measured=figures)
    return Partial(min(share, 1.0), figures, detail if share < 1 else "")


@probe(B=2, T=3, D=8, dtype="float64", fixed=("B", "T", "D"))
def the_cache_has_few_entries(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> dict[str, float]:
    """Arrays and scalars in the cache, counted wherever they are nested."""
    count = sum(1 for _ in _leaves_of_cache(answer, draw_inputs(draw, B, T, D, dtype)))
    expect.that(count > 0, "the cache is empty", cache_entries=count)
    detail = f"{count} arrays and scalars where 3 are enough; at most {ENTRIES} pass"
    expect.that(count <= ENTRIES, "the cache has many entries", detail, cache_entries=count)
    return {"cache_entries": count}


@probe(B=4, D=16, dtype="float64", fixed=("B", "D"), traced=False, times=True)
def backward_grows_linearly_with_the_rows(
    answer: Answer, draw: Draw, *, B: int, D: int, dtype: str
) -> dict[str, float]:
    """Processor time of backward by rows: fails when the whole interval of its exponent is quadratic or above.

    Outgrowing the processor's cache takes linear code to 1.3, and at D = 32 to 1.5, so less than that does not fail.
    An interval that reaches into both, as beside other work, is narrowed by three times as many rounds.
    """
    batches = {}
    for rows in TIMED_ROWS:
        given = draw_inputs(draw, B, rows // B, D, dtype)
        batches[rows] = given.dy, forward(answer, given)[1]

    def cost(rows: int) -> float:
        dy, cache = batches[rows]
        answer.call("backward", dy, cache, returns=(Keep(), Keep(), Keep()))
        return max(answer.cost.processor, 1e-9)

    costs = timings(cost, TIMED_ROWS, repeats=5)
    fitted = fit_exponent(costs, draw.rng)
    if fitted.low < QUADRATIC[0] <= fitted.high:
        more = timings(cost, TIMED_ROWS, repeats=15)
        fitted = fit_exponent({rows: costs[rows] + more[rows] for rows in TIMED_ROWS}, draw.rng)
    figures = {"backward_cost_exponent": fitted.value}
    require_subquadratic([fitted], "backward grows faster than the number of rows", "grows as rows", figures)
    return figures


def _leaves_of_cache(answer: Answer, given: Inputs) -> Iterator[Any]:
    return _leaves(cache_of(answer, given)[1])


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _nbytes(leaf: Any) -> int:
    return leaf.nbytes if isinstance(leaf, np.ndarray) else 8
