"""The parts of the model, forwards and backwards, each with the cache that its backward needs.

Rows are (batch*T,width). Backwards return the gradient of their input and put those of weights into a dict, by name.
"""

from typing import Any, NamedTuple

import numpy as np
from projection import Array, linear_backward, linear_forward

EPS = 1e-6


class Sizes(NamedTuple):
    """What the shape of an array does not say: windows and bytes of a batch, heads, and the size of a group."""

    batch: int
    length: int
    heads: int
    group: int


def norm_forward(x: Array, gain: Array) -> tuple[Array, Any]:
    """RMSNorm: gain * x / sqrt(mean(x^2) + 1e-6), row by row."""
    inverse = 1 / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + x.dtype.type(EPS))
    return gain * (x * inverse), (x * inverse, inverse, gain)


def norm_backward(dy: Array, cache: Any) -> tuple[Array, Array]:
    """dx and dgain: dx = inverse * (g - xhat * mean(g * xhat)), with g = dy * gain."""
    xhat, inverse, gain = cache
    g = dy * gain
    return inverse * (g - xhat * (g * xhat).mean(axis=-1, keepdims=True)), (dy * xhat).sum(axis=0)


def softmax(scores: Array) -> Array:
    """Over the last axis; the largest score is taken off first."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def split(rows: Array, sizes: Sizes) -> Array:
    """Rows as (batch,heads,T,width/heads)."""
    return rows.reshape(sizes.batch, sizes.length, sizes.heads, -1).swapaxes(1, 2)


def join(heads: Array) -> Array:
    """What `split` took apart, as rows."""
    batch, count, length, size = heads.shape
    return heads.swapaxes(1, 2).reshape(batch * length, count * size)


def attention_forward(x: Array, layer: dict[str, Array], sizes: Sizes) -> tuple[Array, Any]:
    """Causal attention over the normed rows."""
    normed, norm = norm_forward(x, layer["norm1"])
    parts = {name: linear_forward(normed, layer[name], sizes.group) for name in ("wq", "wk", "wv")}
    q, k, v = (split(y, sizes) for y, _ in parts.values())
    scale = x.dtype.type(q.shape[-1] ** -0.5)
    future = np.triu(np.full((sizes.length, sizes.length), -np.inf, x.dtype), 1)
    shares = softmax(q @ k.swapaxes(2, 3) * scale + future)
    y, out = linear_forward(join(shares @ v), layer["wo"], sizes.group)
    return y, (norm, {name: cache for name, (_, cache) in parts.items()}, (q, k, v, shares, scale), out, sizes)


def attention_backward(dy: Array, cache: Any, gradients: dict[str, Array]) -> Array:
    """The gradient of the rows; those of wq, wk, wv, wo and norm1 go into `gradients`."""
    norm, parts, (q, k, v, shares, scale), out, sizes = cache
    drows, gradients["wo"] = linear_backward(dy, out)
    dmixed = split(drows, sizes)
    dshares = dmixed @ v.swapaxes(2, 3)
    dscores = shares * (dshares - (dshares * shares).sum(axis=-1, keepdims=True)) * scale
    upstream = {"wq": dscores @ k, "wk": dscores.swapaxes(2, 3) @ q, "wv": shares.swapaxes(2, 3) @ dmixed}
    dnormed = np.zeros_like(dy)
    for name, d in upstream.items():
        dx, gradients[name] = linear_backward(join(d), parts[name])
        dnormed += dx
    drows, gradients["norm1"] = norm_backward(dnormed, norm)
    return drows


def mlp_forward(x: Array, layer: dict[str, Array], sizes: Sizes) -> tuple[Array, Any]:
    """w_down SiLU(w_up norm(x))."""
    normed, norm = norm_forward(x, layer["norm2"])
    up, first = linear_forward(normed, layer["w_up"], sizes.group)
    gate = 0.5 * (1 + np.tanh(0.5 * up))     # the logistic function, without an overflow
    y, second = linear_forward(up * gate, layer["w_down"], sizes.group)
    return y, (norm, first, up, gate, second)


def mlp_backward(dy: Array, cache: Any, gradients: dict[str, Array]) -> Array:
    """The gradient of the rows; those of w_up, w_down and norm2 go into `gradients`."""
    norm, first, up, gate, second = cache
    dhidden, gradients["w_down"] = linear_backward(dy, second)
    dnormed, gradients["w_up"] = linear_backward(dhidden * gate * (1 + up * (1 - gate)), first)
    drows, gradients["norm2"] = norm_backward(dnormed, norm)
    return drows
