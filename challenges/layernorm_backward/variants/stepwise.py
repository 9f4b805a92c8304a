"""Layer norm on a (B*T, D) matrix, differentiated one elementary step after the other."""

import numpy as np


def forward(x, gamma, beta, eps):
    if x.ndim != 3 or gamma.shape != (x.shape[-1],) or beta.shape != (x.shape[-1],) or not eps > 0:
        raise ValueError(f"shapes {x.shape}, {gamma.shape}, {beta.shape} and eps {eps} do not go together")
    rows = x.reshape(-1, x.shape[-1])
    centred = rows - rows.mean(axis=1)[:, None]
    std = np.sqrt(np.square(centred).mean(axis=1) + float(eps))[:, None]
    xhat = centred / std
    y = xhat * gamma + beta
    return y.reshape(x.shape), {"xhat": xhat.reshape(x.shape), "std": std, "gamma": gamma}


def backward(dy, cache):
    """xhat = centred/std; std = sqrt(mean(centred^2) + eps); centred = x - mean(x), taken back in that order."""
    gamma, std = cache["gamma"], cache["std"]
    if dy.shape != cache["xhat"].shape:
        raise ValueError(f"dy is {dy.shape}, x was {cache['xhat'].shape}")
    features = dy.shape[-1]
    flow, xhat = dy.reshape(-1, features), cache["xhat"].reshape(-1, features)
    dgamma, dbeta = np.add.reduce(flow * xhat), np.add.reduce(flow)
    dxhat = flow * gamma
    dstd = -(dxhat * xhat).sum(axis=1)[:, None] / std
    dcentred = dxhat / std + dstd * (xhat / features)
    dmean = -dcentred.sum(axis=1)[:, None]
    return (dcentred + dmean / features).reshape(dy.shape), dgamma, dbeta


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """Every element of every gradient by central differences: one feature of all rows at once."""
    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))
    y, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    std = np.sqrt(x.var(axis=-1) + eps)
    step = 1e-5 * std
    scale = np.sqrt(((dy * gamma) ** 2).mean(axis=-1)) / std
    size = (np.abs(dy) * (np.abs(y) + np.abs(gamma))).sum(axis=-1)
    slack = 1e-7 * scale + 1e-15 * (size + np.abs(x).max() * scale) / step
    for feature in range(x.shape[-1]):
        moved = x.copy()
        moved[..., feature] += step
        rise = forward(moved, gamma, beta, eps)[0]
        moved[..., feature] -= 2.0 * step
        rise = rise - forward(moved, gamma, beta, eps)[0]
        if not (np.abs((dy * rise).sum(axis=-1) / (2.0 * step) - dx[..., feature]) <= slack).all():
            return False
    rise = (dy * (forward(x, gamma + 1.0, beta, eps)[0] - y)).sum(axis=(0, 1))
    lift = (dy * (forward(x, gamma, beta + 1.0, eps)[0] - y)).sum(axis=(0, 1))
    largest = 1.0 + np.abs(gamma).max() + np.abs(beta).max()
    rounding = 1e-12 * largest * (np.abs(dy) * (1.0 + np.abs(y))).sum(axis=(0, 1))
    return bool((np.abs(rise - dgamma) <= rounding).all() and (np.abs(lift - dbeta) <= rounding).all())
