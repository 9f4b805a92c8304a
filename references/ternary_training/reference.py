"""Ternary training in NumPy: the trusted solution of `ternary_training`.

Every matrix but `position` is used as t * s: t in {-1, 0, 1}, and s the mean of |w| over a group of a row.
The gradient passes straight through the projection: what is found for t * s is applied to the latent w.

The model, for windows of T bytes: x = embed + position; in each layer x += attention(norm(x)) and x += mlp(norm(x));
logits = norm(x) @ embed.T. RMSNorm has a gain, attention is causal and scaled by 1/sqrt(width/heads), the MLP is
w_down SiLU(w_up x).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Cache = tuple[Any, ...]
Weights = dict[str, Array]
Config = dict[str, Any]

EPS = 1e-6    # of RMSNorm
CLIP_NORM = 1.0    # of all gradients together
BETA_1, BETA_2, TINY = 0.9, 0.99, 1e-8    # Adam's
WARM_UP = 10    # steps
LAST_RATE = 0.1    # of the learning rate, reached in the last step


def project(w: Array, group_size: int = 32) -> tuple[NDArray[np.int8], Array]:
    """Ternary form of w (out,in): t int8 (out,in), and s (out, ceil(in/group_size)), the mean |w| of each group."""
    _require(w.ndim == 2 and w.size > 0, f"w has shape {w.shape}, expected (out,in)")
    _require(group_size >= 1, f"group_size is {group_size}, expected at least 1")
    starts = np.arange(0, w.shape[1], group_size)
    counts = np.diff(np.append(starts, w.shape[1]))
    s = np.add.reduceat(np.abs(w), starts, axis=1) / counts.astype(w.dtype)
    wide = np.repeat(s, counts, axis=1)
    ratio = np.divide(w, wide, out=np.zeros_like(w), where=wide > 0)
    t = np.clip(np.rint(ratio), -1, 1).astype(np.int8)
    return t, s


def linear_forward(x: Array, w: Array, group_size: int) -> tuple[Array, Cache]:
    """y (rows,out) = x (rows,in) times the ternary form of w (out,in), transposed; and what the backward needs."""
    _require(x.ndim == 2 and x.shape[1:] == w.shape[1:], f"x has shape {x.shape}, w {w.shape}")
    used = _ternary(w, group_size)
    y = x @ used.T
    return y, (x, used)


def linear_backward(dy: Array, cache: Cache) -> tuple[Array, Array]:
    """dx (rows,in) through the ternary form, and dw (out,in) straight through to the latent weights."""
    x, used = cache
    _require(dy.shape == (len(x), len(used)), f"dy has shape {dy.shape}, y had {(len(x), len(used))}")
    dx = dy @ used
    dw = dy.T @ x
    return dx, dw


def train(tokens: NDArray[np.int16], config: Config, seed: int) -> Weights:
    """Latent weights after `steps` steps on windows of the text, padding (-1) left out."""
    rng = np.random.default_rng(seed)
    text = tokens[tokens >= 0]
    weights = initial_weights(config, rng)
    first = {name: np.zeros_like(w) for name, w in weights.items()}
    second = {name: np.zeros_like(w) for name, w in weights.items()}
    for step in range(config["steps"]):
        inputs, labels = windows(text, config, rng)
        gradients = model_gradients(weights, inputs, labels, config)
        factor = clip_factor(gradients)
        rate = learning_rate(step, config)
        for name, gradient in gradients.items():
            g = gradient * factor
            first[name] += (1 - BETA_1) * (g - first[name])
            second[name] += (1 - BETA_2) * (g * g - second[name])
            mean = first[name] / (1 - BETA_1 ** (step + 1))
            square = second[name] / (1 - BETA_2 ** (step + 1))
            weights[name] -= rate * mean / (np.sqrt(square) + TINY)
    return weights


def initial_weights(config: Config, rng: np.random.Generator) -> Weights:
    """Normal matrices of deviation 1/sqrt(in), small positions, gains of one; float32."""
    width, hidden = config["width"], 4 * config["width"]
    shapes = {"embed": (config["vocab"], width)}
    for i in range(config["layers"]):
        shapes |= {f"layer{i}.{name}": (width, width) for name in ("wq", "wk", "wv", "wo")}
        shapes |= {f"layer{i}.w_up": (hidden, width), f"layer{i}.w_down": (width, hidden)}
    weights = {name: rng.standard_normal(shape) / np.sqrt(shape[1]) for name, shape in shapes.items()}
    weights["position"] = 0.1 / np.sqrt(width) * rng.standard_normal((config["context"], width))
    gains = [f"layer{i}.{name}" for i in range(config["layers"]) for name in ("norm1", "norm2")]
    weights |= {name: np.ones(width) for name in (*gains, "norm")}
    return {name: w.astype(np.float32) for name, w in weights.items()}


def windows(
    text: NDArray[np.int16], config: Config, rng: np.random.Generator
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Inputs and labels (batch,T): each label is the byte after its input."""
    length = min(config["context"], len(text) - 1)
    starts = rng.integers(0, len(text) - length, config["batch"])
    places = starts[:, None] + np.arange(length)
    return text[places], text[places + 1]


