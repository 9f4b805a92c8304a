"""Times forward, backward and the gradient check at four shapes, beside one addition over the same memory."""

import time
from collections.abc import Callable

import numpy as np
from layernorm import backward, check_gradients, forward

SHAPES = [(4, 8, 64), (2, 32, 768), (8, 128, 512), (4, 256, 1024)]


def best(run: Callable[[], object], repeats: int = 7) -> float:
    """Shortest of several runs, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def measure(shape: tuple[int, int, int]) -> str:
    """One line of the table for x of this shape (B,T,D), in float64."""
    rng = np.random.default_rng(0)
    x, dy = rng.normal(size=(2, *shape))
    gamma, beta = rng.normal(size=(2, shape[-1]))
    _, cache = forward(x, gamma, beta, 1e-5)
    times = (
        best(lambda: x + dy),
        best(lambda: forward(x, gamma, beta, 1e-5)),
        best(lambda: backward(dy, cache)),
        best(lambda: check_gradients(forward, backward, x, gamma, beta, dy, 1e-5), repeats=3),
    )
    ratio = sum(values.nbytes for values in cache.values()) / x.nbytes
    return f"{','.join(map(str, shape)):>12} " + " ".join(f"{t:8.3f}" for t in times) + f" {ratio:8.3f}"


if __name__ == "__main__":
    print(f"{'B,T,D':>12} {'x + dy':>8} {'forward':>8} {'backward':>8} {'check':>8} {'cache/x':>8}   (ms, float64)")
    for each in SHAPES:
        print(measure(each))
