"""Layer norm on (D, B*T): rows lie in columns, every statistic is a sum over the first axis."""

import numpy as np


def forward(x, gamma, beta, eps):
    if x.ndim != 3 or gamma.shape != x.shape[2:] or beta.shape != x.shape[2:] or not eps > 0:
        raise ValueError(f"shapes {x.shape}, {gamma.shape}, {beta.shape} and eps {eps} do not go together")
    columns = as_columns(x)
    xhat = columns - columns.mean(axis=0)
    rstd = 1.0 / np.sqrt(np.einsum("dr,dr->r", xhat, xhat) / len(xhat) + float(eps))
    xhat *= rstd
    y = as_rows(xhat * gamma[:, None] + beta[:, None], x.shape)
    return y, {"columns": xhat, "rstd": rstd, "gamma": gamma, "B": x.shape[0], "T": x.shape[1]}


def backward(dy, cache):
    xhat, gamma = cache["columns"], cache["gamma"]
    if dy.shape != (cache["B"], cache["T"], len(gamma)):
        raise ValueError(f"dy is {dy.shape}, x was {(cache['B'], cache['T'], len(gamma))}")
    flow = as_columns(dy)
    dgamma, dbeta = (flow * xhat).sum(axis=1), flow.sum(axis=1)
    flow = flow * gamma[:, None]
    flow -= flow.mean(axis=0)
    flow -= xhat * (np.einsum("dr,dr->r", flow, xhat) / len(xhat))
    return as_rows(flow * cache["rstd"], dy.shape), dgamma, dbeta


def as_columns(values):
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)


def as_rows(columns, shape):
    return np.ascontiguousarray(columns.T).reshape(shape)


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """Three random directions for all rows at once by a fourth-order stencil; dgamma and dbeta by half steps."""
    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))
    y, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    std = np.sqrt(x.var(axis=-1) + eps)
    step = 1e-3 * std
    flow = np.linalg.norm(dy * gamma, axis=-1)
    size = (np.abs(dy) * (np.abs(y) + np.abs(gamma))).sum(axis=-1) + flow
    slack = 1e-9 * flow / std + 1e-13 * (1.0 + np.abs(x).max(axis=-1) / std) * size / step + 1e-300
    rng = np.random.default_rng(17)
    for _ in range(3):
        weights = (rng.integers(0, 2, x.shape) * 2.0 - 1.0) * rng.uniform(1.0, 2.0, x.shape)

        def output(times, weights=weights):
            return forward(x + (times * step)[..., None] * weights, gamma, beta, eps)[0]

        terms = dy * (8.0 * (output(1) - output(-1)) - (output(2) - output(-2)))
        if not (np.abs(terms.sum(axis=-1) / (12.0 * step) - (dx * weights).sum(axis=-1)) <= slack).all():
            return False
    weight = np.abs(dy) * (1.0 + np.abs(y) + np.abs(beta) + np.abs(gamma) * (1.0 + np.abs(x).max() / std.min()))
    slack = 1e-12 * weight.sum(axis=(0, 1)) * (1.0 + np.abs(gamma).max() + np.abs(beta).max()) + 1e-300
    by_gamma = (dy * (forward(x, gamma + 0.5, beta, eps)[0] - forward(x, gamma - 0.5, beta, eps)[0])).sum(axis=(0, 1))
    by_beta = (dy * (forward(x, gamma, beta + 0.5, eps)[0] - forward(x, gamma, beta - 0.5, eps)[0])).sum(axis=(0, 1))
    return bool((np.abs(by_gamma - dgamma) <= slack).all() and (np.abs(by_beta - dbeta) <= slack).all())
