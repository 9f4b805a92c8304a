"""Right attentions that work differently from the reference: every probe must stay silent on them."""

from harness.probing import Variant

from .lines import (
    ADD_DK,
    ADD_DQ,
    ADD_DV,
    ADD_SUM,
    ADD_TOTAL,
    DELTA,
    DIVIDE,
    DSCORES,
    FORWARD_TILES,
    GRADIENTS,
    HIDE,
    KEY_TILES,
    NEW_MAX,
    QUERY_TILES,
    RECALL,
    SAVE,
    SCALE,
    SCORES,
    SLOPES,
    WEIGHTS,
    ZEROS,
)

VARIANTS = (
    Variant(
        "einsum",
        "contracts every product with einsum",
        edits=(
            (SCORES, '            scores = scale * np.einsum("bhid,bhjd->bhij", q[:, :, rows], k[:, :, keys])\n'),
            (SLOPES, '            slopes = np.einsum("bhid,bhjd->bhij", do[:, :, rows], v[:, :, keys])\n'),
            (ADD_DV, '            dv[:, :, keys] += np.einsum("bhij,bhid->bhjd", weights, do[:, :, rows])\n'),
            (ADD_DQ, '            dq[:, :, rows] += scale * np.einsum("bhij,bhjd->bhid", dscores, k[:, :, keys])\n'),
            (ADD_DK, '            dk[:, :, keys] += scale * np.einsum("bhij,bhid->bhjd", dscores, q[:, :, rows])\n'),
        ),
    ),
    Variant(
        "tiles from the back",
        "meets tiles of queries and keys from the last to the first, in both passes",
        edits=(
            (QUERY_TILES, QUERY_TILES.replace("in range(_blind(ahead, causal), length, tile_size)",
                                              "in reversed(range(0, length, tile_size))")),
            (KEY_TILES, KEY_TILES.replace("range(0, end, tile_size)", "reversed(range(0, end, tile_size))")),
            (FORWARD_TILES, FORWARD_TILES.replace("range(0, end, tile_size)", "reversed(range(0, end, tile_size))")),
        ),
    ),
    Variant(
        "row sum from the weights",
        "takes the row sum in a pass over all tiles of keys before the gradients",
        edits=(
            (DELTA, "    delta = _row_sums(q, k, v, do, logsumexp, tile_size, causal)\n"),
            (
                "def _check_arguments",
                "def _row_sums(\n"
                "    q: Array, k: Array, v: Array, do: Array, logsumexp: Array, tile_size: int, causal: bool\n"
                ") -> Array:\n"
                "    total = np.zeros((*q.shape[:3], 1), q.dtype)\n"
                "    places = np.arange(q.shape[2])\n"
                "    for start in range(0, q.shape[2], tile_size):\n"
                "        keys = slice(start, start + tile_size)\n"
                "        for first in range(start if causal else 0, q.shape[2], tile_size):\n"
                "            rows = slice(first, first + tile_size)\n"
                "            scores = q[:, :, rows] @ k[:, :, keys].swapaxes(-1, -2) / math.sqrt(q.shape[3])\n"
                "            if causal:\n"
                "                scores[:, :, places[keys] > places[rows, None]] = -np.inf\n"
                "            weights = np.exp(scores - logsumexp[:, :, rows, None]).astype(q.dtype)\n"
                "            slopes = do[:, :, rows] @ v[:, :, keys].swapaxes(-1, -2)\n"
                "            total[:, :, rows] += (weights * slopes).sum(axis=-1, keepdims=True)\n"
                "    return total\n\n\ndef _check_arguments",
            ),
        ),
    ),
    Variant(
        "L in float64",
        "keeps L in float64, and takes the weights relative to it",
        edits=(
            (
                DIVIDE,
                "    logsumexp = row_max.astype(np.float64) + np.log(row_sum.astype(np.float64))\n"
                "    return total / row_sum, logsumexp[..., 0]\n",
            ),
            ("    logsumexp = np.full(q.shape[:3], -np.inf, q.dtype)\n", "    logsumexp = np.empty(q.shape[:3])\n"),
        ),
    ),
    Variant(
        "scaled at the end",
        "scales queries once for the scores, and dq once at the end",
        edits=(
            (SCALE, SCALE + "    scaled = q * q.dtype.type(scale)\n"),
            (SCORES, "            scores = scaled[:, :, rows] @ k[:, :, keys].swapaxes(-1, -2)\n"),
            (ADD_DQ, "            dq[:, :, rows] += dscores @ k[:, :, keys]\n"),
            (ADD_DK, "            dk[:, :, keys] += dscores.swapaxes(-1, -2) @ scaled[:, :, rows]\n"),
            (GRADIENTS, "    return dq * dq.dtype.type(scale), dk, dv\n"),
        ),
    ),
    Variant(
        "copies in the cache",
        "keeps copies of the inputs and of the output",
        edits=((SAVE, '    kept = {"O": o, "L": logsumexp, "Q": q, "K": k, "V": v}\n'
                      "    return o, {name: values.copy() for name, values in kept.items()}\n"),),
    ),
    Variant(
        "double inside",
        "computes float32 gradients in float64 and rounds them",
        edits=(
            (ZEROS, "    dq, dk, dv = (np.zeros(q.shape) for _ in range(3))\n"),
            (RECALL, RECALL + "    o = o.astype(np.float64)\n"),
            (SLOPES, "            slopes = do[:, :, rows].astype(np.float64) @ v[:, :, keys].swapaxes(-1, -2)\n"),
            (SCORES, SCORES.replace("(q[:, :, rows] @", "(q[:, :, rows].astype(np.float64) @")),
            (WEIGHTS, WEIGHTS.replace(".astype(q.dtype)", "")),
            (GRADIENTS, "    return dq.astype(q.dtype), dk.astype(q.dtype), dv.astype(q.dtype)\n"),
        ),
    ),
    Variant(
        "running sums",
        "adds weights of the forward, and the row sum, up from left to right",
        edits=(
            (ADD_SUM, "        row_sum = correction * row_sum + raised.cumsum(axis=-1)[..., -1:]\n"),
            (
                ADD_TOTAL,
                "        total = correction * total\n"
                "        for place in range(start, stop):\n"
                "            total += raised[..., place - start, None] * v[:, :, place : place + 1]\n",
            ),
            (DELTA, "    delta = (do * o).cumsum(axis=-1)[..., -1:]\n"),
        ),
    ),
    Variant(
        "masked afterwards",
        "sets hidden weights to zero after the exponential, whose argument is at most 0",
        edits=(
            (HIDE, "                pass\n"),
            (
                WEIGHTS,
                "            differences = np.minimum(scores - logsumexp[:, :, rows, None], 60.0)\n"
                "            weights = np.exp(differences).astype(q.dtype)\n"
                "            if causal and stop > first:\n"
                "                weights[:, :, hidden] = 0.0\n",
            ),
        ),
    ),
    Variant(
        "rescaled late",
        "keeps what the sums are relative to until scores are more than 8 above it",
        edits=((NEW_MAX, NEW_MAX + "        new_max = np.where(new_max > row_max + 8, new_max, row_max)\n"),),
    ),
    Variant(
        "terms apart",
        "adds the two terms of the gradient of the scores up apart",
        edits=(
            (DSCORES, "            dscores = weights * slopes - weights * delta[:, :, rows]\n"),
        ),
    ),
    Variant("keys outside", "goes over the keys outside, forward and backward", file="variants/keys_outside.py"),
    Variant("two loops", "one loop for dq, another one for dk and dv, by heads", file="variants/two_loops.py"),
    Variant("columns", "holds everything with features first, scores with keys first", file="variants/columns.py"),
    Variant("row by row", "one query after the other, in plain loops over items and heads", file="variants/rows.py"),
)  # fmt: skip
