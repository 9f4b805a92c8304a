"""Probes of options that a submission claims: heads that share keys, and other numbers of queries than of keys."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from harness.probing import Answer, Axis, Draw, Drawn, expect

from . import options
from .binding import Inputs, attention, draw_inputs
from .bounds import judged

AXES = {"B": Axis(1, 20), "G": Axis(1, 8), "N": Axis(1, 90), "M": Axis(1, 90), "D": Axis(1, 130), "tile": Axis(1, 100)}


def cost(B: int, G: int, N: int, M: int, D: int, tile: int) -> float:
    """What a case costs."""
    return float(B * G * (N * M * (D + 12) + 1000 * N))


def _judge(answer: Answer, draw: Draw, given: Inputs) -> None:
    """Require a right output."""
    o = attention(answer, given)
    blind = max(0, given.q.shape[2] - given.k.shape[2]) if given.causal else 0
    expect.same("o", o[:, :, :blind], np.zeros_like(o[:, :, :blind]), "o is wrong", "rows that see no key")
    for queries, like_it, rows in _plainly(given):
        judged(answer, o, like_it, draw, rows, queries)


def _plainly(given: Inputs) -> Iterator[tuple[range, Inputs, range]]:
    """Yield queries that see keys, a call of plain attention, and the queries of that call which see the same.

    There each head has its own keys and values, and as many queries as keys: zeros stand before those given.
    """
    share, queries, keys = given.q.shape[1] // given.k.shape[1], given.q.shape[2], given.k.shape[2]
    k, v = (shared.repeat(share, axis=1) for shared in (given.k, given.v))
    for last in (queries,) if given.causal else (*range(keys, queries, keys), queries):
        first = max(0, last - keys)
        q = np.zeros_like(k)
        q[:, :, first - last :] = given.q[:, :, first:last]
        yield range(first, last), replace(given, q=q, k=k, v=v), range(keys - (last - first), keys)


(
    heads_share_keys_and_values,
    fewer_queries_see_the_last_keys,
    queries_before_all_keys_give_zeros,
) = options.Contract(draw_inputs, ("q",), _judge).probes("o", 20, partial(Drawn, AXES, 12, cost, 1e5))
