"""One forward and backward pair, right or wrong, on which an answer's own `check_gradients` is tried.

Every pair is this code; what makes one right or wrong lies in the drawn numbers it is built from. Both functions
standardise rows by a mean and a spread with weights, of which layer norm's are one choice:

    centred = x - sum(mean_weights * x),  std = sqrt(sum(spread_weights * centred^2) + eps),  xhat = centred / std

NumPy only. A check may ask about inputs of its own: weights, shares and rows are fitted to any shape. The module notes
whether the latest pair was called at a second point, how often, on how many elements, and how far off its gradients
were, and may be told to serve for a while only.
"""

import time

import numpy as np

FIRST, MOVED, SIZE, PASSES, OFF = [], [], [0], [0], [0.0]
STOP = {"at": np.inf, "stopped": False}


class OutOfTime(Exception):
    """The processor time set by `stop_after` is over."""


def pair(forward_weights, backward_weights, dx_parts, dgamma_parts, dbeta_parts, twist):
    """(forward, backward) as the contract has them; results have the dtype of x and of dy.

    Weights are (2,D): those of the mean, those of the spread. Parts are two shares of one gradient, of its shape. The
    twist is (layout of the cache, one row of dx, the row it is exchanged with, how much of 1 - gamma is added to gamma
    in dx, the size at which dy is cut, the fewest elements of dy whose gradients are wrong, the element of y that is
    NaN, or -1). With one pair of weights for both, shares that add up to 1, a row exchanged with itself, nothing added,
    no cut and no NaN, backward belongs to forward; where dy has fewer elements, it belongs to one with shares that add
    up to 1.
    """
    layout, one, other, blend, level, fewest, missing = twist
    FIRST.clear()
    MOVED.clear()
    SIZE[0] = PASSES[0] = 0
    OFF[0] = 0.0
    STOP.update(at=np.inf, stopped=False)

    def forward(x, gamma, beta, eps):
        watch(x, gamma, beta)
        xhat, _ = standardised(x, forward_weights, eps)
        y = (gamma * xhat + beta).astype(x.dtype)
        if missing >= 0:
            y.flat[int(missing) % y.size] = np.nan
        return y, packed(int(layout), np.array(x), np.array(gamma), float(eps))

    def backward(dy, cache):
        x, gamma, eps = unpacked(cache)
        xhat, std = standardised(x, backward_weights, eps)
        seen = np.clip(dy, -level, level)
        flow, projection, mean_term = terms(seen * (gamma + blend * (1.0 - gamma)), xhat, std, backward_weights)
        dx = exchanged(flow - projection - mean_term, int(one), int(other))
        dgamma, dbeta = (seen * xhat).sum(axis=(0, 1)), seen.sum(axis=(0, 1))
        gradients = dx, dgamma, dbeta
        if dy.size >= fewest:
            gradients = map(both, (dx_parts, dgamma_parts, dbeta_parts), gradients)
        return tuple(gradient.astype(dy.dtype) for gradient in gradients)

    return forward, backward


def packed(layout, x, gamma, eps):
    """A cache in one of four layouts."""
    flat, named = (x, gamma, eps), {"x": x, "gamma": gamma, "eps": eps}
    return (flat, named, {"rows": [x], "rest": (gamma, eps)}, (x, [gamma, eps]))[layout]


def unpacked(cache):
    """x, gamma and eps of a cache in any layout."""
    if isinstance(cache, dict):
        cache = tuple(cache.values())
    flat = []
    for part in cache:
        flat.extend(part if isinstance(part, (list, tuple)) else [part])
    return flat


def exchanged(dx, one, other):
    """dx (B,T,D) with two of its B*T rows exchanged; counted anew where there are fewer, two all the same."""
    rows = dx.reshape(-1, dx.shape[-1]).copy()
    other += one != other and (one - other) % len(rows) == 0
    rows[[one % len(rows), other % len(rows)]] = rows[[other % len(rows), one % len(rows)]]
    return rows.reshape(dx.shape)


def standardised(x, weights, eps):
    """Standardised rows (B,T,D), and the deviation they were divided by (B,T,1)."""
    weights = fitted(weights, x.shape[-1])
    centred = x - (x @ weights[0])[..., None]
    std = np.sqrt(((centred * centred) @ weights[1])[..., None] + eps)
    return centred / std, std


def fitted(weights, features):
    """Weights (2,D) for another number of features; those of layer norm, 1/D each, stay those of layer norm."""
    scale = weights.shape[1] / features
    return weights if scale == 1 else np.stack([np.resize(row, features) * scale for row in weights])


def terms(dxhat, xhat, std, weights):
    """The three terms (B,T,D) of dx: what comes straight back, and what leaves it through the spread and the mean."""
    weights = fitted(weights, xhat.shape[-1])
    flow = dxhat / std
    projection = weights[1] * xhat * (flow * xhat).sum(axis=-1, keepdims=True)
    return flow, projection, weights[0] * (flow - projection).sum(axis=-1, keepdims=True)


def both(parts, gradient):
    """The two shares of a gradient together: repeated where a check asks about more; where less, no fault is lost."""
    together = joined(parts, gradient)
    OFF[0] = max(OFF[0], float(apart(together, gradient).max() / (np.abs(gradient).max() or 1.0)))
    return together


def joined(parts, gradient):
    """Return the two shares of a gradient together, fitted to its shape."""
    if gradient.size < parts[0].size:
        factor = sum(parts).ravel()
        off = apart(factor, 1.0)
        kept = factor[: gradient.size].copy()
        if off.max() > 2 * off[: gradient.size].max():
            kept[-1] = factor[off.argmax()]
        return gradient * kept.reshape(gradient.shape)
    return sum(gradient * np.resize(part, gradient.shape) for part in parts)


def apart(values, others):
    """Return how far values are apart: infinitely where one is NaN."""
    return np.nan_to_num(np.abs(values - others), nan=np.inf, posinf=np.inf)


def watch(*point):
    """Note a pass, the size of x, and whether forward is called at a second point: else there is no finite difference.

    Raises:
        OutOfTime: it is not served any more.
    """
    if time.process_time() > STOP["at"]:
        STOP["stopped"] = True
        raise OutOfTime
    PASSES[0] += 1
    SIZE[0] = max(SIZE[0], np.size(point[0]))
    if not FIRST:
        FIRST.append([np.array(values) for values in point])
    elif not MOVED and not all(map(np.array_equal, FIRST[0], point)):
        MOVED.append(True)


def moved():
    """Whether forward was called at more than one point."""
    return bool(MOVED)


def most_off():
    """Return the largest error of a gradient, over its largest entry."""
    return OFF[0]


def most_elements():
    """The size of the largest x that forward was called on."""
    return SIZE[0]


def stop_after(seconds):
    """Serve no forward of the latest pair once this process has worked so many seconds from now on."""
    STOP.update(at=time.process_time() + seconds, stopped=False)


def passes():
    """How often forward was called, and whether that was stopped."""
    return PASSES[0], STOP["stopped"]
