"""How far an honest attention and its gradients may be from the exact ones, for every entry, at any size.

The model is fl(a op b) = (a op b)(1 + d), |d| <= u, u half the distance from 1 to the next number.

**Sums** of n terms t in any order: u times the sizes of all intermediate sums (N. J. Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., 2002, eq. 4.3), reached where the sum drifts; where terms cancel, so do roundings (N. J.
Higham and T. Mary, SIAM J. Sci. Comput. 41, 2019, theorem 2.4). So sum_bound(t) = u (n |sum t| + n |t|_2 + 4 sum|t|).

**Weights.** A score is off by u (D |s| + (4 sqrt(D) + 8) A), A = sum_d |q_d k_d| / sqrt(D); the steps of the running
maximum cost u (2 (m - s) + 4 tiles + 8) of each exponential. Backward takes p = exp(s - L), where L is off by the mean
of that over the row, by what the sum of N exponentials costs, and by its own rounding, u |L|. The weight may have
exp(d) - 1 of itself more or less.

**Gradients.** ds = p (do v - delta) is off by what its parts are; each of dq, dk and dv by what its terms and their sum
are. delta may be taken from do and o or from all p do v.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import ProbeFailure

from . import oracle
from .binding import FIELDS, Inputs, Results

Floats = NDArray[Any]
LARGEST = 60.0
"""Exponent beyond which a weight may have become anything."""
TINY_TERMS = 4
"""Products on the way to one entry that may underflow."""


def right_and_bounds(given: Inputs, *, rough: bool = False) -> tuple[Results, Results]:
    """The exact outputs, and for each entry how far an honest answer may be off.

    Worked out in long double for float64, in float64 for float32.

    Args:
        given: the inputs.
        rough: work in float64 whatever the dtype. For float64 that is itself one honest way to compute, so the bounds
            are doubled.
    """
    double = given.dtype == "float64"
    wide = np.longdouble if double and not rough else np.float64
    whole = oracle.attention(*given.arrays, given.do, given.causal, wide)
    bounds = _bounds(given, oracle.Exact(*(values.astype(np.float64) for values in whole)))
    if rough and double:
        bounds = Results(*(2 * bound for bound in bounds))
    return Results(whole.o, whole.dq, whole.dk, whole.dv), bounds


def logsumexp_bound(given: Inputs, whole: oracle.Exact) -> Floats:
    """How far L (B,H,N) may be off."""
    off = _score_off(given, whole)
    length = given.q.shape[2]
    mean = np.where(whole.weights > 0, whole.weights * off, 0.0).sum(axis=-1)
    bound: Floats = mean + given.unit * (length + 4 * abs(whole.logsumexp) + 8)
    return bound


def _score_off(given: Inputs, whole: oracle.Exact) -> Floats:
    """Relative error (B,H,N,N) of exp(s - m) in the forward pass."""
    features, length = given.q.shape[3], given.q.shape[2]
    sizes = abs(given.q.astype(np.float64)) @ abs(given.k.astype(np.float64)).swapaxes(-1, -2) / np.sqrt(features)
    below = whole.scores.max(axis=-1, keepdims=True) - whole.scores
    tiles = -(-length // min(given.tile, length))
    off: Floats = features * abs(whole.scores) + (4 * np.sqrt(features) + 8) * sizes + 2 * below + 4 * tiles + 8
    return given.unit * off


def _bounds(given: Inputs, whole: oracle.Exact) -> Results:
    unit, tiny = given.unit, float(np.finfo(given.q.dtype).tiny)
    q, k, v, do = (abs(values.astype(np.float64)) for values in (*given.arrays, given.do))
    seen, features, length = whole.weights > 0, given.q.shape[3], given.q.shape[2]
    off = np.where(seen, _score_off(given, whole), 0.0)
    o_bound = np.where(seen, whole.weights * np.expm1(np.minimum(1.2 * off, LARGEST)), 0.0)
    o_bound = o_bound @ v + o_bound.sum(axis=-1, keepdims=True) * abs(whole.o)
    o_bound += unit * (3 * length * abs(whole.o)) + _sum(whole.weights, v, unit)
    off = off + logsumexp_bound(given, whole)[..., None]
    moved = whole.weights * np.expm1(np.minimum(1.2 * off, LARGEST))
    delta = (given.do * whole.o).sum(axis=-1, keepdims=True).astype(np.float64)
    slopes_off = unit * (features * abs(whole.slopes) + (4 * np.sqrt(features) + 4) * (do @ v.swapaxes(-1, -2)))
    delta_off = (do * o_bound).sum(axis=-1, keepdims=True)
    products = (do * abs(whole.o)).sum(axis=-1, keepdims=True)
    delta_off += unit * (features * abs(delta) + (4 * np.sqrt(features) + 4) * products)
    delta_off += (moved * abs(whole.slopes) + whole.weights * slopes_off).sum(axis=-1, keepdims=True)
    delta_off += unit * length * abs(delta)
    delta_off += unit * (length * np.linalg.norm(whole.weights * whole.slopes, axis=-1, keepdims=True))
    inside = abs(whole.slopes - delta)
    rounded = 4 * unit * (abs(whole.slopes) + abs(delta))
    parts_off = slopes_off + delta_off + rounded
    dscores_off = moved * (inside + parts_off) + whole.weights * parts_off
    least = tiny * TINY_TERMS * length
    most = float((abs(whole.slopes) + abs(delta)).max()) + 1
    scale = 1 / np.sqrt(features)
    dq = scale * (dscores_off @ k + _sum(whole.dscores, k, unit)) + least * most * (1 + float(k.max()))
    dk = scale * (dscores_off.swapaxes(-1, -2) @ q + _sum(whole.dscores.swapaxes(-1, -2), q, unit))
    dk += least * most * (1 + float(q.max()))
    dv = moved.swapaxes(-1, -2) @ do + _sum(whole.weights.swapaxes(-1, -2), do, unit) + least * (1 + float(do.max()))
    return Results(o_bound + least * (1 + float(v.max())), dq, dk, dv)


def _sum(left: Floats, right: Floats, unit: float) -> Floats:
    """`sum_bound` of the products that make up left @ right, where each may drift and none cancels for sure."""
    sizes = abs(left) @ abs(right)
    squares = np.sqrt((left * left) @ (right * right))
    drift = abs(left @ right)
    bound: Floats = unit * (left.shape[-1] * (drift + squares) + 8 * sizes)
    return bound


def require_within(got: Results, right: Results, bounds: Results) -> dict[str, float]:
    """The largest error of each output over its bound; none may be over 1. Outputs that are None are not judged."""
    shares = {}
    for name, actual, exact, bound in zip(FIELDS, got, right, bounds, strict=True):
        if actual is None:
            continue
        over = abs(actual - exact) / bound
        over[~np.isfinite(actual)] = np.inf
        index = np.unravel_index(int(np.argmax(over)), over.shape)
        shares[f"{name}_error_over_bound"] = worst = float(over[index])
        if not worst <= 1:
            where = f"{name}[{', '.join(map(str, index))}]"
            seen = f"{actual[index]:.9g} instead of {exact[index]:.9g}; rounding may cost {bound[index]:.2g}"
            raise ProbeFailure(
                f"{name} is wrong", f"{where} is {seen}", where=where, expected=float(exact[index]),
                got=float(actual[index]), measured={"error_over_bound": worst},
            )  # fmt: skip
    return shares
