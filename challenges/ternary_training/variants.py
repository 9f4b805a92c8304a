"""Right ternary training that works differently from the reference: every probe must stay silent on it."""

from dataclasses import replace

from harness.probing import Variant

from .lines import (
    ADAM,
    BATCH,
    DW,
    DX,
    FORWARD,
    LENGTH,
    MATRICES,
    POSITIONS,
    RATIO,
    RECALL,
    RETURN_Y,
    SCALE,
    STARTED,
    TEXT,
    WINDOWS,
    T,
    Y,
)

REPEATED = "    wide = np.repeat(s, counts, axis=1)\n"
BY_GROUPS = """    t, s = project(w, group_size)
    y = np.zeros((len(x), len(w)), x.dtype)
    for g in range(s.shape[1]):
        part = slice(g * group_size, (g + 1) * group_size)
        y += (x[:, part] @ t[:, part].T.astype(x.dtype)) * s[:, g]
"""
DX_BY_GROUPS = """    dx = np.empty_like(x)
    for g in range(s.shape[1]):
        part = slice(g * group_size, (g + 1) * group_size)
        dx[:, part] = (dy * s[:, g]) @ t[:, part]
"""

OFFERED = {"gradients": True}

WHOLE = (
    Variant(
        "einsum over batches", "contracts whole batches, leaves padding where it stands, and steps by RMSprop",
        file="variants/einsum_batches.py", capabilities=OFFERED, unmet=("training_cost",),
    ),
    Variant(
        "window by window", "takes each window and head by itself, softmax and norm by their Jacobians",
        file="variants/window_by_window.py", capabilities=OFFERED, unmet=("training_cost",),
    ),
)
LAYER = (
    Variant(
        "loops over groups", "projects group by group",
        edits=(
            (SCALE, "    s = np.zeros((len(w), len(starts)), w.dtype)\n"
             "    t = np.zeros(w.shape, np.int8)\n"
             "    for g, first in enumerate(starts):\n"
             "        group = w[:, first : first + group_size]\n"
             "        s[:, g] = np.abs(group).sum(axis=1) / w.dtype.type(group.shape[1])\n"
             "        safe = np.where(s[:, g : g + 1] > 0, s[:, g : g + 1], 1)\n"
             "        t[:, first : first + group_size] = np.clip(np.round(group / safe), -1, 1)\n"),
            (REPEATED, ""), (RATIO, ""), (T, ""),
        ),
    ),
    Variant(
        "compared with half the scale", "takes the sign where |w| is above half its scale, and never divides",
        edits=((RATIO, ""), (T, "    t = (np.sign(w) * (np.abs(w) > w.dtype.type(0.5) * wide)).astype(np.int8)\n")),
    ),
    Variant(
        "padded to whole groups", "fills the last group with zeros and reshapes",
        edits=((SCALE, "    padded = np.zeros((len(w), len(starts) * min(group_size, w.shape[1])), w.dtype)\n"
                "    padded[:, : w.shape[1]] = np.abs(w)\n"
                "    sums = padded.reshape(len(w), len(starts), -1).sum(axis=2)\n"
                "    s = sums / counts.astype(w.dtype)\n"),),
    ),
    Variant(
        "scales summed in float64", "adds the sizes of a group up in float64",
        edits=((SCALE, "    sums = np.add.reduceat(np.abs(w).astype(np.float64), starts, axis=1)\n"
                "    s = (sums / counts).astype(w.dtype)\n"),),
    ),
    Variant(
        "einsum", "contracts every product of the layer with einsum",
        edits=(
            (Y, '    y = np.einsum("ri,oi->ro", x, used)\n'), (DX, '    dx = np.einsum("ro,oi->ri", dy, used)\n'),
            (DW, '    dw = np.einsum("ro,ri->oi", dy, x)\n'),
        ),
        unmet=("training_cost",),
    ),
    Variant(
        "group by group", "multiplies by the signs of each group and then by its scale; keeps t and s",
        edits=(
            (FORWARD, ""), (Y, BY_GROUPS), (RETURN_Y, "    return y, (x, t, s, group_size)\n"),
            (RECALL, "    x, t, s, group_size = cache\n    used = t\n"), (DX, DX_BY_GROUPS),
        ),
        unmet=("training_cost",),
    ),
    Variant(
        "sums of halves", "adds the two halves of every product up",
        edits=(
            (Y, "    half = x.shape[1] // 2\n"
             "    y = x[:, half:] @ used[:, half:].T + x[:, :half] @ used[:, :half].T\n"),
            (DW, "    half = len(x) // 2\n    dw = dy[half:].T @ x[half:] + dy[:half].T @ x[:half]\n"),
        ),
    ),
)

