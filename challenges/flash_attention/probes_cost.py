"""Probes of cost, read from outside the answer's process: memory while a call runs, and tiles that are left out."""

import numpy as np

from harness.probing import Answer, Array, Draw, FaultElsewhere, expect, probe, timing_lock
from harness.probing.peak_memory import PeakMeter

from .binding import FUNCTION, Floats, Inputs, attention, draw_inputs, exact

SHARE = 0.2
"""Of the bytes of one (N,N) array that a call may take beside its arguments."""
LENGTHS = (2048, 4096)
GROWTH = 3.0
"""Times the memory at 2048 that a call may take at 4096: twice is linear, four times is quadratic."""
VISIBLE = 4 << 20
"""Bytes below which growth is not asked about: the allocator's own steps are as large."""
CHEAPER = 0.8
"""Of the processor time without the mask that a causal call may take."""
LOOKS = ((2, 0.7), (1, CHEAPER), (9, CHEAPER))
"""Calls of each kind, and the ratio of the best of all so far up to which no more are made: few show a clear one."""
OFF = 1e-4
"""Error over the largest exact entry: honest float32 stays far below."""


@probe(N=4096, D=64, tile=128, dtype="float32", fixed=("N", "D", "tile"), traced=False, slow_fails=False,
       measures=True)  # fmt: skip
def no_array_of_all_scores_exists(
    answer: Answer, draw: Draw, *, N: int, D: int, tile: int, dtype: str
) -> dict[str, float]:
    """Peak memory of a call at (1,1,4096,64) in tiles of 128, the output counted, over that of one (N,N) array."""
    figures, taken = _memory_share(answer, draw, N, D, tile, dtype)
    share = figures["memory_share"]
    seen = f"{taken / 2**20:.1f} MiB beside the arguments, {share:.2f} of one (N,N) array of {dtype}"
    detail = f"{seen}; under {SHARE:g} passes"
    title = f"a call takes over {SHARE:g} of the memory of a {dtype} array of all scores"
    expect.that(share < SHARE, title, detail, **figures)
    return figures


@probe(D=64, tile=128, dtype="float32", fixed=("D", "tile"), traced=False, slow_fails=False, measures=True)
def memory_grows_with_the_length(answer: Answer, draw: Draw, *, D: int, tile: int, dtype: str) -> dict[str, float]:
    """Peak memory of a call without the mask at N = 2048 and 4096: four times as much is an array of scores."""
    meter = PeakMeter(answer)
    taken = {length: _taken(meter, draw, length, D, tile, dtype, causal=False) for length in LENGTHS}
    less, more = taken.values()
    growth = more / max(less, VISIBLE / 4)
    figures = {"memory_growth": growth}
    detail = f"{less / 2**20:.1f} MiB at N = {LENGTHS[0]}, {more / 2**20:.1f} MiB at {LENGTHS[1]}"
    expect.that(more < VISIBLE or growth <= GROWTH, "memory grows faster than the length", detail, **figures)
    return figures


@probe(N=2048, D=256, tile=128, dtype="float32", fixed=("N", "D", "tile"), traced=False, slow_fails=False,
       measures=True, times=True)  # fmt: skip
def tiles_above_the_diagonal_are_left_out(
    answer: Answer, draw: Draw, *, N: int, D: int, tile: int, dtype: str
) -> dict[str, float]:
    """Processor time of a causal call over one without the mask, the best of two each; of more where it is close.

    At so many features products outweigh a mask that is made in every tile: 0.53 to 0.70 where tiles are left out, from
    0.86 on where all their work is done. Those scored first and then left out, 0.74 to 0.80, cannot be told apart.
    """
    hidden = draw_inputs(draw, 1, 1, N, D, tile, dtype)
    best = {True: float("inf"), False: float("inf")}
    with timing_lock():
        for calls, enough in LOOKS:
            for causal in (False, True) * calls:
                o = attention(answer, hidden.but(causal=causal))
                best[causal] = min(best[causal], answer.cost.processor)
            ratio = best[True] / max(best[False], 1e-9)
            if ratio <= enough:
                break
        _right_while_measured(o, hidden)
    figures = {"causal_cost_ratio": round(ratio, 3)}
    detail = f"{best[True]:.3g} s with the mask, {best[False]:.3g} s without; at most {CHEAPER:g} of it passes"
    expect.that(ratio <= CHEAPER, "tiles above the diagonal are worked on", detail, **figures)
    return figures


def _memory_share(answer: Answer, draw: Draw, N: int, D: int, tile: int, dtype: str) -> tuple[dict[str, float], int]:
    taken = _taken(PeakMeter(answer), draw, N, D, tile, dtype, causal=True)
    share = taken / (N * N * np.dtype(dtype).itemsize)
    return {"memory_share": round(share, 4), "peak_extra_mib": round(taken / 2**20, 2)}, taken


def _taken(meter: PeakMeter, draw: Draw, length: int, D: int, tile: int, dtype: str, *, causal: bool) -> int:
    """Bytes that a right call takes at most beside its arguments, after a first one of two full tiles."""
    for size in (2 * tile, length):
        given = draw_inputs(draw, 1, 1, size, D, tile, dtype, causal=causal)
        plan = Array(given.q.shape, dtype)
        o, taken = meter.call(FUNCTION, *given.arrays, tile, causal, returns=plan)
        _right_while_measured(o, given)
    return taken


def _right_while_measured(o: Floats, given: Inputs) -> None:
    """Some rows are right: what does not do the work is not measured."""
    rows = [0, 1, o.shape[2] // 2, o.shape[2] - 1]
    right = exact(given, rows)
    off = float(np.abs(o[:, :, rows] - right).max() / np.abs(right).max())
    if not off <= OFF:
        raise FaultElsewhere("o is wrong while its cost is measured", f"off by {off:.3g} of its largest entry")
