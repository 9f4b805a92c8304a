"""Layer norm whose input gradient is rstd (I - Q Q^T) dxhat, Q = [1, xhat] / sqrt(D), by batched matrix products."""

import numpy as np


def forward(x, gamma, beta, eps):
    if x.ndim != 3 or gamma.shape != x.shape[2:] or beta.shape != x.shape[2:] or not eps > 0:
        raise ValueError(f"shapes {x.shape}, {gamma.shape}, {beta.shape} and eps {eps} do not go together")
    centred = x - (x @ np.full((x.shape[-1], 1), 1.0 / x.shape[-1], x.dtype))
    power = (centred[..., None, :] @ centred[..., :, None])[..., 0]
    std = np.sqrt(power / x.shape[-1] + float(eps))
    xhat = centred / std
    return gamma * xhat + beta, {"xhat": xhat, "std": std, "gamma": gamma}


def backward(dy, cache):
    xhat, gamma, features = cache["xhat"], cache["gamma"], dy.shape[-1]
    if dy.shape != xhat.shape:
        raise ValueError(f"dy is {dy.shape}, x was {xhat.shape}")
    basis = np.stack((np.ones_like(xhat), xhat), axis=-2)
    flow = (dy * gamma)[..., None]
    inside = flow - np.swapaxes(basis, -1, -2) @ (basis @ flow) / features
    dx = inside[..., 0] / cache["std"]
    ones = np.ones(dy.shape[:2], dy.dtype)
    return dx, np.tensordot(ones, dy * xhat, 2), np.tensordot(ones, dy, 2)


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """Random directions, one slope a row, step halved once and extrapolated (Richardson)."""
    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))
    y, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    unit = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    rng = np.random.default_rng(3)
    for _ in range(2):
        weights = np.where(rng.random(x.shape) < 0.5, -1.0, 1.0) * rng.uniform(1.0, 2.0, x.shape)

        def slope(step, weights=weights):
            above, below = (forward(x + side * step * unit * weights, gamma, beta, eps)[0] for side in (1.0, -1.0))
            return (dy * (above - below)).sum(axis=-1) / (2.0 * step)

        numeric = (4.0 * slope(1e-3) - slope(2e-3)) / 3.0
        analytic = (dx * unit * weights).sum(axis=-1)
        size = (np.abs(dy) * (np.abs(y) + np.abs(gamma))).sum(axis=-1)
        noise = 1e-12 * (1.0 + np.abs(x).max(axis=-1) / unit[..., 0]) * size
        if not (np.abs(numeric - analytic) <= 1e-9 * np.linalg.norm(dy * gamma, axis=-1) + noise).all():
            return False
    doubled, raised = forward(x, 2.0 * gamma, beta, eps)[0] - y, forward(x, gamma, beta + 1.0, eps)[0] - y
    bound = 1e-12 * (np.abs(dy) * (1.0 + np.abs(y) + np.abs(beta))).sum(axis=(0, 1)) + 1e-300
    dgamma_agrees = np.abs((dy * doubled).sum(axis=(0, 1)) - dgamma * gamma) <= bound
    return bool(dgamma_agrees.all() and (np.abs((dy * raised).sum(axis=(0, 1)) - dbeta) <= bound).all())
