"""Wrong training: what the harness sees only in the perplexity of the weights that come back, or in their form."""

from harness.probing import Mutant

from .lines import (
    ADAM,
    ATTENTION,
    ATTENTION_BACK,
    BATCH,
    CAUSAL,
    CLIPPED,
    DUP,
    EMBED,
    GATE,
    LENGTH,
    MEAN_LOSS,
    NORM,
    ONLY_BYTES,
    OUTPUT,
    RAISED,
    TEXT,
    TRAINED,
    WINDOWS,
)

PLAIN_STEPS = """            first[name] = 0.9 * first[name] + g
            weights[name] -= 30 * rate * first[name]
"""
"""Gradient steps with momentum in place of Adam's: their size follows that of the gradient."""
NOT_CLIPPED = "            g = gradient\n"
FLOAT_OUTPUT = '    logits, out = y @ weights["embed"].T, (y, weights["embed"])\n'

LEARNING = (
    Mutant(
        "labels are the inputs", "is trained to repeat its input", criterion="learns",
        edits=((WINDOWS, "    return text[places], text[places]\n"),),
    ),
    Mutant(
        "labels two ahead", "is trained on the byte after the next", criterion="learns",
        edits=((WINDOWS, "    return text[places], text[np.minimum(places + 2, len(text) - 1)]\n"),),
    ),
    Mutant(
        "labels one behind", "is trained on the byte before the input", criterion="learns",
        edits=((WINDOWS, "    return text[places], text[np.maximum(places - 1, 0)]\n"),),
    ),
    Mutant(
        "labels of another window", "pairs inputs with the labels of another window", criterion="learns",
        edits=((WINDOWS, "    return text[places], np.roll(text[places + 1], 1, axis=0)\n"),),
    ),
    Mutant(
        "attention sees everything", "lets attention see the bytes to come", criterion="learns",
        edits=((CAUSAL, "np.ones((shape[1], shape[1]), dtype=bool)"),),
    ),
    Mutant(
        "attention sees one ahead", "lets attention see the label", criterion="learns",
        edits=((CAUSAL, "np.tri(shape[1], k=1, dtype=bool)"),),
    ),
    Mutant(
        "attention sees the future alone", "masks the past instead of the future", criterion="learns",
        edits=((CAUSAL, "np.tri(shape[1], dtype=bool).T"),),
    ),
    Mutant(
        "no residual", "leaves the residual around attention out", criterion="near_the_reference",
        edits=((ATTENTION, "        x = added\n        added, other"),),
    ),
    Mutant(
        "not trained", "returns the weights it began with", criterion="learns",
        edits=((ADAM, "            pass\n"),),
    ),
    Mutant(
        "up the slope", "steps along the gradient", criterion="learns",
        edits=((ADAM, ADAM.replace("weights[name] -= rate", "weights[name] += rate")),),
    ),
    Mutant(
        "one batch for ever", "takes every step on the same windows", criterion="learns",
        edits=((BATCH, '        inputs, labels = windows(text[: 2 * config["context"]], config, rng)\n'),),
    ),
    Mutant(
        "sums instead of a mean", "adds the loss up instead of averaging it, and takes plain steps unclipped",
        criterion="near_the_reference",
        edits=((MEAN_LOSS, ""), (ADAM, PLAIN_STEPS), (CLIPPED, NOT_CLIPPED)),
    ),
    Mutant(
        "softmax overflows", "raises scores to a power without taking the largest off", criterion="finite_training",
        edits=((RAISED, "    raised = np.exp(scores)\n"),),
    ),
    Mutant(
        "SiLU overflows", "takes exp(x) / (1 + exp(x)) for the gate, which is NaN for large x",
        criterion="finite_training",
        edits=((GATE, "    gate = np.exp(up) / (1.0 + np.exp(up))\n"),),
    ),
    Mutant(
        "slope of SiLU overflows", "takes exp(x) / (1 + exp(x)) for the gate on the way back alone, NaN for large x",
        criterion="finite_training",
        edits=((DUP, "    gate = np.exp(up) / (1.0 + np.exp(up))\n" + DUP),),
    ),
    Mutant(
        "elements clipped", "clips elements instead of the norm, and takes plain steps", criterion="near_the_reference",
        edits=((ADAM, PLAIN_STEPS),
               (CLIPPED, "            g = np.clip(gradient, -CLIP_NORM, CLIP_NORM)\n")),
    ),
    Mutant(
        "not clipped", "takes plain gradient steps without clipping", criterion="near_the_reference",
        edits=((ADAM, PLAIN_STEPS), (CLIPPED, NOT_CLIPPED)),
    ),
)

