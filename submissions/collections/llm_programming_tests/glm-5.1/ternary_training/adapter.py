"""Serves the ternary_training contract with the published GLM-5.1 answer.

Its module `ternary_model` is served, in MLX on the CPU: `project_ternary` and `TernaryLinear`. It takes only widths that
the group size divides: others are not offered. It defines the gradient of its projection, by `stop_gradient`; that of
the product with it is MLX's. Its training fine-tunes a checkpoint: it is not offered.
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
import ternary_model as original  # noqa: E402


def _mlx(values: np.ndarray) -> mx.array:
    # MLX takes no negative strides
    return mx.array(np.ascontiguousarray(values), dtype=mx.float64 if values.dtype == np.float64 else mx.float32)


def _layer(w: mx.array, group_size: int) -> Any:
    layer = original.TernaryLinear(1, 1, group_size)  # small: its random weight is replaced
    layer.weight = w
    return layer


def _require_whole_groups(w: np.ndarray, group_size: int) -> None:
    """The answer's layer asserts it; its projection fails at a reshape."""
    if w.shape[-1] % group_size:
        refused = f"the answer refuses {w.shape[-1]} columns, no multiple of the group size, {group_size}"
        raise NotImplementedError(refused)


def project(w: np.ndarray, group_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    _require_whole_groups(w, group_size)
    t, s = original.project_ternary(_mlx(w), group_size)
    return np.array(t).astype(np.int8), np.array(s)


def linear_forward(x: np.ndarray, w: np.ndarray, group_size: int) -> tuple[np.ndarray, tuple]:
    _require_whole_groups(w, group_size)
    y = np.array(_layer(_mlx(w), group_size)(_mlx(x)))
    return y, (x.copy(), w.copy(), group_size)


def linear_backward(dy: np.ndarray, cache: tuple) -> tuple[np.ndarray, np.ndarray]:
    x, w, group_size = cache
    _, (dx, dw) = mx.vjp(lambda x, w: _layer(w, group_size)(x), [_mlx(x), _mlx(w)], [_mlx(dy)])
    return np.array(dx), np.array(dw)


def train(tokens: np.ndarray, config: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    raise NotImplementedError("the answer fine-tunes Qwen3-0.6B, a checkpoint that has to be loaded")
