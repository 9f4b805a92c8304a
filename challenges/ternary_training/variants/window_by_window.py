"""Ternary training that takes every window by itself, and every head: softmax and norm by their whole Jacobians.

What a window leaves is added up over windows, and what comes to the embedding byte by byte.
"""

import numpy as np


def project(w, group_size=32):
    """t int8 (out,in) and s (out,groups), group by group."""
    if w.ndim != 2:
        raise ValueError(f"w is no matrix: {w.shape}")
    if group_size < 1:
        raise ValueError(f"groups of {group_size}")
    parts = [w[:, first : first + group_size] for first in range(0, w.shape[1], group_size)]
    s = np.stack([np.abs(part).mean(axis=1) for part in parts], axis=1)
    t = [np.where(np.abs(part) > m[:, None] / 2, np.sign(part), 0) for part, m in zip(parts, s.T, strict=True)]
    return np.hstack(t).astype(np.int8), s


def used_of(w, group_size):
    """t * s, group by group."""
    t, s = project(w, group_size)
    out = t.astype(w.dtype)
    for g in range(s.shape[1]):
        out[:, g * group_size : (g + 1) * group_size] *= s[:, g : g + 1]
    return out


def linear_forward(x, w, group_size):
    """y (rows,out)."""
    used = used_of(w, group_size)
    if x.shape != (len(x), w.shape[1]):
        raise ValueError(f"x of shape {x.shape}, w of {w.shape}")
    return (used @ x.T).T.copy(), {"x": x.copy(), "used": used}


def linear_backward(dy, cache):
    """dx (rows,in), dw (out,in)."""
    if dy.shape != (len(cache["x"]), len(cache["used"])):
        raise ValueError(f"dy of shape {dy.shape}")
    return dy @ cache["used"], (cache["x"].T @ dy).T.copy()


def gradients(weights, tokens, config):
    """The gradients of all weights for windows (batch,T+1)."""
    if tokens.ndim != 2 or not 1 <= tokens.shape[1] - 1 <= config["context"]:
        raise ValueError(f"tokens of shape {tokens.shape}")
    texts = [row[row >= 0].tolist() for row in tokens]
    texts = [text for text in texts if len(text) > 1]
    if not texts:
        raise ValueError("no window has two bytes")
    return of_texts(weights, texts, config)


def of_texts(weights, texts, config):
    """Return the gradients of the mean loss over all bytes that follow another."""
    used = {}
    for name, w in weights.items():
        used[name] = w if w.ndim == 1 or name == "position" else used_of(w, config["group_size"])
    found = {name: np.zeros_like(w) for name, w in weights.items()}
    count = sum(len(text) - 1 for text in texts)
    for text in texts:
        add_window(found, used, text, count, config)
    return found


def add_window(found, used, text, count, config):
    """Add one window's part of all gradients."""
    inputs, labels, tapes = text[:-1], text[1:], []
    x = np.array([used["embed"][byte] + used["position"][t] for t, byte in enumerate(inputs)])
    for i in range(config["layers"]):
        layer = f"layer{i}."
        tape = {"x": x, "n1": normed(x) * used[layer + "norm1"]}
        tape["heads"] = [head(tape["n1"], used, layer, rows) for rows in slices(config)]
        tape["mixed"] = np.hstack([h["shares"] @ h["v"] for h in tape["heads"]])
        x = tape["mid"] = x + tape["mixed"] @ used[layer + "wo"].T
        tape["n2"] = normed(x) * used[layer + "norm2"]
        tape["up"] = tape["n2"] @ used[layer + "w_up"].T
        x = x + silu(tape["up"]) @ used[layer + "w_down"].T
        tapes.append(tape)
    y = normed(x) * used["norm"]
    d = softmax(y @ used["embed"].T)
    d[range(len(labels)), labels] -= 1
    d = d / d.dtype.type(count)
    found["embed"] += d.T @ y
    dx = through_norm(d @ used["embed"], x, used, found, "norm")
    for i in reversed(range(config["layers"])):
        dx = layer_back(dx, tapes[i], used, found, f"layer{i}.", config)
    for t, byte in enumerate(inputs):
        found["embed"][byte] += dx[t]
        found["position"][t] += dx[t]


