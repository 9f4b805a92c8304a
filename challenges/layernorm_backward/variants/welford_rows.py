"""Layer norm one row at a time: one-pass statistics, gradients added up row after row."""

import numpy as np


def forward(x, gamma, beta, eps):
    if x.ndim != 3 or gamma.shape != x.shape[2:] or beta.shape != x.shape[2:] or not eps > 0:
        raise ValueError(f"shapes {x.shape}, {gamma.shape}, {beta.shape} and eps {eps} do not go together")
    mean, spread = welford(x)
    rstd = 1.0 / np.sqrt(spread / x.shape[-1] + float(eps))
    y, xhat = np.empty_like(x), np.empty_like(x)
    for place in np.ndindex(x.shape[:2]):
        xhat[place] = (x[place] - mean[place]) * rstd[place]
        y[place] = gamma * xhat[place] + beta
    return y, (xhat, rstd, gamma)


def welford(x):
    """Mean and sum of squared deviations (B,T): blocks of features, each in one pass, merged by Chan's rule."""
    mean, spread, seen = np.zeros_like(x[..., 0]), np.zeros_like(x[..., 0]), 0
    for block in np.array_split(x, -(-x.shape[-1] // 32), axis=-1):
        count = block.shape[-1]
        block_mean, block_spread = one_pass(block)
        change = block_mean - mean
        mean = mean + change * (count / (seen + count))
        spread = spread + block_spread + change * change * (seen * count / (seen + count))
        seen += count
    return mean, spread


def one_pass(block):
    mean = np.zeros_like(block[..., 0])
    spread = np.zeros_like(mean)
    for feature in range(block.shape[-1]):
        change = block[..., feature] - mean
        mean = mean + change / (feature + 1)
        spread = spread + change * (block[..., feature] - mean)
    return mean, spread


def backward(dy, cache):
    xhat, rstd, gamma = cache
    if dy.shape != xhat.shape:
        raise ValueError(f"dy is {dy.shape}, x was {xhat.shape}")
    features = dy.shape[-1]
    dx = np.empty_like(dy)
    dgamma, dbeta = np.zeros_like(gamma), np.zeros_like(gamma)
    for place in np.ndindex(dy.shape[:2]):
        flow = dy[place] * gamma
        along = np.dot(flow, xhat[place]) / features
        dx[place] = rstd[place] * (flow - flow.sum() / features - along * xhat[place])
        dgamma += dy[place] * xhat[place]
        dbeta += dy[place]
    return dx, dgamma, dbeta


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """One random direction for all arguments together, three times: <gradients, direction> against the slope."""
    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))
    y, cache = forward(x, gamma, beta, eps)
    gradients = backward(dy, cache)
    rng = np.random.default_rng(7)
    step = 1e-3 * np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    for part in range(3):
        for _ in range(3):
            moves = [np.zeros_like(values) for values in (x, gamma, beta)]
            weights = rng.choice((-1.0, 1.0), moves[part].shape) * rng.uniform(1.0, 2.0, moves[part].shape)
            moves[part] += weights * (step if part == 0 else 1e-3)

            def output(times, moves=moves):
                return forward(x + times * moves[0], gamma + times * moves[1], beta + times * moves[2], eps)[0]

            terms = dy * (8.0 * (output(1) - output(-1)) - (output(2) - output(-2))) / 12.0
            products = gradients[part] * moves[part]
            noise = 1e-13 * (np.abs(x).max() + 1.0) * (np.abs(dy) * (np.abs(y) + 1.0)).sum()
            if not abs(terms.sum() - products.sum()) <= 1e-9 * np.linalg.norm(terms) + noise:
                return False
    return True
