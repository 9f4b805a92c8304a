"""Serves the ternary_training contract with the published GLM-5 answer.

Its module `ternary_linear` is served, in MLX on the CPU. The group size is a constant of it, 128, which is set for each
call. Its projection returns t * s in one array, from which t and s are read off. It defines the gradient of its
projection; that of the product with it is MLX's. Its training fine-tunes a checkpoint: it is not offered.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

try:
    import mlx.core as mx
except ImportError as missing:
    wanted = "the answer computes in MLX, whose CPU build is the extra `mlx`: pip install 'kernel-harness[mlx]'"
    raise ImportError(wanted) from missing

mx.set_default_device(mx.cpu)  # the only device of MLX that has float64

sys.path.insert(0, str(Path(__file__).resolve().parent))
import ternary_linear as original  # noqa: E402


def _mlx(values: np.ndarray) -> mx.array:
    # MLX takes no negative strides
    return mx.array(np.ascontiguousarray(values), dtype=mx.float64 if values.dtype == np.float64 else mx.float32)


def _layer(x: mx.array, w: mx.array) -> mx.array:
    layer = original.TernaryLinear(1, 1)  # small: its random weight is replaced
    layer.weight = w
    return layer(x)


def _read_off(used: np.ndarray, group_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs and scales of weights in ternary form: of a group, all entries that are not zero have one magnitude."""
    starts = np.arange(0, used.shape[-1], group_size)
    return np.sign(used).astype(np.int8), np.maximum.reduceat(np.abs(used), starts, axis=-1)


def project(w: np.ndarray, group_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    original.GROUP_SIZE = group_size
    return _read_off(np.array(original.ternary_projection(_mlx(w))), group_size)


def linear_forward(x: np.ndarray, w: np.ndarray, group_size: int) -> tuple[np.ndarray, tuple]:
    original.GROUP_SIZE = group_size
    y = np.array(_layer(_mlx(x), _mlx(w)))
    return y, (x.copy(), w.copy(), group_size)


def linear_backward(dy: np.ndarray, cache: tuple) -> tuple[np.ndarray, np.ndarray]:
    x, w, original.GROUP_SIZE = cache
    _, (dx, dw) = mx.vjp(_layer, [_mlx(x), _mlx(w)], [_mlx(dy)])
    return np.array(dx), np.array(dw)


def train(tokens: np.ndarray, config: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    raise NotImplementedError("the answer fine-tunes Qwen3-0.6B, a checkpoint that has to be loaded")
