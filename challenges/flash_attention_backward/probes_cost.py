"""Probes of cost, read from outside the answer's process: memory while a pass runs, and tiles that are left out."""

from typing import Any

import numpy as np

from harness.probing import Answer, Array, Draw, FaultElsewhere, Keep, expect, probe, timing_lock
from harness.probing.peak_memory import PeakMeter

from .binding import BACKWARD, FORWARD, GRADIENTS, Floats, Inputs, backward, draw_inputs, forward, gradient_plan

SHARE = 0.2
"""Of the bytes of one (N,N) array that a pass may take beside its arguments."""
LENGTHS = (2048, 4096)
GROWTH = 3.0
"""Times the memory at 2048 that a pass may take at 4096: twice is linear, four times is quadratic."""
VISIBLE = 6 << 20
"""Bytes below which growth is not asked about: the allocator's own steps, and three gradients, are near it."""
CHEAPER = 0.8
"""Of the processor time without the mask that a causal backward may take."""
CLEAR = 0.7
"""As `CHEAPER`, where two calls of each kind settle it: a single one may be off by an eighth."""
LOOKS = ((2, CLEAR), (1, CHEAPER), (9, CHEAPER))
"""Calls of each kind to add, and the ratio of the best of all so far that settles it."""
OFF = 1e-3
"""Error over the largest exact entry: honest float32 stays far below."""


@probe(N=4096, D=64, tile=128, dtype="float32", fixed=("N", "D", "tile"), traced=False, slow_fails=False,
       measures=True)  # fmt: skip
def no_array_of_all_scores_exists(
    answer: Answer, draw: Draw, *, N: int, D: int, tile: int, dtype: str
) -> dict[str, float]:
    """Peak memory of both passes at (1,1,4096,64) in tiles of 128, what they return counted, over one (N,N) array."""
    taken = _taken(PeakMeter(answer), draw, N, D, tile, dtype, causal=True)
    share = max(taken.values()) / (N * N * np.dtype(dtype).itemsize)
    figures = {f"peak_{name}_mib": round(size / 2**20, 2) for name, size in taken.items()}
    figures |= {"memory_share": round(share, 4), "peak_extra_mib": round(max(taken.values()) / 2**20, 2)}
    sizes = ", ".join(f"{size / 2**20:.1f} MiB in the {name}" for name, size in taken.items())
    detail = f"{sizes}, beside the arguments; {share:.2f} of one (N,N) array of {dtype}, under {SHARE:g} passes"
    most = max(taken, key=lambda name: taken[name])
    title = f"the {most} takes over {SHARE:g} of the memory of a {dtype} array of all scores"
    expect.that(share < SHARE, title, detail, **figures)
    return figures


@probe(D=64, tile=128, dtype="float32", fixed=("D", "tile"), traced=False, slow_fails=False, measures=True)
def memory_grows_with_the_length(answer: Answer, draw: Draw, *, D: int, tile: int, dtype: str) -> dict[str, float]:
    """Peak memory of both causal passes at N = 2048 and 4096: four times as much is an array of scores."""
    meter = PeakMeter(answer)
    less, more = (_taken(meter, draw, length, D, tile, dtype, causal=True) for length in LENGTHS)
    growth = {name: more[name] / max(less[name], VISIBLE / 4) for name in more}
    figures = {f"{name}_memory_growth": round(value, 3) for name, value in growth.items()}
    for name, value in growth.items():
        detail = f"{less[name] / 2**20:.1f} MiB at N = {LENGTHS[0]}, {more[name] / 2**20:.1f} MiB at {LENGTHS[1]}"
        fine = more[name] < VISIBLE or value <= GROWTH
        expect.that(fine, f"memory of the {name} grows faster than the length", detail, **figures)
    return figures


@probe(N=1024, D=256, tile=64, dtype="float32", fixed=("N", "D", "tile"), traced=False, slow_fails=False,
       measures=True, times=True)  # fmt: skip