TRAINING = (
    Variant(
        "plain steps, clipped", "takes gradient steps with momentum, the norm of all gradients clipped",
        edits=((ADAM, "            first[name] = 0.9 * first[name] + g\n"
                "            weights[name] -= 30 * rate * first[name]\n"),),
    ),
    Variant(
        "signs of the momentum", "steps by the sign of a running mean (Lion)",
        edits=((ADAM, "            weights[name] -= 0.3 * rate * np.sign(0.9 * first[name] + 0.1 * g)\n"
                "            first[name] = 0.98 * first[name] + 0.02 * g\n"),),
    ),
    Variant(
        "root mean square steps", "divides by a running root mean square and keeps no momentum (RMSprop)",
        edits=((ADAM, "            second[name] = 0.95 * second[name] + 0.05 * g * g\n"
                "            weights[name] -= 0.5 * rate * g / (np.sqrt(second[name]) + TINY)\n"),),
    ),
    Variant(
        "decayed weights", "lets weights decay beside Adam's step (AdamW), the rate constant after the warm-up",
        edits=((ADAM, "            weights[name] *= 1 - 0.01 * rate\n" + ADAM),
               ("LAST_RATE = 0.1 ", "LAST_RATE = 1.0 ")),
    ),
    Variant(
        "not clipped", "leaves clipping to Adam, whose steps do not grow with the gradient",
        edits=(("            g = gradient * factor\n", "            g = gradient\n"),),
    ),
    Variant(
        "uniform initialisation", "begins with uniform weights, and with positions as large as the embedding",
        edits=((MATRICES, "rng.uniform(-1, 1, shape) * np.sqrt(3 / shape[1])"),
               (POSITIONS, "1 / np.sqrt(width) * rng.standard_normal")),
    ),
    Variant(
        "float64 inside", "trains in float64 and returns float32",
        edits=(
            ("    return {name: w.astype(np.float32) for name, w in weights.items()}\n", "    return weights\n"),
            ("    return weights\n\n\ndef initial_weights",
             "    return {name: w.astype(np.float32) for name, w in weights.items()}\n\n\ndef initial_weights"),
        ),
    ),
    Variant(
        "padding skipped", "begins windows at any place of the text as it came, and skips padding in them",
        edits=(
            (TEXT, "    text = tokens\n"),
            (LENGTH, "    real = np.flatnonzero(text >= 0)\n"
             '    length = min(config["context"], len(real) - 1)\n'),
            (STARTED, '    places = rng.integers(0, len(text), config["batch"])\n'
             "    starts = np.minimum(np.searchsorted(real, places), len(real) - length - 1)\n"),
            (WINDOWS, "    return text[real[places]], text[real[places + 1]]\n"),
        ),
    ),
    Variant(
        "each window in turn", "goes through windows that do not overlap in a shuffled order, again and again",
        edits=((BATCH, "        if step == 0:\n            order: list[int] = []\n"
                "        inputs, labels = next_windows(text, config, rng, order)\n"),
               ("def learning_rate(step",
                "def next_windows(text, config, rng, order):  # type: ignore[no-untyped-def]\n"
                '    """The next (batch,T) inputs and labels of a shuffled list of windows."""\n'
                '    length = min(config["context"], len(text) - 1)\n'
                '    while len(order) < config["batch"]:\n'
                "        shift = int(rng.integers(0, length)) if len(text) > 2 * length else 0\n"
                "        order.extend(rng.permutation(np.arange(shift, len(text) - length, length)).tolist())\n"
                '    starts = np.array([order.pop() for _ in range(config["batch"])])\n'
                "    places = starts[:, None] + np.arange(length)\n"
                "    return text[places], text[places + 1]\n\n\ndef learning_rate(step")),
    ),
)

VARIANTS = (*WHOLE, *(replace(variant, capabilities=OFFERED) for variant in LAYER), *TRAINING)
