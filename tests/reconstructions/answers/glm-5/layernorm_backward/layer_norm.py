"""Layer normalization: forward pass, hand-derived backward pass and gradient check (NumPy only)."""

import numpy as np


def forward(x, gamma, beta, eps=1e-5):
    """Layer norm over the last axis. Returns y and the cache (x_hat, rstd, gamma)."""
    mu = x.mean(axis=-1, keepdims=True)
    xc = x - mu
    var = (xc ** 2).mean(axis=-1, keepdims=True)
    rstd = 1.0 / np.sqrt(var + eps)
    x_hat = xc * rstd
    y = gamma * x_hat + beta
    return y, (x_hat, rstd, gamma)


def backward(dy, cache):
    """Gradients with respect to x, gamma and beta."""
    x_hat, rstd, gamma = cache
    dgamma = np.sum(dy * x_hat, axis=(0, 1))
    dbeta = np.sum(dy, axis=(0, 1))
    g = dy * gamma
    mean_g = g.mean(axis=-1, keepdims=True)
    mean_gx = (g * x_hat).mean(axis=-1, keepdims=True)
    dx = rstd * (g - mean_g - x_hat * mean_gx)
    return dx, dgamma, dbeta


def numerical_gradient(f, array, h=1e-5):
    """Central differences of the scalar function f, one element of `array` at a time, on copies."""
    grad = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        plus = array.copy()
        minus = array.copy()
        plus[index] += h
        minus[index] -= h
        grad[index] = (f(plus) - f(minus)) / (2 * h)
    return grad


def relative_error(analytic, numeric):
    """Largest deviation relative to the largest gradient entry."""
    return np.max(np.abs(analytic - numeric)) / max(np.max(np.abs(numeric)), 1e-8)


def gradient_errors(forward, backward, x, gamma, beta, dy, eps):
    """Relative errors of dx, dgamma and dbeta against central differences."""
    _, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)

    def loss(x, gamma, beta):
        return np.sum(dy * forward(x, gamma, beta, eps)[0])

    return {
        "dx": relative_error(dx, numerical_gradient(lambda a: loss(a, gamma, beta), x)),
        "dgamma": relative_error(dgamma, numerical_gradient(lambda a: loss(x, a, beta), gamma)),
        "dbeta": relative_error(dbeta, numerical_gradient(lambda a: loss(x, gamma, a), beta)),
    }


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """True when every gradient agrees with its differences to 1e-5."""
    x, gamma, beta, dy = (a.astype(np.float64) for a in (x, gamma, beta, dy))
    return all(error < 1e-5 for error in gradient_errors(forward, backward, x, gamma, beta, dy, eps).values())
