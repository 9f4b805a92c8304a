"""Wrong gradients of the model: what one batch shows, and a training run may well not."""

from harness.probing import Mutant

from .lines import (
    ADDED_UP,
    ATTENTION_BACK,
    BACKWARD_END,
    DGAIN,
    DNORM,
    DSCORES,
    DUP,
    DXHAT,
    FIRST_DX,
    IN_ORDER,
    KEPT_SHARES,
    LABELS,
    MEAN_LOSS,
    MLP_BACK,
    MODEL_CALL,
    ONLY_BYTES,
    POSITIONS_ADDED,
    SOME_LABEL,
    UNSEEN,
    WINDOW_CHECK,
)


def _mutant(name: str, fault: str, *edits: tuple[str, str], criterion: str = "model_gradients") -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


def _ended(line: str) -> tuple[str, str]:
    """Return the edit that does something more at the end of the way back."""
    return BACKWARD_END, f"    {line}\n{BACKWARD_END}"


def _called(line: str) -> tuple[str, str]:
    """Return the edit that does something more in `gradients` before the model runs."""
    return MODEL_CALL, f"    {line}\n{MODEL_CALL}"


EMBEDDED = '    np.add.at(gradients["embed"], inputs, dx)\n'
IN_16_BITS = """\
    places = inputs[..., None].astype(np.int16) * np.int16(dx.shape[-1]) + np.arange(dx.shape[-1], dtype=np.int16)
    np.add.at(gradients["embed"].reshape(-1), places, dx)
"""
GRADIENTS = (
    _mutant("places of 16 bits", "adds what a byte brings at a place of 16 bits", (EMBEDDED, IN_16_BITS)),
    _mutant("weights stepped in place", "takes a step with the gradients that it returns",
            (MODEL_CALL, MODEL_CALL.replace("return", "found =") + '    weights["norm"] -= 0.1 * found["norm"]\n'
                         "    return found\n")),
    _mutant("gradients of all calls", "adds to the gradient of a gain those of earlier calls",
            (MODEL_CALL, MODEL_CALL.replace("return", "found =")
             + '    before = gradients.__dict__.get("before", 0.0)\n'
             '    gradients.before = found["norm"] + 0.0\n    found["norm"] = found["norm"] + before\n'
             "    return found\n")),
    _mutant("weights as they lie in memory", "reads weights in the order of memory",
            _called('weights = {n: w.ravel(order="K").reshape(w.shape) for n, w in weights.items()}'),
            criterion="any_layout"),
    _mutant("repeats lost", "keeps one gradient of a byte that comes several times",
            (ADDED_UP, '    gradients["embed"][inputs] += dx\n')),
    _mutant("repeats in a window lost", "keeps one gradient of a byte that comes several times in a window",
            (ADDED_UP, '    for window, rows in zip(inputs, dx, strict=True):\n'
                       '        gradients["embed"][window] += rows\n')),
    _mutant("embedding in alone", "leaves out what comes to the embedding as output layer",
            (POSITIONS_ADDED, '    gradients["embed"][...] = 0.0\n' + POSITIONS_ADDED)),
    _mutant("embedding out alone", "leaves out what comes to the embedding at the model's input", (ADDED_UP, "")),
    _mutant("embedding in twice", "adds what comes to the embedding at the model's input twice",
            (ADDED_UP, ADDED_UP * 2)),
    _mutant("short windows without positions", "gives positions gradients for whole windows alone",
            (POSITIONS_ADDED, '    if inputs.shape[1] == config["context"]:\n    ' + POSITIONS_ADDED)),
    _mutant("positions averaged", "takes the mean over windows for the gradient of a position",
            (POSITIONS_ADDED, POSITIONS_ADDED.replace("dx.sum(axis=0)", "dx.mean(axis=0)"))),
    _mutant("positions projected", "applies to positions what a mask of their ternary form leaves",
            _ended('gradients["position"] *= project(weights["position"], config["group_size"])[0] != 0')),
    _mutant("last gain without gradient", "gives the gain of the last norm no gradient",
            _ended('gradients["norm"][...] = 0.0')),
    _mutant("gains without gradient", "gives the gain of the norm before the MLP no gradient",
            _ended('gradients["layer0.norm2"][...] = 0.0')),
    _mutant("gain left out on the way back", "forgets the gain in the gradient of a norm's input",
            (DXHAT, "    dxhat = dy\n")),
    _mutant("gain's gradient of what is scaled", "takes the gain into the gradient of the gain",
            (DGAIN, "    return dx, (dxhat * xhat).sum(axis=0)\n")),
    _mutant("mean of squares held", "takes the size of a row for a constant in the gradient of a norm",
            (DNORM, "    dx = scale * dxhat\n")),
    _mutant("masked beyond one", "passes no gradient to weights beyond 1",
            _ended("gradients = {n: g * (np.abs(weights[n]) <= 1 + (g.ndim < 2)) for n, g in gradients.items()}")),
    _mutant("masked at zero", "passes no gradient to weights of which t is 0",
            _ended('gradients["layer0.wo"] *= project(weights["layer0.wo"], config["group_size"])[0] != 0')),
    _mutant("scaled", "multiplies the gradient of a matrix by its signs",
            _ended('gradients["layer0.w_up"] *= project(weights["layer0.w_up"], config["group_size"])[0]')),
    _mutant("softmax without its sum", "leaves the sum over a row out of the softmax's gradient",
            (DSCORES, "    dscores = probs * dprobs\n")),
    _mutant("scores unscaled on the way back", "forgets the scale of scores in the gradient of queries",
            ("    dq = dscores @ k * scale\n", "    dq = dscores @ k\n")),
    _mutant("causal on the way there alone", "sees the bytes to come on the way back",
            (KEPT_SHARES, KEPT_SHARES.replace("probs", "softmax(q @ k.transpose(0, 1, 3, 2) * scale)"))),
    _mutant("bytes to come at -1e4", "gives bytes to come the score -1e4",
            (UNSEEN, UNSEEN.replace("-np.inf", "x.dtype.type(-1e4)"))),
    _mutant("keys and queries exchanged", "gives keys what belongs to queries",
            ("(dq, dk, dv), parts", "(dk, dq, dv), parts")),
    _mutant("SiLU as its gate", "takes the gate for the slope of SiLU", (DUP, "    dup = dhidden * gate\n")),
    _mutant("slope of the logistic function", "takes the slope of the logistic function for that of SiLU",
            (DUP, "    dup = dhidden * gate * (1.0 - gate)\n")),
    _mutant("second residual lost", "leaves out what passes by the attention of the second layer",
            (ATTENTION_BACK, ATTENTION_BACK.replace("dx + att", "(dx if i == 0 else 0) + att"))),
    _mutant("residual around the MLP lost", "leaves out what passes by the MLP",
            (MLP_BACK, MLP_BACK.replace("dx + mlp", "mlp"))),
    _mutant("first layer alone", "stops after the last layer on the way back",
            (ATTENTION_BACK, ATTENTION_BACK + "        dx = dx * (i == 0)\n")),
    _mutant("mean over padding too", "divides by the number of labels with those of padding",
            (MEAN_LOSS, "    dlogits /= labels.size\n")),
    _mutant("mean over bytes", "divides by the number of bytes, not of those that follow one",
            (MEAN_LOSS, "    dlogits /= int(real.sum()) + len(labels)\n")),
    _mutant("sum of the loss", "takes the gradient of the sum of the loss", (MEAN_LOSS, "")),
    _mutant("mean of means", "takes the mean of the windows' means",
            (MEAN_LOSS, "    counts = np.maximum(real.reshape(labels.shape).sum(axis=1), 1)\n"
                        "    dlogits /= np.repeat(counts * len(labels), labels.shape[1])[:, None]\n")),
    _mutant("mean of the means that there are", "takes the mean of the means of all windows that have a label",
            (MEAN_LOSS, "    counts = real.reshape(labels.shape).sum(axis=1)\n"
                        "    shares = np.maximum(counts, 1) * int((counts > 0).sum())\n"
                        "    dlogits /= np.repeat(shares, labels.shape[1])[:, None]\n")),
    _mutant("means of eight windows", "takes the mean of the means of eight windows each, by the number of windows",
            (MEAN_LOSS, "    labels_of = real.reshape(labels.shape).sum(axis=1)\n"
                        "    eights = np.arange(len(labels)) // 8\n"
                        "    counts, sizes = np.bincount(eights, labels_of), np.bincount(eights)\n"
                        "    shares = np.maximum(counts, 1) / sizes * len(labels)\n"
                        "    dlogits /= np.repeat(shares[eights], labels.shape[1])[:, None].astype(dlogits.dtype)\n")),
    _mutant("padding predicted", "predicts padding as the last byte", (ONLY_BYTES, "")),
    _mutant("padding keeps its places", "leaves padding out of the loss and reads it as byte 0",
            (IN_ORDER, "    order = np.tile(np.arange(tokens.shape[1]), (len(tokens), 1))\n")),
    _mutant("order lost in long windows", "turns the first bytes around where windows longer than 16 hold padding",
            (IN_ORDER, IN_ORDER + "    if tokens.shape[1] > 16 and (tokens < 0).any():\n"
                       "        order[:, :9] = order[:, 8::-1]\n")),
    _mutant("padding out of the loss alone", "leaves padding in its places, and takes no loss of it or behind it",
            (IN_ORDER, "    order = np.tile(np.arange(tokens.shape[1]), (len(tokens), 1))\n"),
            (LABELS, LABELS + "    labels = np.where(rows[:, :-1] < 0, -1, labels)\n")),
    _mutant("probabilities in float32", "takes the softmax of the loss in float32",
            (FIRST_DX, "    dlogits = dlogits.astype(np.float32).astype(dlogits.dtype)\n" + FIRST_DX)),
    _mutant("embedding in float32", "adds gradients of the embedding up in float32",
            (ADDED_UP, ADDED_UP.replace("inputs, dx)", "inputs, dx.astype(np.float32))"))),
    _mutant("float32 returned", "returns gradients in float32 whatever the weights are",
            _ended("gradients = {name: g.astype(np.float32) for name, g in gradients.items()}")),
    _mutant("long windows taken", "takes windows that are longer than the context", (WINDOW_CHECK, ""),
            (POSITIONS_ADDED, '    gradients["position"] = dx.sum(axis=0)\n'),
            ('weights["position"][:length]\n', 'np.resize(weights["position"], (length, width))\n'),
            criterion="window_errors"),
    _mutant("windows without a label taken", "returns zeros where no byte follows another",
            (SOME_LABEL, ""), (MEAN_LOSS, "    dlogits /= max(1, int(real.sum()))\n"), criterion="window_errors"),
)  # fmt: skip
