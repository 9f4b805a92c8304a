"""Probes of options that a submission claims: heads that share keys, and other numbers of queries than of keys."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from harness.probing import Answer, Axis, Draw, Drawn, expect

from .binding import Floats, Inputs, Results, backward, draw_inputs, forward
from .bounds import require_within_digits, right_and_bounds
from .cache import cache_of, entry
from .flash_attention import options

AXES = {"B": Axis(1, 12), "G": Axis(1, 6), "N": Axis(1, 60), "M": Axis(1, 60), "D": Axis(1, 130), "tile": Axis(1, 70)}


def cost(B: int, G: int, N: int, M: int, D: int, tile: int) -> float:
    """What a case costs."""
    return float(B * G * (N * M * (D + 12) + 2000 * N))


def _judge(answer: Answer, draw: Draw, given: Inputs) -> None:
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


(
    heads_share_keys_and_values,
    fewer_queries_see_the_last_keys,
    queries_before_all_keys_give_zeros,
) = options.Contract(draw_inputs, ("q", "do"), _judge).probes("a result", 12, partial(Drawn, AXES, 10, cost, 5e4))
