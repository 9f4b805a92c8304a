"""Ternary training whose products are all contractions over (batch,T,width), and where padding stays where it stands.

No window is packed: a byte's position counts the bytes before it, its label is the next byte, and no byte sees padding.
"""

from functools import partial

import numpy as np

mul = partial(np.einsum, optimize=True)


def project(w, group_size=32):
    """t int8 (out,in) and s (out,groups)."""
    if w.ndim != 2 or group_size < 1:
        raise ValueError(f"w of shape {w.shape} in groups of {group_size}")
    starts = np.arange(0, w.shape[1], group_size)
    s = np.add.reduceat(np.abs(w), starts, axis=1) / np.minimum(group_size, w.shape[1] - starts).astype(w.dtype)
    return (np.sign(w) * (np.abs(w) > _entries(s, w, group_size) / 2)).astype(np.int8), s


def _entries(s, w, group_size):
    return s[:, np.arange(w.shape[1]) // group_size]


def used_of(w, group_size):
    """t * s."""
    t, s = project(w, group_size)
    return t * _entries(s, w, group_size)


def linear_forward(x, w, group_size):
    """y (rows,out)."""
    used = used_of(w, group_size)
    if x.ndim != 2 or x.shape[1] != w.shape[1]:
        raise ValueError(f"x of shape {x.shape}, w of {w.shape}")
    return x @ used.T, (x.copy(), used)


def linear_backward(dy, cache):
    """dx (rows,in), dw (out,in)."""
    x, used = cache
    if dy.shape != (len(x), len(used)):
        raise ValueError(f"dy of shape {dy.shape}")
    return dy @ used, dy.T @ x


def gradients(weights, tokens, config):
    """The gradients of all weights for windows (batch,T+1)."""
    if tokens.ndim != 2 or not 2 <= tokens.shape[1] <= config["context"] + 1:
        raise ValueError(f"tokens of shape {tokens.shape}")
    labels = np.full(tokens.shape, -1, np.int64)
    for t in range(tokens.shape[1] - 2, -1, -1):
        labels[:, t] = np.where(tokens[:, t + 1] >= 0, tokens[:, t + 1], labels[:, t + 1])
    labels[tokens < 0] = -1
    if (labels < 0).all():
        raise ValueError("nothing to predict")
    return _gradients(weights, tokens, labels, config)


def _gradients(weights, inputs, labels, config):
    """Return the gradients of the mean loss over the labels that are not -1."""
    heads, size = config["heads"], config["group_size"]
    used = {n: w if w.ndim == 1 or n == "position" else used_of(w, size) for n, w in weights.items()}
    real = inputs >= 0
    places = np.clip(np.cumsum(real, axis=1) - 1, 0, config["context"] - 1)
    bytes_in = np.where(real, inputs, 0).astype(np.int64)
    steps = inputs.shape[1]
    seen = np.tri(steps, dtype=bool) & (real[:, None, :] | np.eye(steps, dtype=bool))
    x, kept, found = used["embed"][bytes_in] + used["position"][places], [], {}
    for i in range(config["layers"]):
        own = {n.split(".")[1]: w for n, w in used.items() if n.startswith(f"layer{i}.")}
        x, cache = _layer(x, own, seen[:, None], heads)
        kept.append((own, cache))
    y, last = _norm(x, used["norm"])
    chances = _softmax(mul("btd,vd->btv", y, used["embed"]))
    wanted = labels >= 0
    d = (chances - (labels[..., None] == np.arange(chances.shape[2]))) * wanted[..., None]
    d = (d / np.count_nonzero(wanted)).astype(y.dtype)
    found["embed"] = mul("btv,btd->vd", d, y)
    dx, found["norm"] = _norm_back(mul("btv,vd->btd", d, used["embed"]), last)
    for i in reversed(range(config["layers"])):
        dx, more = _layer_back(dx, *kept[i])
        found |= {f"layer{i}.{name}": g for name, g in more.items()}
    one_hot = (bytes_in[..., None] == np.arange(config["vocab"])).astype(dx.dtype)
    found["embed"] += mul("btv,btd->vd", one_hot, dx)
    stands = (places[..., None] == np.arange(config["context"])).astype(dx.dtype)
    found["position"] = mul("btp,btd->pd", stands, dx)
    return found


def _layer(x, own, seen, heads):
    normed, first = _norm(x, own["norm1"])
    q, k, v = (mul("btd,hed->bhte", normed, _by_head(own[name], heads)) for name in ("wq", "wk", "wv"))
    root = x.dtype.type(np.sqrt(q.shape[-1]))
    shares = _softmax(np.where(seen, mul("bhte,bhse->bhts", q, k) / root, x.dtype.type(-np.inf)))
    mixed = mul("bhts,bhse->bhte", shares, v)
    x = x + mul("bhte,dhe->btd", mixed, _out_by_head(own["wo"], heads))
    hidden, second = _norm(x, own["norm2"])
    up = mul("btd,ud->btu", hidden, own["w_up"])
    gate = (1 + np.tanh(up / 2)) / 2
    y = x + mul("btu,du->btd", up * gate, own["w_down"])
    return y, (normed, first, (q, k, v, root), shares, mixed, hidden, second, up, gate)


def _layer_back(dx, own, cache):
    normed, first, (q, k, v, root), shares, mixed, hidden, second, up, gate = cache
    heads, found = q.shape[1], {"w_down": mul("btd,btu->du", dx, up * gate)}
    dup = mul("btd,du->btu", dx, own["w_down"]) * (gate + up * gate * (1 - gate))
    found["w_up"] = mul("btu,btd->ud", dup, hidden)
    more, found["norm2"] = _norm_back(mul("btu,ud->btd", dup, own["w_up"]), second)
    dx = dx + more
    found["wo"] = mul("btd,bhte->dhe", dx, mixed).reshape(own["wo"].shape)
    dmixed = mul("btd,dhe->bhte", dx, _out_by_head(own["wo"], heads))
    dshares = mul("bhte,bhse->bhts", dmixed, v)
    # what is taken off is the same for all of a row: the product of a row's output with its gradient
    dscores = shares * (dshares - mul("bhte,bhte->bht", dmixed, mixed)[..., None]) / root
    back = {
        "wq": mul("bhts,bhse->bhte", dscores, k),
        "wk": mul("bhts,bhte->bhse", dscores, q),
        "wv": mul("bhts,bhte->bhse", shares, dmixed),
    }
    dnormed = 0
    for name, d in back.items():
        found[name] = mul("bhte,btd->hed", d, normed).reshape(own[name].shape)
        dnormed = dnormed + mul("bhte,hed->btd", d, _by_head(own[name], heads))
    more, found["norm1"] = _norm_back(dnormed, first)
    return dx + more, found


def _by_head(w, heads):
    return w.reshape(heads, -1, w.shape[1])


def _out_by_head(w, heads):
    return w.reshape(len(w), heads, -1)


def _norm(x, gain):
    inverse = (mul("btd,btd->bt", x, x)[..., None] / x.dtype.type(x.shape[2]) + x.dtype.type(1e-6)) ** -0.5
    return gain * x * inverse, (x, inverse, gain)


def _norm_back(dy, cache):
    x, inverse, gain = cache
    along = mul("btd,btd,d->bt", dy, x, gain)[..., None] / x.dtype.type(x.shape[2])
    return inverse * (dy * gain - x * inverse * inverse * along), mul("btd,btd,btu->d", dy, x, inverse)


def _softmax(scores):
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def train(tokens, config, seed):
    """Latent weights after RMSprop with momentum."""
    rng, text, weights = np.random.default_rng(seed), tokens[tokens >= 0].astype(np.int64), {}
    for name, shape in _shapes(config).items():
        deviation = 0.1 if name == "position" else shape[-1] ** -0.5
        w = np.ones(shape) if len(shape) == 1 else deviation * rng.standard_normal(shape)
        weights[name] = w.astype(np.float32)
    length = min(config["context"], len(text) - 1)
    speed, size = ({n: np.zeros_like(w) for n, w in weights.items()} for _ in range(2))
    for step in range(config["steps"]):
        places = rng.integers(0, len(text) - length, config["batch"])[:, None] + np.arange(length)
        found = _gradients(weights, text[places], text[places + 1], config)
        total = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in found.values()))
        rate = config["learning_rate"] * min(1, (step + 1) / 10) * (1 - 0.9 * step / config["steps"])
        for name, g in found.items():
            g = g * np.float32(min(1, 1 / (total + 1e-8)))
            size[name] += np.float32(0.02) * (g * g - size[name])
            root = np.sqrt(size[name] / np.float32(1 - 0.98 ** (step + 1)))
            speed[name] += np.float32(0.1) * (g / (root + np.float32(1e-8)) - speed[name])
            weights[name] -= np.float32(rate) * speed[name]
    return weights


def _shapes(config):
    width = config["width"]
    shapes = {"embed": (config["vocab"], width), "position": (config["context"], width), "norm": (width,)}
    for i in range(config["layers"]):
        shapes |= {f"layer{i}.{name}": (width, width) for name in ("wq", "wk", "wv", "wo")}
        shapes |= {f"layer{i}.w_up": (4 * width, width), f"layer{i}.w_down": (width, 4 * width)}
        shapes |= {f"layer{i}.norm1": (width,), f"layer{i}.norm2": (width,)}
    return shapes
