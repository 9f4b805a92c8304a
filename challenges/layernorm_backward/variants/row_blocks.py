"""Layer norm on blocks of 48 rows, as a kernel with few rows a block would: partial parameter gradients, added last."""

import numpy as np

BLOCK = 48


def forward(x, gamma, beta, eps):
    if x.ndim != 3 or gamma.shape != x.shape[2:] or beta.shape != x.shape[2:] or not eps > 0:
        raise ValueError(f"shapes {x.shape}, {gamma.shape}, {beta.shape} and eps {eps} do not go together")
    y, mean = np.empty(x.shape, x.dtype), np.empty((*x.shape[:2], 1), x.dtype)
    rstd = np.empty_like(mean)
    for block in blocks(x):
        values = flat(x)[block]
        flat(mean)[block] = values.mean(axis=1, keepdims=True)
        values = values - flat(mean)[block]
        flat(rstd)[block] = 1.0 / np.sqrt((values * values).mean(axis=1, keepdims=True) + float(eps))
        flat(y)[block] = values * flat(rstd)[block] * gamma + beta
    return y, (x, mean, rstd, gamma)


def backward(dy, cache):
    x, mean, rstd, gamma = cache
    if dy.shape != x.shape:
        raise ValueError(f"dy is {dy.shape}, x was {x.shape}")
    dx, parts = np.empty(dy.shape, dy.dtype), []
    for block in blocks(dy):
        flow, scale = flat(dy)[block], flat(rstd)[block]
        xhat = (flat(x)[block] - flat(mean)[block]) * scale
        parts.append(((flow * xhat).sum(axis=0), flow.sum(axis=0)))
        flow = flow * gamma
        along = (flow * xhat).mean(axis=1, keepdims=True)
        flat(dx)[block] = (flow - flow.mean(axis=1, keepdims=True) - xhat * along) * scale
    dgamma, dbeta = np.add.reduce(np.array(parts), axis=0)
    return dx, dgamma, dbeta


def flat(values):
    """The rows as (B*T, ...), a view."""
    return values.reshape(-1, values.shape[-1])


def blocks(values):
    return [slice(first, first + BLOCK) for first in range(0, len(flat(values)), BLOCK)]


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """Two random directions a row, steps halved once; each entry of dgamma and dbeta by itself, which is linear."""
    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))
    y, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    unit = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    size = (np.abs(dy) * (np.abs(y) + np.abs(gamma))).sum(axis=-1)
    flow = np.linalg.norm(dy * gamma, axis=-1)
    noise = 1e-9 * flow + 1e-12 * (1.0 + np.abs(x).max(axis=-1) / unit[..., 0]) * (size + flow) + 1e-300
    rng = np.random.default_rng(5)
    for _ in range(3):
        direction = np.where(rng.random(x.shape) < 0.5, -unit, unit)
        small, large = (difference(forward, x, gamma, beta, dy, eps, step * direction) / step for step in (1e-3, 2e-3))
        if not (np.abs((4.0 * small - large) / 3.0 - (dx * direction).sum(axis=-1)) <= noise).all():
            return False
    entry = np.abs(dy) * (1.0 + np.abs(y) + np.abs(beta) + np.abs(gamma) * (1.0 + np.abs(x).max() / unit.min()))
    slack = 1e-13 * (8.0 + np.abs(gamma).max()) * entry.sum(axis=(0, 1)) + 1e-300
    scaled = (dy * (forward(x, gamma + 1.0, beta, eps)[0] - y)).sum(axis=(0, 1))
    lifted = (dy * (forward(x, gamma, beta + 1.0, eps)[0] - y)).sum(axis=(0, 1))
    return bool((np.abs(scaled - dgamma) <= slack).all() and (np.abs(lifted - dbeta) <= slack).all())


def difference(forward, x, gamma, beta, dy, eps, move):
    """Half of what <dy, y> changes by in every row between x - move and x + move."""
    apart = forward(x + move, gamma, beta, eps)[0] - forward(x - move, gamma, beta, eps)[0]
    return (dy * apart).sum(axis=-1) / 2.0
