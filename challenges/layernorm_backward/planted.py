"""Forward and backward pairs, right and wrong, on which an answer's own `check_gradients` is tried.

`PAIRS[name]` is (forward, backward) as the contract has them; `RIGHT` and `WRONG` name those whose gradients belong
to their forward and those whose do not. Every wrong pair is wrong for any x with B*T > 1 and D > 1. NumPy only, no
state: the module is loaded beside the answer.
"""

import numpy as np


def two_pass_forward(x, gamma, beta, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    rstd = 1.0 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    xhat = centred * rstd
    return xhat * gamma + beta, {"xhat": xhat, "rstd": rstd, "gamma": gamma}


def two_pass_backward(dy, cache):
    dx = gather(dy, cache, mean_weight=1.0, projection_weight=1.0)
    return dx, (dy * cache["xhat"]).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


def shifted_forward(x, gamma, beta, eps):
    """The same function by another road: shifted by the first feature, NumPy's own variance, a tuple for a cache."""
    moved = x - x[..., :1]
    std = np.sqrt(moved.var(axis=-1, keepdims=True) + eps)
    return gamma * ((moved - moved.mean(axis=-1, keepdims=True)) / std) + beta, (x, gamma, float(eps))


def shifted_backward(dy, cache):
    """Gradients taken back step by step through the deviation, the variance and the mean."""
    x, gamma, eps = cache
    features = x.shape[-1]
    centred = x - x.mean(axis=-1, keepdims=True)
    std = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    dxhat = dy * gamma
    dstd = -(dxhat * centred).sum(axis=-1, keepdims=True) / std**2
    dcentred = dxhat / std + dstd * centred / (features * std)
    dx = dcentred - dcentred.sum(axis=-1, keepdims=True) / features
    return dx, (dy * centred / std).sum(axis=(0, 1)), dy.sum(axis=(0, 1))


def gather(dy, cache, mean_weight, projection_weight):
    """The input gradient (B,T,D) with its two correction terms weighted; (1, 1) is right."""
    dxhat = dy * cache["gamma"]
    mean_term = dxhat.mean(axis=-1, keepdims=True)
    projection = (dxhat * cache["xhat"]).mean(axis=-1, keepdims=True)
    return cache["rstd"] * (dxhat - mean_weight * mean_term - projection_weight * cache["xhat"] * projection)


def middle(values):
    """Index of an element far from both ends, where a check of a few leading entries does not look."""
    return tuple(length // 2 for length in values.shape)


def weighted(mean_weight, projection_weight):
    def backward(dy, cache):
        _, dgamma, dbeta = two_pass_backward(dy, cache)
        return gather(dy, cache, mean_weight, projection_weight), dgamma, dbeta

    return backward


def dx_scaled(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    return dx * 1.001, dgamma, dbeta


def element_off(share):
    """One element of dx off by `share` of the root mean square of dx."""
    def backward(dy, cache):
        dx, dgamma, dbeta = two_pass_backward(dy, cache)
        dx[middle(dx)] += share * np.sqrt((dx * dx).mean())
        return dx, dgamma, dbeta

    return backward


def row_scaled(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    dx[middle(dx)[:2]] *= 1.001
    return dx, dgamma, dbeta


def rstd_missing(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    return dx / cache["rstd"], dgamma, dbeta


def dgamma_element_scaled(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    dgamma[np.abs(dgamma).argmax()] *= 1.001
    return dx, dgamma, dbeta


def dgamma_of_last_row_missing(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    return dx, dgamma - dy[-1, -1] * cache["xhat"][-1, -1], dbeta


def dbeta_averaged(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    return dx, dgamma, dbeta / (dy.shape[0] * dy.shape[1])


def dbeta_element_scaled(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    dbeta[np.abs(dbeta).argmax()] *= 1.001
    return dx, dgamma, dbeta


def swapped(dy, cache):
    dx, dgamma, dbeta = two_pass_backward(dy, cache)
    return dx, dbeta, dgamma


RIGHT_PAIRS = {
    "two_pass": (two_pass_forward, two_pass_backward),
    "shifted": (shifted_forward, shifted_backward),
}

WRONG_PAIRS = {
    "mean_term_missing": (two_pass_forward, weighted(0.0, 1.0)),
    "mean_term_scaled": (two_pass_forward, weighted(1.001, 1.0)),
    "projection_missing": (two_pass_forward, weighted(1.0, 0.0)),
    "projection_scaled": (two_pass_forward, weighted(1.0, 1.001)),
    "rstd_missing": (two_pass_forward, rstd_missing),
    "dx_scaled": (two_pass_forward, dx_scaled),
    "element_off_1e-2": (two_pass_forward, element_off(1e-2)),
    "element_off_1e-4": (two_pass_forward, element_off(1e-4)),
    "row_scaled": (two_pass_forward, row_scaled),
    "dgamma_element_scaled": (two_pass_forward, dgamma_element_scaled),
    "dgamma_of_last_row_missing": (two_pass_forward, dgamma_of_last_row_missing),
    "dbeta_averaged": (two_pass_forward, dbeta_averaged),
    "dbeta_element_scaled": (two_pass_forward, dbeta_element_scaled),
    "dgamma_dbeta_swapped": (two_pass_forward, swapped),
}

RIGHT = tuple(RIGHT_PAIRS)
WRONG = tuple(WRONG_PAIRS)
PAIRS = RIGHT_PAIRS | WRONG_PAIRS


def pair(name):
    """The two functions of a pair, for a caller that cannot index PAIRS."""
    return PAIRS[name]


def run_forward(times, x, gamma, beta, eps):
    """Run a right forward some times, to be timed: what a check's own passes over such an x cost."""
    for _ in range(times):
        two_pass_forward(x, gamma, beta, eps)