def tiles_above_the_diagonal_are_left_out(
    answer: Answer, draw: Draw, *, N: int, D: int, tile: int, dtype: str
) -> dict[str, float]:
    """Processor time of each causal pass over that without the mask, the best of two; of more where it is close."""
    with timing_lock():
        ratios = _ratios(answer, draw_inputs(draw, 1, 1, N, D, tile, dtype))
    figures = {f"{name}_causal_cost_ratio": round(ratio, 3) for name, ratio in ratios.items()}
    for name, ratio in ratios.items():
        detail = f"with the mask {ratio:.2f} of the time without; at most {CHEAPER:g} passes"
        expect.that(ratio <= CHEAPER, f"the {name} works on tiles above the diagonal", detail, **figures)
    return figures


def _ratios(answer: Answer, given: Inputs) -> dict[str, float]:
    best: dict[tuple[str, bool], float] = {}
    ratios: dict[str, float] = {}
    for calls, settled in LOOKS:
        for _ in range(calls):
            for causal in (True, False):
                each = given.but(causal=causal)
                _, cache = forward(answer, each)
                _least(best, ("forward", causal), answer.cost.processor)
                got = backward(answer, each, cache)
                _least(best, ("backward", causal), answer.cost.processor)
                answer.forget()
        ratios = {name: best[name, True] / max(best[name, False], 1e-9) for name in ("forward", "backward")}
        if max(ratios.values()) <= settled:
            break
    _right_while_measured(got[1:], each)
    return ratios


def _least(best: dict[tuple[str, bool], float], key: tuple[str, bool], cost: float) -> None:
    best[key] = min(best.get(key, cost), cost)


def _taken(meter: PeakMeter, draw: Draw, length: int, D: int, tile: int, dtype: str, *, causal: bool) -> dict[str, int]:
    """Bytes that each pass takes at most beside its arguments, after a first one of two full tiles."""
    taken: dict[str, int] = {}
    for size in (2 * tile, length):
        given = draw_inputs(draw, 1, 1, size, D, tile, dtype, causal=causal)
        plan: Any = (Array(given.q.shape, dtype), Keep())
        (_, cache), taken["forward"] = meter.call(FORWARD, *given.arrays, tile, causal, returns=plan)
        plan = gradient_plan(given)
        gradients, taken["backward"] = meter.call(BACKWARD, given.do, cache, tile, causal, returns=plan)
        _right_while_measured(gradients, given)
        meter.answer.forget()
    return taken


def _right_while_measured(gradients: tuple[Floats, ...], given: Inputs) -> None:
    """dq of some rows is right, and dv and dk add up as they must: what does not do the work is not measured."""
    rows = [0, 1, given.q.shape[2] // 2, given.q.shape[2] - 1]
    dq, dk, dv = (values.astype(np.float64) for values in gradients)
    q, k, v, do = (values.astype(np.float64) for values in (*given.arrays, given.do))
    scores = q[:, :, rows] @ k.swapaxes(-1, -2) / np.sqrt(q.shape[3])
    if given.causal:
        scores[:, :, np.arange(k.shape[2]) > np.asarray(rows)[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    slopes = do[:, :, rows] @ v.swapaxes(-1, -2)
    wanted = (weights * (slopes - (weights * slopes).sum(axis=-1, keepdims=True))) @ k / np.sqrt(q.shape[3])
    total = np.abs(do.sum(axis=2)).max()
    offs = (np.abs(dq[:, :, rows] - wanted).max() / np.abs(wanted).max(),
            np.abs(dk.sum(axis=2)).max() / np.abs(dk).sum(axis=2).max(),
            np.abs(dv.sum(axis=2) - do.sum(axis=2)).max() / total)  # fmt: skip
    for name, off in zip(GRADIENTS, offs, strict=True):
        if not off <= OFF:
            seen = f"off by {off:.3g} of its largest entry"
            raise FaultElsewhere(f"{name} is wrong while its cost is measured", seen)
