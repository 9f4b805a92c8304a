"""Oracle of the model's loss and its gradients, in long double, window by window.

`used` holds the weights as the model uses them: matrices but `position` as t * s. Gradients are those of what is used;
straight through the projection they are those of the latent weights.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .oracle import EPS, AnyArray, LongArray, project, scales, spread

Used = dict[str, LongArray]
Norm = tuple[LongArray, LongArray]
Layer = tuple[Norm, list[LongArray], list[LongArray], Norm, LongArray]


def signs_of(weights: Mapping[str, AnyArray], group_size: int) -> dict[str, AnyArray]:
    """Return t of every matrix that is used in ternary form, by name."""
    return {name: project(w, group_size)[0] for name, w in weights.items() if w.ndim == 2 and name != "position"}


def used_weights(weights: Mapping[str, AnyArray], signs: Mapping[str, AnyArray], group_size: int) -> Used:
    """Return what the model uses: the given t times s, and what is not projected as it is."""
    wide = {name: np.asarray(w, np.longdouble) for name, w in weights.items()}
    ternary = {name: t * spread(scales(wide[name], group_size), t.shape[1], group_size) for name, t in signs.items()}
    return wide | ternary


def loss(used: Used, tokens: AnyArray, config: Mapping[str, Any]) -> np.longdouble:
    """Return the mean cross entropy of windows (batch,T+1) in nats a byte, each window without its padding."""
    total, count = np.longdouble(0), 0
    for text in _texts(tokens):
        logits = _forward(used, text[:-1], config)[0]
        labels = logits[np.arange(len(logits)), text[1:]]
        total += (np.log(np.exp(logits).sum(axis=1)) - labels).sum()
        count += len(logits)
    return total / count


def gradients(used: Used, tokens: AnyArray, config: Mapping[str, Any]) -> Used:
    """Return the gradients of `loss` for every weight that is used."""
    found = {name: np.zeros(w.shape, np.longdouble) for name, w in used.items()}
    texts = _texts(tokens)
    count = sum(len(text) - 1 for text in texts)
    for text in texts:
        _add_window(found, used, text, config, count)
    return found


def _texts(tokens: AnyArray) -> list[AnyArray]:
    """Return the windows without their padding, those of which a byte is left to predict."""
    texts = [row[row >= 0].astype(np.int64) for row in tokens]
    return [text for text in texts if len(text) > 1]


def _forward(
    used: Used, inputs: AnyArray, config: Mapping[str, Any]
) -> tuple[LongArray, LongArray, list[Layer], Norm]:
    """Return logits (T,vocab), the normed rows they come from, what each layer keeps, and the last norm."""
    x, layers = used["embed"][inputs] + used["position"][: len(inputs)], list[Layer]()
    for i in range(config["layers"]):
        own = _own(used, i)
        normed, norm1 = _norm(x, own["norm1"])
        parts = [normed @ own[name].T for name in ("wq", "wk", "wv")]
        shares = [_shares(q, k) for q, k in zip(*(_heads(part, config) for part in parts[:2]), strict=True)]
        mixed = np.hstack([p @ v for p, v in zip(shares, _heads(parts[2], config), strict=True)])
        x = x + mixed @ own["wo"].T
        hidden, norm2 = _norm(x, own["norm2"])
        up = hidden @ own["w_up"].T
        x = x + up / (1 + np.exp(-up)) @ own["w_down"].T
        layers.append((norm1, [normed, *parts, mixed, hidden], shares, norm2, up))
    y, last = _norm(x, used["norm"])
    return y @ used["embed"].T, y, layers, last


def _add_window(found: Used, used: Used, text: AnyArray, config: Mapping[str, Any], count: int) -> None:
    """Add the gradients of one window's share of the loss, of which `count` bytes are the mean."""
    inputs, labels = text[:-1], text[1:]
    logits, y, layers, last = _forward(used, inputs, config)
    chances = np.exp(logits)
    dlogits = (chances / chances.sum(axis=1, keepdims=True) - np.eye(logits.shape[1])[labels]) / count
    found["embed"] += dlogits.T @ y
    dx = _norm_back(dlogits @ used["embed"], last, used["norm"], found["norm"])
    for i in reversed(range(config["layers"])):
        dx = _layer_back(dx, layers[i], _own(used, i), _own(found, i), config)
    found["position"][: len(inputs)] += dx
    for row, byte in zip(dx, inputs, strict=True):
        found["embed"][byte] += row


def _layer_back(dx: LongArray, kept: Layer, own: Used, found: Used, config: Mapping[str, Any]) -> LongArray:
    """Return the gradient of a layer's input; add those of its weights to `found`."""
    norm1, (normed, q, k, v, mixed, hidden), shares, norm2, up = kept
    gate = 1 / (1 + np.exp(-up))
    found["w_down"] += dx.T @ (up * gate)
    dup = dx @ own["w_down"] * (gate + up * gate * (1 - gate))
    found["w_up"] += dup.T @ hidden
    dx = dx + _norm_back(dup @ own["w_up"], norm2, own["norm2"], found["norm2"])
    found["wo"] += dx.T @ mixed
    parts = [_heads(part, config) for part in (q, k, v, dx @ own["wo"])]
    back = [_attention_back(*head) for head in zip(shares, *parts, strict=True)]
    dnormed = np.zeros_like(dx)
    for name, heads in zip(("wq", "wk", "wv"), zip(*back, strict=True), strict=True):
        d = np.hstack(heads)
        found[name] += d.T @ normed
        dnormed += d @ own[name]
    return dx + _norm_back(dnormed, norm1, own["norm1"], found["norm1"])


def _shares(q: LongArray, k: LongArray) -> LongArray:
    """Return how much of each position (T,T) a head takes at each, none of a later one."""
    scores = np.where(np.tri(len(q), dtype=bool), q @ k.T / np.sqrt(np.longdouble(q.shape[1])), -np.inf)
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _attention_back(
    p: LongArray, q: LongArray, k: LongArray, v: LongArray, d: LongArray
) -> tuple[LongArray, LongArray, LongArray]:
    """Return dq, dk and dv of a head whose output p @ v has the gradient d."""
    dp = d @ v.T
    ds = p * (dp - (p * dp).sum(axis=1, keepdims=True)) / np.sqrt(np.longdouble(q.shape[1]))
    return ds @ k, ds.T @ q, p.T @ d


def _heads(x: LongArray, config: Mapping[str, Any]) -> list[LongArray]:
    return np.split(x, config["heads"], axis=1)


def _norm(x: LongArray, gain: LongArray) -> tuple[LongArray, Norm]:
    size = np.sqrt((x * x).mean(axis=1, keepdims=True) + EPS)
    return gain * x / size, (x, size)


def _norm_back(dy: LongArray, kept: Norm, gain: LongArray, dgain: LongArray) -> LongArray:
    """Return dx; add the gradient of the gain to `dgain`."""
    x, size = kept
    dgain += (dy * x / size).sum(axis=0)
    g = dy * gain
    return np.asarray(g / size - x * (g * x).mean(axis=1, keepdims=True) / size**3)


def _own(weights: Used, i: int) -> Used:
    """Return the weights of a layer by their short names: the arrays themselves."""
    start = f"layer{i}."
    return {name.removeprefix(start): w for name, w in weights.items() if name.startswith(start)}
