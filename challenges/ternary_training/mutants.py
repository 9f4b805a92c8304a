"""Wrong ternary training, each the reference with one fault planted, under the criterion that must notice it."""

from harness.probing import Mutant

from .lines import (
    COUNTS,
    DTYPES_OF_WEIGHTS,
    DW,
    DX,
    EMBED,
    EXPANDED,
    FORWARD,
    FORWARD_CHECK,
    GROUP_CHECK,
    OUTPUT,
    PROJECT,
    RATIO,
    RETURN_Y,
    SCALE,
    STARTS,
    TEXT,
    W_CHECK,
    T,
)
from .mutants_gradients import GRADIENTS
from .mutants_training import TRAINING

PROJECTION = (
    Mutant(
        "scale the root mean square", "takes the root of the mean square of a group for its scale",
        criterion="projection",
        edits=((SCALE, "    s = np.sqrt(np.add.reduceat(w * w, starts, axis=1) / counts.astype(w.dtype))\n"),),
    ),
    Mutant(
        "scale the largest", "takes the largest |w| of a group for its scale", criterion="projection",
        edits=((SCALE, "    s = np.maximum.reduceat(np.abs(w), starts, axis=1)\n"),),
    ),
    Mutant(
        "scale the median", "takes the median |w| of a group for its scale", criterion="projection",
        edits=((
            SCALE,
            "    cut = [np.abs(w[:, a : a + n]) for a, n in zip(starts, counts)]\n"
            "    s = np.stack([np.median(group, axis=1) for group in cut], axis=1).astype(w.dtype)\n",
        ),),
    ),
    Mutant(
        "signs alone", "gives every entry its sign and never zero", criterion="projection",
        edits=((T, "    t = np.sign(ratio).astype(np.int8)\n"),),
    ),
    Mutant(
        "threshold 0.7", "sets entries below 0.7 of the scale to zero instead of 0.5", criterion="projection",
        edits=((T, "    t = (np.sign(ratio) * (np.abs(ratio) > 0.7)).astype(np.int8)\n"),),
    ),
    Mutant(
        "not clipped", "rounds without clipping to -1 and 1", criterion="projection",
        edits=((T, "    t = np.rint(ratio).astype(np.int8)\n"),),
    ),
    Mutant(
        "rounded down", "cuts |w|/s down instead of rounding it", criterion="projection",
        edits=((T, "    t = np.clip(np.trunc(ratio), -1, 1).astype(np.int8)\n"),),
    ),
    Mutant(
        "halves away from zero", "rounds exact halves away from zero", criterion="projection",
        edits=((T, "    t = (np.sign(ratio) * np.clip(np.floor(2 * np.abs(ratio)), 0, 1)).astype(np.int8)\n"),),
    ),
    Mutant(
        "halves up", "rounds exact halves up", criterion="projection",
        edits=((T, "    t = np.clip(np.floor(ratio + w.dtype.type(0.5)), -1, 1).astype(np.int8)\n"),),
    ),
    Mutant(
        "halves of rounded shares", "divides by the largest |w| of a group before it divides by their mean",
        criterion="projection",
        edits=((RATIO, "    top = np.repeat(np.maximum.reduceat(np.abs(w), starts, axis=1), counts, axis=1)\n"
                "    share = np.divide(w, top, out=np.zeros_like(w), where=top > 0).astype(np.longdouble)\n"
                "    mean = np.add.reduceat(np.abs(share), starts, axis=1) / counts\n"
                "    wide = np.repeat(mean, counts, axis=1)\n"
                "    ratio = np.divide(share, wide, out=np.zeros_like(share), where=wide > 0)\n"),),
    ),
    Mutant(
        "mean of w", "takes the mean of w instead of |w|, made positive", criterion="projection",
        edits=((SCALE, "    s = np.abs(np.add.reduceat(w, starts, axis=1)) / counts.astype(w.dtype)\n"),),
    ),
    Mutant(
        "scale off by a millionth", "scales s by 1 + 1e-5", criterion="projection",
        edits=((SCALE, SCALE + "    s = s * w.dtype.type(1.00001)\n"),),
    ),
    Mutant(
        "scale of the nonzero", "takes the mean over the entries that stay nonzero", criterion="projection",
        edits=((
            PROJECT,
            "    used = np.add.reduceat(np.abs(w) * (t != 0), starts, axis=1)\n"
            "    s = (used / np.maximum(np.add.reduceat(np.abs(t), starts, axis=1), 1)).astype(w.dtype)\n" + PROJECT,
        ),),
    ),
    Mutant(
        "centred first", "subtracts the mean of a row before it takes signs", criterion="projection",
        edits=((RATIO, "    w = w - w.mean(axis=1, keepdims=True)\n" + RATIO),),
    ),
    Mutant(
        "one scale a row", "takes one scale for a whole row", criterion="groups",
        edits=((SCALE, SCALE + "    s = np.broadcast_to(np.abs(w).mean(axis=1, keepdims=True), s.shape).copy()\n"),),
    ),
    Mutant(
        "one scale a matrix", "takes one scale for the whole matrix", criterion="groups",
        edits=((SCALE, SCALE + "    s = np.full_like(s, np.abs(w).mean())\n"),),
    ),
    Mutant(
        "scale of the group before", "takes for a group's signs the scale of the group before", criterion="groups",
        edits=(("    wide = np.repeat(s, counts, axis=1)\n",
                "    wide = np.repeat(np.roll(s, 1, axis=1), counts, axis=1)\n"),),
    ),
    Mutant(
        "groups down the columns", "cuts groups along the first axis", criterion="groups",
        edits=((SCALE, SCALE + "    s = np.stack([np.abs(np.roll(w, 1, axis=0)[:, a : a + n]).mean(axis=1) "
                "for a, n in zip(starts, counts)], axis=1).astype(w.dtype)\n"),),
    ),
    Mutant(
        "short group over the full size", "divides a short last group by group_size", criterion="ragged_groups",
        edits=((COUNTS, COUNTS + "    full = np.full_like(counts, min(group_size, w.shape[1]))\n"),
               ("axis=1) / counts.astype(w.dtype)", "axis=1) / full.astype(w.dtype)")),
    ),
    Mutant(
        "short group has the scale before", "gives a short last group the scale of the group before it",
        criterion="ragged_groups",
        edits=((SCALE, SCALE + "    s[:, -1] = s[:, -2] if counts[-1] < counts[0] else s[:, -1]\n"),),
    ),
    Mutant(
        "short group joined", "adds a short last group to the group before it", criterion="ragged_groups",
        edits=((
            SCALE,
            SCALE + "    if len(counts) > 1 and counts[-1] < counts[0]:\n"
            "        s[:, -2:] = np.abs(w[:, starts[-2]:]).mean(axis=1, keepdims=True)\n",
        ),),
    ),
    Mutant(
        "short group dropped", "leaves a short last group at zero", criterion="ragged_groups",
        edits=((SCALE, SCALE + "    s[:, -1] *= counts[-1] == counts[0]\n"),),
    ),
    Mutant(
        "zero group NaN", "divides zero by zero in a group of zeros", criterion="zero_groups",
        edits=((RATIO, "    ratio = w / wide\n"), (T, "    t = np.clip(np.nan_to_num(np.rint(ratio), nan=1), -1, 1)"
                ".astype(np.int8)\n"), (PROJECT, "    s = np.where(s > 0, s, np.nan).astype(w.dtype)\n" + PROJECT)),
    ),
    Mutant(
        "zero group one", "gives a group of zeros the scale 1", criterion="zero_groups",
        edits=((PROJECT, "    s = np.where(s > 0, s, 1).astype(w.dtype)\n" + PROJECT),),
    ),
    Mutant(
        "zero group falls to its row", "gives a group of zeros the scale of its row", criterion="zero_groups",
        edits=((PROJECT, "    s = np.where(s > 0, s, np.abs(w).mean(axis=1, keepdims=True)).astype(w.dtype)\n"
                + PROJECT),),
    ),
    Mutant(
        "a small number added", "adds 1e-8 to every scale", criterion="extreme_scale",
        edits=((SCALE, SCALE + "    s = s + w.dtype.type(1e-8)\n"),),
    ),
    Mutant(
        "least scale", "never lets a scale fall below 1e-6", criterion="extreme_scale",
        edits=((SCALE, SCALE + "    s = np.maximum(s, w.dtype.type(1e-6))\n"),),
    ),
    Mutant(
        "tiny taken for zero", "takes weights below 1e-12 for zero", criterion="extreme_scale",
        edits=((SCALE, "    w = np.where(np.abs(w) < 1e-12, 0, w).astype(w.dtype)\n" + SCALE),),
    ),
    Mutant(
        "scale in float16", "keeps scales in float16", criterion="extreme_scale",
        edits=((PROJECT, "    s = s.astype(np.float16).astype(w.dtype)\n" + PROJECT),),
    ),
    Mutant(
        "default of 64", "takes groups of 64 where no size is given", criterion="group_sizes",
        edits=(("def project(w: Array, group_size: int = 32)", "def project(w: Array, group_size: int = 64)"),),
    ),
    Mutant(
        "groups of at least two", "takes groups of two where one is asked", criterion="group_sizes",
        edits=((STARTS, "    group_size = max(2, group_size)\n" + STARTS),
               ("    return t, s\n\n\ndef linear", "    return t, (s if s.shape[1] == -(-w.shape[1] // asked) else "
                "np.abs(w))\n\n\ndef linear"),
               (W_CHECK, "    asked = group_size\n" + W_CHECK)),
    ),
    Mutant(
        "large group refused", "refuses a group size larger than a row", criterion="group_sizes",
        edits=((GROUP_CHECK, '    _require(1 <= group_size <= w.shape[1], "group_size")\n'),),
    ),
    Mutant(
        "t in floating point", "returns t in the dtype of w", criterion="dtype",
        edits=((T, T.replace("np.int8", "w.dtype")),),
    ),
    Mutant(
        "scales in float64", "returns float64 scales whatever w is", criterion="dtype",
        edits=((SCALE, SCALE.replace("counts.astype(w.dtype)", "counts")),),
    ),
    Mutant(
        "short group in float64", "returns float64 scales where the last group is short", criterion="dtype",
        edits=((PROJECT, "    s = s if counts[-1] == group_size else s.astype(np.float64)\n" + PROJECT),
               (EXPANDED, EXPANDED.replace("\n", ".astype(w.dtype)\n"))),
    ),
    Mutant(
        "wrong shapes pass", "multiplies what has not the right shape", criterion="argument_errors",
        edits=((FORWARD_CHECK, ""),),
    ),
    Mutant(
        "wrong group sizes pass", "takes a group size of 0 for a whole row", criterion="argument_errors",
        edits=((GROUP_CHECK, "    group_size = group_size if group_size >= 1 else w.shape[1]\n"),),
    ),
)

