"""Two-pass against naive variance, and timings. Run: python benchmark.py"""

import time

import numpy as np
from layer_norm import GPU_FUSION_NOTES, backward, forward


def naive_variance(x):
    """E[x^2] - E[x]^2."""
    return np.mean(x * x, axis=-1) - np.mean(x, axis=-1) ** 2


def two_pass_variance(x):
    """Mean of the squared deviations."""
    return np.mean((x - np.mean(x, axis=-1, keepdims=True)) ** 2, axis=-1)


def variance_demo():
    """Show what a large mean does to both formulas; the headline case is a mean of 1e8."""
    steps = 16.0 * np.arange(8)
    exact = np.var(steps)
    print("offset     two-pass      naive         exact variance is", exact)
    for offset in (1e4, 1e6, 1e8, 1e10):
        x = (offset + steps)[None, :]
        print(f"{offset:7.0e}  {two_pass_variance(x)[0]:12.4f}  {naive_variance(x)[0]:12.4f}")


def timings():
    """Forward and backward at a few shapes."""
    for B, T, D in ((4, 32, 64), (8, 128, 512), (4, 256, 1024)):
        x, dy = np.random.randn(2, B, T, D)
        gamma, beta = np.random.randn(2, D)
        start = time.perf_counter()
        _, cache = forward(x, gamma, beta)
        middle = time.perf_counter()
        backward(dy, cache)
        end = time.perf_counter()
        print(f"({B}, {T}, {D}): forward {1e3 * (middle - start):.2f} ms, backward {1e3 * (end - middle):.2f} ms")


if __name__ == "__main__":
    variance_demo()
    timings()
    print(GPU_FUSION_NOTES)