def layer_back(dx, tape, used, found, layer, config):
    """The gradient of a layer's input."""
    found[layer + "w_down"] += dx.T @ silu(tape["up"])
    up = tape["up"]
    gate = 1 / (1 + np.exp(-up))
    dup = (dx @ used[layer + "w_down"]) * (silu(up) + gate * (1 - silu(up)))
    found[layer + "w_up"] += dup.T @ tape["n2"]
    dx = dx + through_norm(dup @ used[layer + "w_up"], tape["mid"], used, found, layer + "norm2")
    found[layer + "wo"] += dx.T @ tape["mixed"]
    dmixed, dnormed = dx @ used[layer + "wo"], np.zeros_like(dx)
    for rows, h in zip(slices(config), tape["heads"], strict=True):
        d, p = dmixed[:, rows], h["shares"]
        jacobians = p[:, :, None] * np.eye(len(p), dtype=p.dtype) - p[:, :, None] * p[:, None, :]
        ds = (jacobians @ (d @ h["v"].T)[:, :, None])[:, :, 0] * h["scale"]
        for name, back in (("wq", ds @ h["k"]), ("wk", ds.T @ h["q"]), ("wv", p.T @ d)):
            found[layer + name][rows] += back.T @ tape["n1"]
            dnormed += back @ used[layer + name][rows]
    return dx + through_norm(dnormed, tape["x"], used, found, layer + "norm1")


def head(x, used, layer, rows):
    """Return the queries, keys, values and attention weights of one head."""
    q, k, v = (x @ used[layer + name][rows].T for name in ("wq", "wk", "wv"))
    scale = x.dtype.type(q.shape[1] ** -0.5)
    scores = q @ k.T * scale
    scores[np.triu_indices(len(x), 1)] = -np.inf
    return {"q": q, "k": k, "v": v, "shares": softmax(scores), "scale": scale}


def slices(config):
    """The features of each head."""
    size = config["width"] // config["heads"]
    return [slice(h * size, (h + 1) * size) for h in range(config["heads"])]


def inverse_size(x):
    """1 over the size of each row."""
    return 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + x.dtype.type(1e-6))


def normed(x):
    """Rows of size 1."""
    return x * inverse_size(x)


def through_norm(dy, x, used, found, name):
    """dx by the Jacobian of every row; the gain's gradient is added."""
    found[name] += (dy * normed(x)).sum(axis=0)
    r, width = inverse_size(x)[:, :, None], x.dtype.type(x.shape[1])
    jacobians = r * (np.eye(x.shape[1], dtype=x.dtype) - r * r * x[:, :, None] * x[:, None, :] / width)
    return (jacobians @ (dy * used[name])[:, :, None])[:, :, 0]


def silu(z):
    """z times the logistic function of it."""
    return z / (1 + np.exp(-z))


def softmax(scores):
    """Over rows."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def train(tokens, config, seed):
    """Latent weights after Adam with a cosine schedule."""
    rng, text = np.random.default_rng(seed), tokens[tokens >= 0].tolist()
    weights = first_weights(config, rng)
    mean, square = ({name: np.zeros_like(w) for name, w in weights.items()} for _ in range(2))
    length = min(config["context"], len(text) - 1)
    with np.errstate(over="ignore"):  # exp of a large -z: the gate is 0
        for step in range(config["steps"]):
            starts = rng.integers(0, len(text) - length, config["batch"])
            found = of_texts(weights, [text[s : s + length + 1] for s in starts], config)
            size = np.sqrt(sum(float(np.vdot(g, g)) for g in found.values()))
            turn = (1 + np.cos(np.pi * step / config["steps"])) / 2
            rate = config["learning_rate"] * min(1, (step + 1) / 10) * (0.05 + 0.95 * turn)
            for name, g in found.items():
                g = g / np.float32(max(1, size))
                mean[name] = np.float32(0.9) * mean[name] + np.float32(0.1) * g
                square[name] = np.float32(0.99) * square[name] + np.float32(0.01) * g * g
                root = np.sqrt(square[name] / np.float32(1 - 0.99 ** (step + 1)))
                rise = mean[name] / np.float32(1 - 0.9 ** (step + 1))
                weights[name] = weights[name] - np.float32(rate) * rise / (root + np.float32(1e-8))
    return weights


def first_weights(config, rng):
    """Normal matrices, small positions, gains of one."""
    width = config["width"]
    shapes = {"embed": (config["vocab"], width), "position": (config["context"], width), "norm": (width,)}
    for i in range(config["layers"]):
        own = {name: (width, width) for name in ("wq", "wk", "wv", "wo")}
        own |= {"w_up": (4 * width, width), "w_down": (width, 4 * width), "norm1": (width,), "norm2": (width,)}
        shapes |= {f"layer{i}.{name}": shape for name, shape in own.items()}
    found = {}
    for name, shape in shapes.items():
        w = np.ones(shape) if len(shape) == 1 else rng.normal(size=shape) / np.sqrt(shape[1])
        found[name] = (w * (0.1 if name == "position" else 1)).astype(np.float32)
    return found
