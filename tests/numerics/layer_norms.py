"""Layer norms for the tests here: a long-double oracle, honest variants, and the benchmark with its planted faults."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
EPS = 1e-5


def load_benchmark() -> ModuleType:
    """`benchmarks/gradients.py` as a module; importing it must run nothing."""
    path = Path(__file__).parents[2] / "benchmarks" / "gradients.py"
    spec = importlib.util.spec_from_file_location("gradients_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def draw(
    rng: np.random.Generator, shape: tuple[int, int, int], dtype: str = "float64", offset: float = 0.0
) -> tuple[Array, Array, Array, Array]:
    """(x, gamma, beta, dy)."""
    x, dy = rng.normal(size=(2, *shape))
    gamma, beta = rng.normal(size=(2, shape[-1]))
    return (x + offset).astype(dtype), gamma.astype(dtype), beta.astype(dtype), dy.astype(dtype)


def oracle(x: Array, gamma: Array, beta: Array, dy: Array) -> tuple[Array, Array, Array, Array]:
    """(y, dx, dgamma, dbeta) in long double."""
    x, gamma, beta, dy = (a.astype(np.longdouble) for a in (x, gamma, beta, dy))
    return _layer_norm(x, gamma, beta, dy, np.sum, _centred(np.sum))


def pairwise(x: Array, gamma: Array, beta: Array, dy: Array) -> tuple[Array, Array, Array, Array]:
    return _layer_norm(x, gamma, beta, dy, np.sum, _centred(np.sum))


def sequential(x: Array, gamma: Array, beta: Array, dy: Array) -> tuple[Array, Array, Array, Array]:
    return _layer_norm(x, gamma, beta, dy, _running_sum, _centred(_running_sum))


def welford(x: Array, gamma: Array, beta: Array, dy: Array) -> tuple[Array, Array, Array, Array]:
    return _layer_norm(x, gamma, beta, dy, np.sum, _welford)


def naive_variance(x: Array, gamma: Array, beta: Array, dy: Array) -> tuple[Array, Array, Array, Array]:
    """Wrong: E[x^2] - E[x]^2 cancels."""

    def statistics(x: Array) -> tuple[Array, Array]:
        mean = x.mean(axis=-1, keepdims=True)
        return x - mean, (x * x).mean(axis=-1, keepdims=True) - mean * mean

    return _layer_norm(x, gamma, beta, dy, np.sum, statistics)


HONEST = {"pairwise": pairwise, "sequential": sequential, "welford": welford}


def _layer_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    dy: Array,
    total: Callable[..., Array],
    statistics: Callable[[Array], tuple[Array, Array]],
) -> tuple[Array, Array, Array, Array]:
    width = x.shape[-1]
    scalar = x.dtype.type
    centred, variance = statistics(x)
    rstd = scalar(1) / np.sqrt(variance + scalar(EPS))
    x_hat = centred * rstd
    dx_hat = dy * gamma
    mean = total(dx_hat, axis=-1)[..., None] / scalar(width)
    along = total(dx_hat * x_hat, axis=-1)[..., None] / scalar(width)
    dgamma = total((dy * x_hat).reshape(-1, width), axis=0)
    dbeta = total(dy.reshape(-1, width), axis=0)
    return x_hat * gamma + beta, rstd * (dx_hat - mean - x_hat * along), dgamma, dbeta


def _centred(total: Callable[..., Array]) -> Callable[[Array], tuple[Array, Array]]:
    """Two-pass mean and variance with the given sum."""

    def statistics(x: Array) -> tuple[Array, Array]:
        width = x.dtype.type(x.shape[-1])
        centred = x - total(x, axis=-1)[..., None] / width
        return centred, total(centred * centred, axis=-1)[..., None] / width

    return statistics


def _running_sum(a: Array, axis: int) -> Array:
    """One accumulator, first to last."""
    return np.take(np.cumsum(a, axis=axis, dtype=a.dtype), -1, axis=axis)


def _welford(x: Array) -> tuple[Array, Array]:
    mean = np.zeros(x.shape[:-1], x.dtype)
    squares = np.zeros_like(mean)
    for i in range(x.shape[-1]):
        delta = x[..., i] - mean
        mean = mean + delta / x.dtype.type(i + 1)
        squares = squares + delta * (x[..., i] - mean)
    return x - mean[..., None], squares[..., None] / x.dtype.type(x.shape[-1])
