"""Serves the ternary_training contract with the published Claude Opus 4.7 answer.

`TernaryLinear` and its `ternarize` are served, in MLX on the CPU. `ternarize` returns t * s in one array, from which t
and s are read off. It takes only widths that the group size divides: others are not offered. It defines the gradient of
its projection, by `stop_gradient`; that of the product with it is MLX's. Its training fine-tunes a checkpoint: it is
not offered. `mlx_lm`, which only that needs, is replaced by an empty module.
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


for name in ("mlx_lm", "mlx_lm.generate"):  # the answer imports them for its training alone
    sys.modules[name] = types.ModuleType(name)
sys.modules["mlx_lm"].load = sys.modules["mlx_lm.generate"].generate = _checkpoint  # type: ignore[attr-defined]

sys.path.insert(0, str(Path(__file__).resolve().parent))
import ternary_train as original  # noqa: E402


def _mlx(values: np.ndarray) -> mx.array:
    # MLX takes no negative strides
    return mx.array(np.ascontiguousarray(values), dtype=mx.float64 if values.dtype == np.float64 else mx.float32)


def _layer(w: mx.array, group_size: int) -> Any:
    out, columns = w.shape
    if columns % group_size:
        raise NotImplementedError(f"the answer refuses {columns} columns, no multiple of the group size, {group_size}")
    layer = original.TernaryLinear(columns, out, group_size)
    layer.weight = w
    return layer


def _read_off(used: np.ndarray, group_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs and scales of weights in ternary form: of a group, all entries that are not zero have one magnitude."""
    starts = np.arange(0, used.shape[-1], group_size)
    return np.sign(used).astype(np.int8), np.maximum.reduceat(np.abs(used), starts, axis=-1)


def project(w: np.ndarray, group_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    layer = _layer(_mlx(w), group_size)
    return _read_off(np.array(layer.ternarize(layer.weight, group_size)), group_size)


def linear_forward(x: np.ndarray, w: np.ndarray, group_size: int) -> tuple[np.ndarray, tuple]:
    y = np.array(_layer(_mlx(w), group_size)(_mlx(x)))
    return y, (x.copy(), w.copy(), group_size)


def linear_backward(dy: np.ndarray, cache: tuple) -> tuple[np.ndarray, np.ndarray]:
    x, w, group_size = cache
    _, (dx, dw) = mx.vjp(lambda x, w: _layer(w, group_size)(x), [_mlx(x), _mlx(w)], [_mlx(dy)])
    return np.array(dx), np.array(dw)


def train(tokens: np.ndarray, config: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    raise NotImplementedError("the answer fine-tunes Qwen3-0.6B, a checkpoint that has to be loaded")