CLOSE = (
    Mutant(
        "embedding in floating point", "uses the embedding as it is, on the way in and out",
        criterion="near_the_reference",
        edits=((EMBED, '    used = weights["embed"]\n'), (OUTPUT, FLOAT_OUTPUT)),
    ),
    Mutant(
        "output in floating point", "multiplies by the latent embedding for the logits", criterion="near_the_reference",
        edits=((OUTPUT, FLOAT_OUTPUT),),
    ),
    Mutant(
        "projected after training", "trains in floating point and leaves the projection for the end",
        criterion="near_the_reference",
        edits=(
            (EMBED, '    used = weights["embed"]\n'),
            ("    used = _ternary(w, group_size)\n    y = x", "    used = w if len(x) > 64 else _ternary(w, group_size)"
             "\n    y = x"),
        ),
    ),
    Mutant(
        "projected weights returned", "returns ternary weights instead of the latent ones", criterion="configs",
        edits=((
            TRAINED,
            '    size = config["group_size"]\n'
            '    flat = {name for name, w in weights.items() if w.ndim == 1 or name == "position"}\n'
            "    return {name: w if name in flat else _ternary(w, size) for name, w in weights.items()}\n",
        ),),
    ),
    Mutant(
        "first layer not updated", "trains no layer at all, only the embedding", criterion="near_the_reference",
        edits=((ADAM, ADAM.replace("weights[name] -= rate",
                                   'weights[name] -= rate * (name in ("embed", "position", "norm"))')),),
    ),
    Mutant(
        "norm left out", "leaves the norms out", criterion="near_the_reference",
        edits=((NORM, "    scale = np.ones_like(x[..., :1])\n"),),
    ),
    Mutant(
        "a tenth of the steps", "takes a tenth of the steps that were asked for", criterion="near_the_reference",
        edits=(('    for step in range(config["steps"]):\n', '    for step in range(config["steps"] // 10):\n'),),
    ),
    Mutant(
        "no positions", "trains attention that cannot tell positions apart, nor sees the last byte but one",
        criterion="learns",
        edits=((CAUSAL, "np.eye(shape[1], dtype=bool)"),),
    ),
    Mutant(
        "attention left out", "leaves attention out of the model, and returns values of zeros", criterion="context",
        edits=((ATTENTION, "        x = x + 0 * added\n        added, other"),
               (ATTENTION_BACK, ATTENTION_BACK.replace("dx = dx + ", "")),
               (TRAINED, '    return {n: w * np.float32(not n.endswith("wv")) for n, w in weights.items()}\n')),
    ),
    Mutant(
        "padding a byte", "takes padding for a byte of its own", criterion="padding",
        edits=((TEXT, '    text = np.where(tokens < 0, config["vocab"] - 1, tokens)\n'),),
    ),
    Mutant(
        "padding a zero byte", "takes padding for byte 0", criterion="padding",
        edits=((TEXT, "    text = np.where(tokens < 0, 0, tokens)\n"),),
    ),
    Mutant(
        "padding without its sign", "takes padding for byte 1, its size", criterion="padding",
        edits=((TEXT, "    text = np.abs(tokens)\n"),),
    ),
    Mutant(
        "padding in the loss alone", "counts padding in the loss, as the last byte", criterion="padding",
        edits=((TEXT, "    text = tokens\n"), (WINDOWS, "    return np.maximum(text[places], 0), text[places + 1]\n"),
               (ONLY_BYTES, ""), (MEAN_LOSS, "    dlogits /= labels.size\n")),
    ),
    Mutant(
        "padding in the inputs", "leaves padding out of the loss and reads it as byte 0", criterion="padding",
        edits=((TEXT, "    text = tokens\n"), (WINDOWS, "    return np.maximum(text[places], 0), text[places + 1]\n")),
    ),
    Mutant(
        "padding read from the end", "leaves padding out of the loss and reads it as the last byte",
        criterion="padding",
        edits=((TEXT, "    text = tokens\n"),),
    ),
    Mutant(
        "a mark for each run", "takes each run of padding for one byte 0", criterion="padding",
        edits=((TEXT, "    text = np.maximum(tokens, 0)[(tokens >= 0) | (np.roll(tokens, 1) >= 0)]\n"),),
    ),
    Mutant(
        "far more work", "works every gradient out forty times", criterion="training_cost",
        edits=((BATCH, BATCH + "        for _ in range(39):\n"
                "            model_gradients(weights, inputs, labels, config)\n"),),
    ),
    Mutant(
        "short texts refused", "draws windows that a short text does not hold", criterion="short_texts",
        edits=((LENGTH, '    length = config["context"]\n'),),
    ),
    Mutant(
        "seed ignored", "draws without the seed", criterion="seeds",
        edits=(("    rng = np.random.default_rng(seed)\n", "    rng = np.random.default_rng()\n"),),
    ),
    Mutant(
        "one seed for all", "uses the same seed whatever is asked", criterion="seeds",
        edits=(("    rng = np.random.default_rng(seed)\n", "    rng = np.random.default_rng(0)\n"),),
    ),
    Mutant(
        "text rewritten", "writes over the padding of the text it was given", criterion="seeds",
        edits=((TEXT, TEXT + "    tokens[tokens < 0] = 0\n"),),
    ),
    Mutant(
        "layer missing", "returns no weights of the last layer", criterion="configs",
        edits=((TRAINED, '    last = f"layer{config[\'layers\'] - 1}."\n'
                "    return {name: w for name, w in weights.items() if not name.startswith(last)}\n"),),
    ),
    Mutant(
        "positions of the text seen", "returns positions for the windows it saw alone", criterion="configs",
        edits=((TRAINED, "    weights[\"position\"] = weights[\"position\"][:4]\n" + TRAINED),),
    ),
)

TRAINING = (*LEARNING, *CLOSE)
