"""The language model: its weights, the loss of a batch of windows, and the gradients of all weights."""

from typing import Any

import numpy as np
from blocks import (
    Sizes,
    attention_backward,
    attention_forward,
    mlp_backward,
    mlp_forward,
    norm_backward,
    norm_forward,
    softmax,
)
from projection import Array, linear_backward, linear_forward, ternary

Weights = dict[str, Array]
Config = dict[str, Any]


def initial_weights(config: Config, rng: np.random.Generator, dtype: str = "float32") -> Weights:
    """Matrices of deviation 1/sqrt(in), positions a tenth of that, gains of one."""
    width = config["width"]
    shapes = {"embed": (config["vocab"], width), "position": (config["context"], width)}
    for i in range(config["layers"]):
        shapes |= {f"layer{i}.{name}": (width, width) for name in ("wq", "wk", "wv", "wo")}
        shapes |= {f"layer{i}.w_up": (4 * width, width), f"layer{i}.w_down": (width, 4 * width)}
    weights = {name: rng.normal(size=shape) * shape[1] ** -0.5 for name, shape in shapes.items()}
    weights["position"] *= 0.1
    for name in ("norm", *(f"layer{i}.norm{k}" for i in range(config["layers"]) for k in (1, 2))):
        weights[name] = np.ones(width)
    return {name: w.astype(dtype) for name, w in weights.items()}


def layer_of(weights: Weights, i: int) -> Weights:
    """The weights of layer i by their short names."""
    start = f"layer{i}."
    return {name.removeprefix(start): w for name, w in weights.items() if name.startswith(start)}


def forward(weights: Weights, windows: Array, config: Config) -> tuple[Array, Any]:
    """Logits (batch*T,vocab) after each byte of windows (batch,T), and what `backward` needs."""
    batch, length = windows.shape
    sizes = Sizes(batch, length, config["heads"], config["group_size"])
    embed = ternary(weights["embed"], sizes.group)
    x = (embed[windows] + weights["position"][:length]).reshape(batch * length, -1)
    caches = []
    for i in range(config["layers"]):
        layer = layer_of(weights, i)
        y, attention = attention_forward(x, layer, sizes)
        x = x + y
        y, mlp = mlp_forward(x, layer, sizes)
        x = x + y
        caches.append((attention, mlp))
    normed, norm = norm_forward(x, weights["norm"])
    logits, output = linear_forward(normed, weights["embed"], sizes.group)
    return logits, (caches, norm, output)


def backward(dlogits: Array, cache: Any, windows: Array, weights: Weights) -> Weights:
    """The gradients of all weights, straight through their projection."""
    caches, norm, output = cache
    gradients = {}
    dx, gradients["embed"] = linear_backward(dlogits, output)
    dx, gradients["norm"] = norm_backward(dx, norm)
    for i, (attention, mlp) in reversed(list(enumerate(caches))):
        own: Weights = {}
        dx = dx + mlp_backward(dx, mlp, own)
        dx = dx + attention_backward(dx, attention, own)
        gradients |= {f"layer{i}.{name}": gradient for name, gradient in own.items()}
    by_window = dx.reshape(*windows.shape, -1)
    gradients["position"] = np.zeros_like(weights["position"])
    gradients["position"][: windows.shape[1]] = by_window.sum(axis=0)
    np.add.at(gradients["embed"], windows, by_window)
    return gradients


def loss_and_gradients(weights: Weights, windows: Array, labels: Array, config: Config) -> tuple[float, Weights]:
    """Mean cross entropy of labels (batch,T) after windows (batch,T), nats a byte, and its gradients.

    A label of -1 is none.
    """
    logits, cache = forward(weights, windows, config)
    dlogits, flat = softmax(logits), labels.ravel()
    rows = np.flatnonzero(flat >= 0)
    places = rows, flat[rows]
    loss = -float(np.log(np.maximum(dlogits[places], 1e-30)).mean())
    dlogits[places] -= 1
    dlogits[flat < 0] = 0
    return loss, backward(dlogits / dlogits.dtype.type(len(rows)), cache, windows, weights)


def gradients(weights: Weights, tokens: Array, config: Config) -> Weights:
    """The gradients of all weights for the mean loss of windows tokens (batch,T+1), each without its padding (-1).

    Raises ValueError where windows are too short or too long, or no byte follows another.
    """
    if tokens.ndim != 2 or not 1 < tokens.shape[1] <= config["context"] + 1:
        raise ValueError(f"tokens must be (batch,T+1) with T from 1 to {config['context']}, not {tokens.shape}")
    by_padding = np.argsort(tokens < 0, axis=1, kind="stable")     # what is left out goes to the end
    packed = np.take_along_axis(tokens, by_padding, axis=1)
    if not (packed[:, 1] >= 0).any():
        raise ValueError("no byte follows another in any window")
    return loss_and_gradients(weights, np.maximum(packed[:, :-1], 0), packed[:, 1:], config)[1]


def loss_of(weights: Weights, windows: Array, labels: Array, config: Config) -> float:
    """Mean cross entropy alone."""
    logits, _ = forward(weights, windows, config)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -float(logs[np.arange(labels.size), labels.ravel()].mean())