LAYER = (
    Mutant(
        "latent weights used", "multiplies by the latent weights", criterion="linear",
        edits=((FORWARD, "    used = w\n"),),
    ),
    Mutant(
        "scale left out", "multiplies by the signs alone", criterion="linear",
        edits=((FORWARD, "    used = project(w, group_size)[0].astype(w.dtype)\n"),),
    ),
    Mutant(
        "scale squared", "multiplies by the scale twice", criterion="linear",
        edits=((FORWARD, FORWARD + "    used = used * np.abs(used)\n"),),
    ),
    Mutant(
        "inputs quantised", "rounds x to 8 bits", criterion="linear",
        edits=(("    y = x @ used.T\n", "    step = np.abs(x).max() / 127 + x.dtype.type(1e-30)\n"
                "    y = (np.rint(x / step) * step) @ used.T\n"),),
    ),
    Mutant(
        "single precision inside", "multiplies in float32 whatever it was given", criterion="linear",
        edits=(("    y = x @ used.T\n",
                "    y = (x.astype(np.float32) @ used.T.astype(np.float32)).astype(x.dtype)\n"),),
    ),
    Mutant(
        "group size ignored", "projects in groups of 32 whatever is asked", criterion="linear",
        edits=((FORWARD, "    used = _ternary(w, 32)\n"),),
    ),
    Mutant(
        "y off by a millionth", "scales y by 1 + 1e-4", criterion="linear",
        edits=((RETURN_Y, "    y = y * x.dtype.type(1.0001)\n" + RETURN_Y),),
    ),
    Mutant(
        "dx through latent weights", "sends dx through the latent weights", criterion="gradients",
        edits=((RETURN_Y, "    return y, (x, w)\n"),),
    ),
    Mutant(
        "dx through signs", "sends dx through the signs without their scale", criterion="straight_through",
        edits=((DX, "    dx = dy @ np.sign(used)\n"),),
    ),
    Mutant(
        "dw of the mean", "divides dw by the number of rows", criterion="gradients",
        edits=((DW, "    dw = dy.T @ x / x.dtype.type(len(x))\n"),),
    ),
    Mutant(
        "dw transposed", "returns the transpose of dw, in its shape", criterion="gradients",
        edits=((DW, "    dw = (x.T @ dy).reshape(used.shape)\n"),),
    ),
    Mutant(
        "dw off in one entry", "gets one entry of dw wrong by 1 part in 1000", criterion="gradients",
        edits=((DW, DW + "    dw[-1, dw.shape[1] // 2] *= dw.dtype.type(1.001)\n"),),
    ),
    Mutant(
        "zeros masked", "gives no gradient to entries that are projected to zero", criterion="straight_through",
        edits=((DW, "    dw = (dy.T @ x) * (used != 0)\n"),),
    ),
    Mutant(
        "large entries masked", "gives no gradient to entries beyond their scale", criterion="straight_through",
        edits=((RETURN_Y, "    return y, (x, used, np.abs(w) <= 2 * np.abs(used).max(axis=1, keepdims=True))\n"),
               ("    x, used = cache\n", "    x, used, near = cache\n"),
               (DW, "    dw = (dy.T @ x) * near\n")),
    ),
    Mutant(
        "dw times the scale", "multiplies dw by the scale", criterion="straight_through",
        edits=((DW, "    dw = (dy.T @ x) * np.abs(used).max(axis=1, keepdims=True)\n"),),
    ),
    Mutant(
        "cache of the latest forward", "lets a backward use the latest forward", criterion="statelessness",
        edits=((RETURN_Y, "    _LATEST[:] = [x, used]\n" + RETURN_Y),
               ("    x, used = cache\n", "    x, used = _LATEST\n"),
               ("CLIP_NORM = 1.0 ", "_LATEST: list[Any] = []\nCLIP_NORM = 1.0 ")),
    ),
    Mutant(
        "w projected in place", "writes the ternary weights into w", criterion="statelessness",
        edits=((FORWARD, FORWARD + "    w[:] = used\n"),),
    ),
    Mutant(
        "w projected in place and put back", "writes the ternary weights into w, and puts w back",
        criterion="statelessness",
        edits=((FORWARD, "    held = w.copy()\n" + FORWARD + "    w[:] = used\n    w[:] = held\n"),),
    ),
    Mutant(
        "shared output", "returns the same array of y again and again", criterion="statelessness",
        edits=((RETURN_Y, "    kept = _KEPT.setdefault((y.shape, y.dtype), y)\n    kept[:] = y\n"
                "    return kept, (x, used)\n"),
               ("CLIP_NORM = 1.0 ", "_KEPT: dict[Any, Array] = {}\nCLIP_NORM = 1.0 ")),
    ),
    Mutant(
        "projection kept by shape", "projects a matrix of some shape only once", criterion="linear",
        edits=((FORWARD, "    used = _KEPT.setdefault((w.shape, w.dtype), _ternary(w, group_size))\n"),
               ("CLIP_NORM = 1.0 ", "_KEPT: dict[Any, Array] = {}\nCLIP_NORM = 1.0 ")),
    ),
    Mutant(
        "digits lost", "rounds y to some of its digits", criterion="accuracy",
        edits=((RETURN_Y, "    y = y + np.abs(y).max() * x.dtype.type(300 * np.finfo(x.dtype).eps)\n" + RETURN_Y),),
    ),
    Mutant(
        "blocks of 256 columns", "leaves out columns beyond the last whole block of 256", criterion="any_size",
        edits=(("    y = x @ used.T\n", "    last = max(256, x.shape[1] // 256 * 256)\n"
                "    y = x[:, :last] @ used[:, :last].T\n"),),
    ),
    Mutant(
        "columns in 16 bits", "counts columns in 16 bits", criterion="any_size",
        edits=(("    y = x @ used.T\n", "    last = x.shape[1] & 0xFFFF\n    y = x[:, :last] @ used[:, :last].T\n"),),
    ),
    Mutant(
        "rows in 16 bits", "counts rows in 16 bits", criterion="any_size",
        edits=((RETURN_Y, "    y[0xFFFF:] = 0\n" + RETURN_Y),),
    ),
    Mutant(
        "group sizes in 16 bits", "counts the entries of a group in 16 bits", criterion="any_size",
        edits=((COUNTS, "    counts = np.diff(np.append(starts, w.shape[1])).astype(np.int16)\n"),
               ("    wide = np.repeat(s, counts, axis=1)\n",
                "    wide = np.repeat(s, np.diff(np.append(starts, w.shape[1])), axis=1)\n")),
    ),
    Mutant(
        "many rows cut", "leaves rows beyond 128 at zero", criterion="any_size",
        edits=((RETURN_Y, "    y[128:] = 0\n" + RETURN_Y),),
    ),
)

