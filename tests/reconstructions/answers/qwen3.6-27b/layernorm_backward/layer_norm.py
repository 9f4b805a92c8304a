"""Layer normalization in NumPy: forward, hand-derived backward, finite-difference check, notes on GPU fusion.

Notation: x is (B, T, D); gamma and beta are (D,). The backward formula follows from differentiating
x_hat = (x - mean) * rstd through the mean and the variance at once:

    dx = rstd * (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)),   dx_hat = dy * gamma
"""

import numpy as np

GPU_FUSION_NOTES = """
Fusing the backward pass into one kernel
========================================
Unfused, the backward is about eight launches: two products, two row reductions, the combination, the product for
dgamma and two column reductions. Each reads and writes B*T*D values, so the time is spent on memory traffic.

Fused: one block per row, up to 1024 threads, each responsible for D / blockDim.x features.
  phase 1  every thread loads dy, x_hat and gamma once and accumulates
               s1 = sum(dy * gamma)            s2 = sum(dy * gamma * x_hat)
           warp-level reduction with __shfl_down_sync, then one value per warp through shared memory
  phase 2  dx = rstd * (dy * gamma - s1 / D - x_hat * s2 / D), one coalesced store
  phase 3  dgamma and dbeta: partial sums per block, atomicAdd into (D,) buffers, or a second small kernel
           over a (blocks, D) workspace when a deterministic order is wanted

Traffic: reads 2 * B*T*D + B*T + D, writes B*T*D + 2 * D values. Arithmetic intensity is below one FLOP per byte,
so the kernel is memory-bound and the fusion gain is the ratio of the traffic, about 4x to 6x.
"""


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


def backward_alternative(x, gamma, dy, eps=1e-5):
    """dx by another derivation, from x itself: through the variance, then the mean, then the difference."""
    D = x.shape[-1]
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    std = np.sqrt(var + eps)
    dx_hat = dy * gamma
    dvar = np.sum(dx_hat * (x - mean), axis=-1, keepdims=True) * -0.5 / std ** 3
    dmean = -np.sum(dx_hat, axis=-1, keepdims=True) / std
    return dx_hat / std + dvar * 2.0 * (x - mean) / D + dmean / D


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
