"""Layer normalization in NumPy: forward, hand-derived backward, finite-difference check."""

import numpy as np


def forward(x, gamma, beta, eps=1e-5):
    """Layer norm over the last axis.

    Two passes over a row: the mean first, then the mean of the squared deviations. The cache holds the four things
    the backward pass reads.
    """
    mean = np.mean(x, axis=-1, keepdims=True)
    x_centered = x - mean
    var = np.mean(x_centered ** 2, axis=-1, keepdims=True)
    rstd = 1.0 / np.sqrt(var + eps)
    x_hat = x_centered * rstd
    y = gamma * x_hat + beta
    return y, {"x_hat": x_hat, "rstd": rstd, "gamma": gamma, "D": x.shape[-1]}


def backward(dy, cache):
    """Gradients of sum(dy * y) with respect to x, gamma and beta, from cached values only."""
    x_hat, rstd, gamma, D = cache["x_hat"], cache["rstd"], cache["gamma"], cache["D"]
    dgamma = np.sum(dy * x_hat, axis=(0, 1))
    dbeta = np.sum(dy, axis=(0, 1))
    dx_hat = dy * gamma
    sum_dx_hat = np.sum(dx_hat, axis=-1, keepdims=True)
    sum_dx_hat_x_hat = np.sum(dx_hat * x_hat, axis=-1, keepdims=True)
    dx = rstd * (dx_hat - sum_dx_hat / D - x_hat * (sum_dx_hat_x_hat / D))
    return dx, dgamma, dbeta


def numerical_gradient(f, array, h=1e-5):
    """Central differences, element by element."""
    grad = np.zeros_like(array)
    work = array.copy()
    for index in np.ndindex(array.shape):
        value = work[index]
        work[index] = value + h
        upper = f(work)
        work[index] = value - h
        lower = f(work)
        work[index] = value
        grad[index] = (upper - lower) / (2 * h)
    return grad


def max_relative_error(analytic, numeric):
    """Largest difference over the largest numerical entry."""
    return float(np.max(np.abs(analytic - numeric)) / (np.max(np.abs(numeric)) + 1e-12))


def gradient_errors(forward, backward, x, gamma, beta, dy, eps):
    """Relative errors (dx, dgamma, dbeta) of a pair against central differences of its forward."""
    _, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    dx_num = numerical_gradient(lambda a: np.sum(dy * forward(a, gamma, beta, eps)[0]), x)
    dgamma_num = numerical_gradient(lambda a: np.sum(dy * forward(x, a, beta, eps)[0]), gamma)
    dbeta_num = numerical_gradient(lambda a: np.sum(dy * forward(x, gamma, a, eps)[0]), beta)
    return (
        max_relative_error(dx, dx_num),
        max_relative_error(dgamma, dgamma_num),
        max_relative_error(dbeta, dbeta_num),
    )


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """True when all three relative errors stay under 1e-5."""
    x, gamma, beta, dy = (np.asarray(a, dtype=np.float64) for a in (x, gamma, beta, dy))
    return max(gradient_errors(forward, backward, x, gamma, beta, dy, eps)) < 1e-5