FORM = (
    Mutant(
        "nothing between warm-up and the last step", "divides zero by zero where the step after warm-up is the last",
        criterion="configs",
        edits=(('step / config["steps"]\n',
                'np.divide(max(0, step - WARM_UP), config["steps"] - 1 - WARM_UP)\n'),),
    ),
    Mutant(
        "weights in float64", "returns float64 weights", criterion="configs",
        edits=((DTYPES_OF_WEIGHTS, DTYPES_OF_WEIGHTS.replace("np.float32", "np.float64")),),
    ),
    Mutant(
        "config ignored", "always has two layers", criterion="configs",
        edits=((TEXT, TEXT + '    config = config | {"layers": 2}\n'),),
    ),
    Mutant(
        "groups of 32 in training", "trains with groups of 32 whatever the config says", criterion="configs",
        edits=((TEXT, TEXT + '    config = config | {"group_size": 32}\n'),),
    ),
    Mutant(
        "embedding in groups of 32", "projects the embedding in groups of 32 whatever the config says",
        criterion="configs",
        edits=((EMBED, '    used = _ternary(weights["embed"], 32)\n'), (OUTPUT, OUTPUT.replace("size)", "32)"))),
    ),
)

MUTANTS = (*PROJECTION, *LAYER, *FORM, *TRAINING, *GRADIENTS)