def learning_rate(step: int, config: Config) -> float:
    """Rises over the first steps, then falls on a straight line."""
    rise = min(1.0, (step + 1) / WARM_UP)
    fall = 1.0 - (1.0 - LAST_RATE) * step / config["steps"]
    return config["learning_rate"] * rise * fall


def clip_factor(gradients: Weights) -> float:
    """What brings the norm of all gradients together down to CLIP_NORM."""
    norm = np.sqrt(sum(float(np.vdot(g, g)) for g in gradients.values()))
    return min(1.0, CLIP_NORM / (norm + TINY))


def gradients(weights: Weights, tokens: NDArray[np.int16], config: Config) -> Weights:
    """Gradients by name of the mean cross entropy of windows (batch,T+1), each without its padding (-1)."""
    _require(tokens.ndim == 2, f"tokens has shape {tokens.shape}, expected (batch,T+1)")
    _require(1 < tokens.shape[1] <= config["context"] + 1, f"windows of {tokens.shape[1]} bytes")
    order = np.argsort(tokens < 0, axis=1, kind="stable")    # padding last
    rows = np.take_along_axis(tokens, order, axis=1)
    inputs, labels = np.maximum(rows[:, :-1], 0), rows[:, 1:]
    _require(bool((labels >= 0).any()), "no window holds two bytes")
    return model_gradients(weights, inputs, labels, config)


def model_gradients(
    weights: Weights, inputs: NDArray[np.int16], labels: NDArray[np.int16], config: Config
) -> Weights:
    """Gradients of the mean cross entropy over all labels that are bytes."""
    logits, caches = model_forward(weights, inputs, config)
    probs = softmax(logits)
    dlogits = probs
    dlogits[np.arange(labels.size), labels.ravel()] -= 1.0
    real = labels.ravel() >= 0
    dlogits[~real] = 0.0
    dlogits /= int(real.sum())
    return model_backward(dlogits, caches, inputs, weights, config)


def model_forward(weights: Weights, inputs: NDArray[np.int16], config: Config) -> tuple[Array, list[Any]]:
    """Logits (batch*T,vocab) and the caches of all steps, in order."""
    size, width = config["group_size"], config["width"]
    batch, length = inputs.shape
    used = _ternary(weights["embed"], size)
    x = used[inputs] + weights["position"][:length]
    x = x.reshape(-1, width)
    caches = []
    for i in range(config["layers"]):
        added, cache = attention_forward(x, weights, f"layer{i}.", (batch, length), config)
        x = x + added
        added, other = mlp_forward(x, weights, f"layer{i}.", size)
        x = x + added
        caches.append((cache, other))
    y, last = norm_forward(x, weights["norm"])
    logits, out = linear_forward(y, weights["embed"], size)
    return logits, [caches, last, out]


def model_backward(
    dlogits: Array, caches: list[Any], inputs: NDArray[np.int16], weights: Weights, config: Config
) -> Weights:
    """Gradients by name, for the gradient of the logits."""
    layers, last, out = caches
    gradients: Weights = {}
    dy, gradients["embed"] = linear_backward(dlogits, out)
    dx, gradients["norm"] = norm_backward(dy, last)
    for i in reversed(range(config["layers"])):
        cache, other = layers[i]
        dx = dx + mlp_backward(dx, other, gradients, f"layer{i}.")
        dx = dx + attention_backward(dx, cache, gradients, f"layer{i}.")
    dx = dx.reshape(*inputs.shape, -1)
    gradients["position"] = np.zeros_like(weights["position"])
    gradients["position"][: inputs.shape[1]] = dx.sum(axis=0)
    np.add.at(gradients["embed"], inputs, dx)
    return gradients


