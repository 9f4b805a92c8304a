"""Serves the ternary_training contract with the published Qwen3.6-27B answer.

`TernaryLinear` and `ternarize` are served, in MLX on the CPU. `ternarize` returns t * s in one array, from which t and s
are read off, and turns whatever it is given into float32: float64 is not offered. It defines the gradient of its
projection, by `stop_gradient`; that of the product with it is MLX's. Its training fine-tunes a checkpoint: it is not
offered. `mlx_lm`, which only that needs, is replaced by an empty module.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

try:
    import mlx.core as mx
except ImportError as missing:
    wanted = "the answer computes in MLX, whose CPU build is the extra `mlx`: pip install 'kernel-harness[mlx]'"
    raise ImportError(wanted) from missing

mx.set_default_device(mx.cpu)  # the only device of MLX that has float64


def _checkpoint(*arguments: object, **named: object) -> None:
    raise NotImplementedError("the checkpoint and its tokenizer are not loaded here")


sys.modules["mlx_lm"] = types.ModuleType("mlx_lm")  # the answer imports it for its training alone
sys.modules["mlx_lm"].load = _checkpoint  # type: ignore[attr-defined]

sys.path.insert(0, str(Path(__file__).resolve().parent))
import train_ternary as original  # noqa: E402


def _mlx(values: np.ndarray) -> mx.array:
    if values.dtype != np.float32:
        raise NotImplementedError("the answer turns all weights into float32")
    return mx.array(np.ascontiguousarray(values))  # MLX takes no negative strides


def _layer(w: mx.array, group_size: int) -> Any:
    layer = original.TernaryLinear(1, 1, group_size=group_size)  # small: its random weight is replaced
    layer.weight = w
    return layer


def _read_off(used: np.ndarray, group_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs and scales of weights in ternary form: of a group, all entries that are not zero have one magnitude."""
    starts = np.arange(0, used.shape[-1], group_size)
    return np.sign(used).astype(np.int8), np.maximum.reduceat(np.abs(used), starts, axis=-1)


def project(w: np.ndarray, group_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    return _read_off(np.array(original.ternarize(_mlx(w), group_size)), group_size)


def linear_forward(x: np.ndarray, w: np.ndarray, group_size: int) -> tuple[np.ndarray, tuple]:
    y = np.array(_layer(_mlx(w), group_size)(_mlx(x)))
    return y, (x.copy(), w.copy(), group_size)


def linear_backward(dy: np.ndarray, cache: tuple) -> tuple[np.ndarray, np.ndarray]:
    x, w, group_size = cache
    _, (dx, dw) = mx.vjp(lambda x, w: _layer(w, group_size)(x), [_mlx(x), _mlx(w)], [_mlx(dy)])
    return np.array(dx), np.array(dw)


def train(tokens: np.ndarray, config: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    raise NotImplementedError("the answer fine-tunes Qwen3-0.6B, a checkpoint that has to be loaded")
