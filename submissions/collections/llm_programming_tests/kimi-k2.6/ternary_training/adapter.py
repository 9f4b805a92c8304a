"""Serves the ternary_training contract with the published Kimi K2.6 answer.

Its module `ternary_linear` is served, in MLX on the CPU: a layer that projects as that of its training from a checkpoint does, and
takes only widths that the group size divides; others are not offered. (The layer of its model from scratch fills rows
up with random weights, which the contract cannot name.) It defines the gradient of its projection, by `stop_gradient`;
that of the product with it is MLX's. Its trainings load a checkpoint or train another model: they are not offered.
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


def _layer(w: mx.array, group_size: int) -> Any:
    out, columns = w.shape
    if columns % group_size:
        raise NotImplementedError(f"the layer served refuses {columns} columns, no multiple of the group size, {group_size}")
    layer = original.TernaryLinear(columns, out, group_size)
    layer.weight = w
    return layer


def project(w: np.ndarray, group_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    used, scales = _layer(_mlx(w), group_size).get_ternary_weights()
    return np.sign(np.array(used)).astype(np.int8), np.array(scales)[..., 0]


def linear_forward(x: np.ndarray, w: np.ndarray, group_size: int) -> tuple[np.ndarray, tuple]:
    y = np.array(_layer(_mlx(w), group_size)(_mlx(x)))
    return y, (x.copy(), w.copy(), group_size)


def linear_backward(dy: np.ndarray, cache: tuple) -> tuple[np.ndarray, np.ndarray]:
    x, w, group_size = cache
    _, (dx, dw) = mx.vjp(lambda x, w: _layer(w, group_size)(x), [_mlx(x), _mlx(w)], [_mlx(dy)])
    return np.array(dx), np.array(dw)


def train(tokens: np.ndarray, config: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    raise NotImplementedError("the answer loads a checkpoint, or trains a Qwen3-like model on tokens of its own")
