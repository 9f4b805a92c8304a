"""One forward and backward pair, right or wrong, on which an answer's own `check_gradients` is tried.

Every pair is this code; what makes one right or wrong lies in the drawn numbers it is built from. Both functions
standardise rows by a mean and a spread with weights, of which layer norm's are one choice:

    centred = x - sum(mean_weights * x),  std = sqrt(sum(spread_weights * centred^2) + eps),  xhat = centred / std

NumPy only. The module is loaded anew beside the answer for every pair, and holds nothing else.
"""

import numpy as np

FIRST, MOVED = [], []


def pair(forward_weights, backward_weights, dx_parts, dgamma_parts, dbeta_parts):
    """(forward, backward) as the contract has them.

    Weights are (2,D): those of the mean, those of the spread. Parts are two shares of one gradient, of its shape: with
    one pair of weights for both and shares that add up to 1, backward belongs to forward.
    """

    def forward(x, gamma, beta, eps):
        watch(x, gamma, beta)
        xhat, _ = standardised(x, forward_weights, eps)
        return gamma * xhat + beta, (np.array(x), np.array(gamma), float(eps))

    def backward(dy, cache):
        x, gamma, eps = cache
        xhat, std = standardised(x, backward_weights, eps)
        flow, projection, mean_term = terms(dy * gamma, xhat, std, backward_weights)
        dx = flow - projection - mean_term
        return both(dx_parts, dx), both(dgamma_parts, (dy * xhat).sum(axis=(0, 1))), both(dbeta_parts, dy.sum((0, 1)))

    return forward, backward


def standardised(x, weights, eps):
    """Standardised rows (B,T,D), and the deviation they were divided by (B,T,1)."""
    centred = x - (x @ weights[0])[..., None]
    std = np.sqrt(((centred * centred) @ weights[1])[..., None] + eps)
    return centred / std, std


def terms(dxhat, xhat, std, weights):
    """The three terms (B,T,D) of dx: what comes straight back, and what leaves it through the spread and the mean."""
    flow = dxhat / std
    projection = weights[1] * xhat * (flow * xhat).sum(axis=-1, keepdims=True)
    return flow, projection, weights[0] * (flow - projection).sum(axis=-1, keepdims=True)


def both(parts, gradient):
    """The two shares of a gradient together; repeated where a check asks about more rows."""
    return sum(gradient * np.resize(part, gradient.shape) for part in parts)


def watch(*point):
    """Note when forward is called at a second point: without one there is no finite difference."""
    if not FIRST:
        FIRST.append([np.array(values) for values in point])
    elif not MOVED and not all(map(np.array_equal, FIRST[0], point)):
        MOVED.append(True)


def moved():
    """Whether forward was called at more than one point."""
    return bool(MOVED)


def run_forward(times, forward, x, gamma, beta, eps):
    """Run a forward some times, to be timed: what a check's own passes over such an x cost."""
    for _ in range(times):
        forward(x, gamma, beta, eps)
