"""Lines of the reference that mutants and variants exchange, each of which occurs there once."""

W_CHECK = '    _require(w.ndim == 2 and w.size > 0, f"w has shape {w.shape}, expected (out,in)")\n'
GROUP_CHECK = '    _require(group_size >= 1, f"group_size is {group_size}, expected at least 1")\n'
STARTS = "    starts = np.arange(0, w.shape[1], group_size)\n"
COUNTS = "    counts = np.diff(np.append(starts, w.shape[1]))\n"
SCALE = "    s = np.add.reduceat(np.abs(w), starts, axis=1) / counts.astype(w.dtype)\n"
RATIO = "    ratio = np.divide(w, wide, out=np.zeros_like(w), where=wide > 0)\n"
T = "    t = np.clip(np.rint(ratio), -1, 1).astype(np.int8)\n"
PROJECT = "    return t, s\n"
EXPANDED = "    return t * np.repeat(s, counts, axis=1)\n"
FORWARD_CHECK = (
    '    _require(x.ndim == 2 and x.shape[1:] == w.shape[1:], f"x has shape {x.shape}, w {w.shape}")\n'
)
FORWARD = "    used = _ternary(w, group_size)\n"
Y = "    y = x @ used.T\n"
RETURN_Y = "    return y, (x, used)\n"
RECALL = "    x, used = cache\n"
BACKWARD_CHECK = (
    '    _require(dy.shape == (len(x), len(used)), f"dy has shape {dy.shape}, y had {(len(x), len(used))}")\n'
)
DX = "    dx = dy @ used\n"
DW = "    dw = dy.T @ x\n"
TEXT = "    text = tokens[tokens >= 0]\n"
BATCH = "        inputs, labels = windows(text, config, rng)\n"
CLIPPED = "            g = gradient * factor\n"
ADAM = """            first[name] += (1 - BETA_1) * (g - first[name])
            second[name] += (1 - BETA_2) * (g * g - second[name])
            mean = first[name] / (1 - BETA_1 ** (step + 1))
            square = second[name] / (1 - BETA_2 ** (step + 1))
            weights[name] -= rate * mean / (np.sqrt(square) + TINY)
"""
TRAINED = "    return weights\n"
MATRICES = "rng.standard_normal(shape) / np.sqrt(shape[1])"
POSITIONS = "0.1 / np.sqrt(width) * rng.standard_normal"
DTYPES_OF_WEIGHTS = "    return {name: w.astype(np.float32) for name, w in weights.items()}\n"
LENGTH = '    length = min(config["context"], len(text) - 1)\n'
STARTED = '    starts = rng.integers(0, len(text) - length, config["batch"])\n'
WINDOWS = "    return text[places], text[places + 1]\n"
SHARES = "    probs = softmax(logits)\n"
ONLY_BYTES = "    dlogits[~real] = 0.0\n"
MEAN_LOSS = "    dlogits /= int(real.sum())\n"
EMBED = '    used = _ternary(weights["embed"], size)\n'
LOOKED_UP = '    x = used[inputs] + weights["position"][:length]\n'
ATTENTION = "        x = x + added\n        added, other"
OUTPUT = '    logits, out = linear_forward(y, weights["embed"], size)\n'
CAUSAL = "np.tri(shape[1], dtype=bool)"
UNSEEN = "    scores = np.where(np.tri(shape[1], dtype=bool), scores, -np.inf)\n"
SCORE_SCALE = "    scale = 1.0 / np.sqrt(q.shape[-1]).astype(x.dtype)\n"
GATE = "    gate = 1.0 / (1.0 + np.exp(-up))\n"
RAISED = "    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
NORM = "    scale = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(EPS))\n"
CLIP = "    return min(1.0, CLIP_NORM / (norm + TINY))\n"
WINDOW_CHECK = '    _require(1 < tokens.shape[1] <= config["context"] + 1, f"windows of {tokens.shape[1]} bytes")\n'
IN_ORDER = '    order = np.argsort(tokens < 0, axis=1, kind="stable")    # padding last\n'
LABELS = "    inputs, labels = np.maximum(rows[:, :-1], 0), rows[:, 1:]\n"
SOME_LABEL = '    _require(bool((labels >= 0).any()), "no window holds two bytes")\n'
FIRST_DX = '    dy, gradients["embed"] = linear_backward(dlogits, out)\n'
MLP_BACK = '        dx = dx + mlp_backward(dx, other, gradients, f"layer{i}.")\n'
ATTENTION_BACK = '        dx = dx + attention_backward(dx, cache, gradients, f"layer{i}.")\n'
POSITIONS_ADDED = '    gradients["position"][: inputs.shape[1]] = dx.sum(axis=0)\n'
ADDED_UP = '    np.add.at(gradients["embed"], inputs, dx)\n'
BACKWARD_END = "    return gradients\n"
KEPT_SHARES = "(q, k, v, probs, scale), out)\n"
DSCORES = "    dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))\n"
DUP = "    dup = dhidden * gate * (1.0 + up * (1.0 - gate))\n"
DXHAT = "    dxhat = dy * gain\n"
DNORM = "    dx = scale * (dxhat - xhat * np.mean(dxhat * xhat, axis=-1, keepdims=True))\n"
DGAIN = "    return dx, (dy * xhat).sum(axis=0)\n"
MODEL_CALL = "    return model_gradients(weights, inputs, labels, config)\n"
