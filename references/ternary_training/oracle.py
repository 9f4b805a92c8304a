"""Oracle of ternary training: projection and linear layer in long double, a trained model's predictions in float64.

`scales` and `ratios` take w (out,in). The model's forward pass is written apart from the reference's: by windows, in
float64, with the projection of this module, so that an answer is judged by neither its own code nor the reference's.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LongArray = NDArray[np.longdouble]
AnyArray = NDArray[Any]
Doubles = NDArray[np.float64]

EPS = 1e-6


def scales(w: AnyArray, group_size: int) -> LongArray:
    """Mean |w| of each group (out, ceil(in/group_size)); the last group may be short."""
    sizes = np.abs(np.asarray(w, np.longdouble))
    groups = [sizes[:, first : first + group_size] for first in range(0, w.shape[1], group_size)]
    return np.stack([group.sum(axis=1) / group.shape[1] for group in groups], axis=1)


def spread(s: AnyArray, columns: int, group_size: int) -> AnyArray:
    """Scales (out,groups) as the scale of each entry (out,columns)."""
    return s[:, np.arange(columns) // group_size]


def ratios(w: AnyArray, group_size: int) -> LongArray:
    """|w| / s for each entry (out,in), 0 where s is."""
    wide = spread(scales(w, group_size), w.shape[1], group_size)
    return np.divide(np.abs(w), wide, out=np.zeros(w.shape, np.longdouble), where=wide > 0)


def project(w: AnyArray, group_size: int) -> tuple[NDArray[np.int8], LongArray]:
    """t (out,in) and s (out, ceil(in/group_size))."""
    t = np.where(ratios(w, group_size) > 0.5, np.sign(np.asarray(w, np.longdouble)), 0)
    return t.astype(np.int8), scales(w, group_size)


def ternary(w: AnyArray, group_size: int) -> LongArray:
    """t * s (out,in)."""
    t, s = project(w, group_size)
    return t * spread(s, w.shape[1], group_size)


def linear(x: AnyArray, w: AnyArray, group_size: int) -> LongArray:
    """y (rows,out)."""
    return np.asarray(x, np.longdouble) @ ternary(w, group_size).T


def linear_gradients(dy: AnyArray, x: AnyArray, w: AnyArray, group_size: int) -> tuple[LongArray, LongArray]:
    """dx (rows,in) and dw (out,in) of sum(dy * y), straight through the projection."""
    upstream = np.asarray(dy, np.longdouble)
    return upstream @ ternary(w, group_size), upstream.T @ np.asarray(x, np.longdouble)


def log_probabilities(weights: Mapping[str, AnyArray], windows: AnyArray, config: Mapping[str, Any]) -> Doubles:
    """Natural logarithms (windows,T,vocab) of what the model expects after each of the bytes `windows` (windows,T)."""
    used = {name: _as_used(name, w, config["group_size"]) for name, w in weights.items()}
    x = used["embed"][windows] + used["position"][: windows.shape[1]]
    for i in range(config["layers"]):
        layer = {name.partition(".")[2]: w for name, w in used.items() if name.startswith(f"layer{i}.")}
        x = x + _attention(_normed(x, layer["norm1"]), layer, config["heads"])
        up = _normed(x, layer["norm2"]) @ layer["w_up"].T
        x = x + (up / (1 + np.exp(-up))) @ layer["w_down"].T
    logits = _normed(x, used["norm"]) @ used["embed"].T
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def _as_used(name: str, w: AnyArray, group_size: int) -> Doubles:
    """A weight as the model uses it: matrices but `position` in ternary form."""
    if w.ndim == 1 or name == "position":
        return w.astype(np.float64)
    wide = w.astype(np.float64)
    starts = np.arange(0, w.shape[1], group_size)
    s = np.add.reduceat(np.abs(wide), starts, axis=1) / np.diff(np.append(starts, w.shape[1]))
    entries = spread(s, w.shape[1], group_size)
    return np.sign(wide) * entries * (np.abs(wide) > 0.5 * entries)


def _normed(x: Doubles, gain: Doubles) -> Doubles:
    return gain * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS)


def _attention(x: Doubles, layer: Mapping[str, Doubles], heads: int) -> Doubles:
    """Causal attention of x (windows,T,width)."""
    length, size = x.shape[1], x.shape[2] // heads
    q, k, v = (x @ layer[name].T for name in ("wq", "wk", "wv"))
    mixed = np.empty_like(x)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = q[..., part] @ k[..., part].transpose(0, 2, 1) / np.sqrt(size)
        scores[:, ~np.tri(length, dtype=bool)] = -np.inf
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed[..., part] = shares / shares.sum(axis=-1, keepdims=True) @ v[..., part]
    mixed_out: Doubles = mixed @ layer["wo"].T
    return mixed_out