def attention_forward(
    x: Array, weights: Weights, layer: str, shape: tuple[int, int], config: Config
) -> tuple[Array, Cache]:
    """Causal attention of the normed rows x (batch*T,width)."""
    size, heads = config["group_size"], config["heads"]
    normed, norm = norm_forward(x, weights[layer + "norm1"])
    parts = [linear_forward(normed, weights[layer + name], size) for name in ("wq", "wk", "wv")]
    q, k, v = (by_head(part, shape, heads) for part, _ in parts)
    scale = 1.0 / np.sqrt(q.shape[-1]).astype(x.dtype)
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    scores = np.where(np.tri(shape[1], dtype=bool), scores, -np.inf)
    probs = softmax(scores)
    mixed = joined(probs @ v)
    y, out = linear_forward(mixed, weights[layer + "wo"], size)
    return y, (norm, [cache for _, cache in parts], (q, k, v, probs, scale), out)


def attention_backward(dy: Array, cache: Cache, gradients: Weights, layer: str) -> Array:
    """dx (batch*T,width); the gradients of the layer's weights are added to `gradients`."""
    norm, parts, (q, k, v, probs, scale), out = cache
    dmixed, gradients[layer + "wo"] = linear_backward(dy, out)
    dmixed = by_head(dmixed, (q.shape[0], q.shape[2]), q.shape[1])
    dv = probs.transpose(0, 1, 3, 2) @ dmixed
    dprobs = dmixed @ v.transpose(0, 1, 3, 2)
    dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))
    dq = dscores @ k * scale
    dk = dscores.transpose(0, 1, 3, 2) @ q * scale
    dnormed = np.zeros_like(dy)
    for name, d, part in zip(("wq", "wk", "wv"), (dq, dk, dv), parts, strict=True):
        dpart, gradients[layer + name] = linear_backward(joined(d), part)
        dnormed += dpart
    dx, gradients[layer + "norm1"] = norm_backward(dnormed, norm)
    return dx


def mlp_forward(x: Array, weights: Weights, layer: str, size: int) -> tuple[Array, Cache]:
    """w_down SiLU(w_up norm(x)) for rows x (rows,width)."""
    normed, norm = norm_forward(x, weights[layer + "norm2"])
    up, first = linear_forward(normed, weights[layer + "w_up"], size)
    gate = 1.0 / (1.0 + np.exp(-up))
    y, second = linear_forward(up * gate, weights[layer + "w_down"], size)
    return y, (norm, first, (up, gate), second)


def mlp_backward(dy: Array, cache: Cache, gradients: Weights, layer: str) -> Array:
    """dx (rows,width); the gradients of the layer's weights are added to `gradients`."""
    norm, first, (up, gate), second = cache
    dhidden, gradients[layer + "w_down"] = linear_backward(dy, second)
    dup = dhidden * gate * (1.0 + up * (1.0 - gate))
    dnormed, gradients[layer + "w_up"] = linear_backward(dup, first)
    dx, gradients[layer + "norm2"] = norm_backward(dnormed, norm)
    return dx


def norm_forward(x: Array, gain: Array) -> tuple[Array, Cache]:
    """RMSNorm of rows x (rows,width)."""
    scale = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(EPS))
    xhat = x * scale
    return gain * xhat, (xhat, scale, gain)


def norm_backward(dy: Array, cache: Cache) -> tuple[Array, Array]:
    """dx (rows,width) and dgain (width,)."""
    xhat, scale, gain = cache
    dxhat = dy * gain
    dx = scale * (dxhat - xhat * np.mean(dxhat * xhat, axis=-1, keepdims=True))
    return dx, (dy * xhat).sum(axis=0)


def softmax(scores: Array) -> Array:
    """Over the last axis."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def by_head(x: Array, shape: tuple[int, int], heads: int) -> Array:
    """(batch*T,width) as (batch,heads,T,width/heads)."""
    return x.reshape(*shape, heads, -1).transpose(0, 2, 1, 3)


def joined(x: Array) -> Array:
    """(batch,heads,T,width/heads) as (batch*T,width)."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0] * x.shape[2], -1)


def _ternary(w: Array, group_size: int) -> Array:
    """t * s (out,in), in the dtype of w."""
    t, s = project(w, group_size)
    counts = np.diff(np.append(np.arange(0, w.shape[1], group_size), w.shape[1]))
    return t * np.repeat(s, counts, axis=1)


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
