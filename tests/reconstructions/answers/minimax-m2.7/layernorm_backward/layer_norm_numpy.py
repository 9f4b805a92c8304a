"""Layer normalization: forward, backward and gradient check. All intermediate values are cached."""

import numpy as np


def forward(x, gamma, beta, eps=1e-5):
    """Return y and twelve cached values."""
    B, T, D = x.shape
    mean = np.mean(x, axis=-1, keepdims=True)
    x_centered = x - mean
    var = np.mean(x_centered ** 2, axis=-1, keepdims=True)
    std = np.sqrt(var + eps)
    inv_std = 1.0 / std
    x_hat = x_centered * inv_std
    y = gamma * x_hat + beta
    cache = {
        "x": x, "x_centered": x_centered, "x_hat": x_hat, "mean": mean, "var": var, "std": std, "inv_std": inv_std,
        "gamma": gamma, "eps": eps, "B": B, "T": T, "D": D,
    }
    return y, cache


def backward(dy, cache):
    """Return dx, dgamma, dbeta."""
    x_hat, inv_std, gamma = cache["x_hat"], cache["inv_std"], cache["gamma"]
    dbeta = np.sum(dy, axis=(0, 1))
    dgamma = np.sum(dy * x_hat, axis=(0, 1))
    dx_hat = dy * gamma
    mean_dx_hat = np.mean(dx_hat, axis=-1, keepdims=True)
    mean_dx_hat_x_hat = np.mean(dx_hat * x_hat, axis=-1, keepdims=True)
    dx = inv_std * (dx_hat - mean_dx_hat - x_hat * mean_dx_hat_x_hat)
    return dx, dgamma, dbeta


SPOT_CHECK_LIMIT = 100000
SPOT_CHECK_COUNT = 100


def select_indices(array, spot):
    """All flat indices, or a random sample of them for a spot check."""
    if spot and array.size > SPOT_CHECK_COUNT:
        return np.random.choice(array.size, SPOT_CHECK_COUNT, replace=False)
    return np.arange(array.size)


def numerical_gradient(loss, array, indices, h=1e-5):
    """Finite differences of the loss with respect to an array that it reads, at the given flat indices."""
    original, flat = array.copy(), array.reshape(-1)
    grad = np.zeros(len(indices))
    for n, i in enumerate(indices):
        value = flat[i]
        flat[i] = value + h
        loss_plus = loss()
        flat[i] = value - h
        loss_minus = loss()
        flat[i] = value
        grad[n] = (loss_plus - loss_minus) / (2 * h)
    array[...] = original
    return grad


def relative_error(analytic, numeric):
    """Largest difference relative to the largest entry."""
    scale = max(np.max(np.abs(analytic)), np.max(np.abs(numeric)), 1e-8)
    return np.max(np.abs(analytic - numeric)) / scale


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """Whether all gradients agree with finite differences; above 100,000 elements a random sample of them."""
    x, gamma, beta, dy = (np.asarray(a, dtype=np.float64) for a in (x, gamma, beta, dy))
    spot = x.size > SPOT_CHECK_LIMIT
    _, cache = forward(x, gamma, beta, eps)
    errors = []
    for gradient, array in zip(backward(dy, cache), (x, gamma, beta)):
        indices = select_indices(array, spot)
        numeric = numerical_gradient(lambda: np.sum(forward(x, gamma, beta, eps)[0] * dy), array, indices)
        errors.append(relative_error(gradient.reshape(-1)[indices], numeric))
    return bool(max(errors) < 1e-5)
