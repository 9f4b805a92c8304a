"""Right attentions that work differently from the reference: every probe must stay silent on them."""

from harness.probing import Variant

from .lines import (
    ADD_SUM,
    ADD_TOTAL,
    CHECKS,
    CORRECTION,
    CROSSED,
    DIVIDE,
    FILL,
    HIDDEN,
    HIDE,
    KEY_TILES,
    LENGTH,
    NEW_MAX,
    OUTPUT,
    QUERY_TILES,
    SCALE,
    SCORES,
    WEIGHTS,
)

VARIANTS = (
    Variant(
        "einsum",
        "contracts scores and outputs with einsum",
        edits=(
            (SCORES, '        scores = scale * np.einsum("bhid,bhjd->bhij", queries, keys)\n'),
            (ADD_TOTAL, '        total = correction * total + np.einsum("bhij,bhjd->bhid", weights, values)\n'),
            (ADD_SUM, '        row_sum = correction * row_sum + np.einsum("bhij->bhi", weights)[..., None]\n'),
        ),
    ),
    Variant(
        "queries scaled",
        "scales the queries once, and adds a mask of -inf to the scores",
        edits=(
            (SCALE, SCALE + "    queries = queries * queries.dtype.type(scale)\n"),
            (SCORES, "        scores = queries @ keys.swapaxes(-1, -2)\n"),
            (HIDE, "            scores = scores + np.where(hidden, -np.inf, 0.0).astype(scores.dtype)\n"),
        ),
    ),
    Variant(
        "tiles from the back",
        "meets the tiles from the last to the first",
        edits=((KEY_TILES, "    for start in reversed(range(0, end, tile_size)):\n"),),
    ),
    Variant(
        "powers of two",
        "folds the logarithm of e into the scale and raises 2",
        edits=(
            (SCALE, "    scale = math.log2(math.e) / math.sqrt(queries.shape[3])\n"),
            (WEIGHTS, "        weights = np.exp2(scores - new_max)\n"),
            (CORRECTION, "        correction = np.exp2(row_max - new_max)\n"),
        ),
    ),
    Variant(
        "divided as it goes",
        "holds the finished output of the keys so far instead of its numerator",
        edits=(
            (
                ADD_SUM,
                "        old_sum = correction * row_sum\n"
                "        row_sum = old_sum + weights.sum(axis=-1, keepdims=True)\n",
            ),
            (ADD_TOTAL, "        total = (old_sum * total + weights @ values) / row_sum\n"),
            (DIVIDE, "    return total\n"),
        ),
    ),
    Variant(
        "rescaled late",
        "keeps what the sums are relative to until scores are more than 8 above it",
        edits=((NEW_MAX, NEW_MAX + "        new_max = np.where(new_max > row_max + 8, new_max, row_max)\n"),),
    ),
    Variant(
        "two passes",
        "finds the maximum over all tiles first, and adds up in a second pass",
        edits=(
            (
                KEY_TILES,
                "    row_max = _largest(queries, k, first, tile_size, causal)\n" + KEY_TILES,
            ),
            (NEW_MAX, "        new_max = row_max\n"),
            (
                CHECKS,
                "def _largest(queries: Array, k: Array, first: int, tile_size: int, causal: bool) -> Array:\n"
                "    last = first + queries.shape[2]\n"
                "    scale, largest = 1.0 / math.sqrt(queries.shape[3]), -np.inf\n"
                "    end = last if causal else k.shape[2]\n"
                "    for start in range(0, end, tile_size):\n"
                "        stop = min(start + tile_size, end)\n"
                "        scores = scale * (queries @ k[:, :, start:stop].swapaxes(-1, -2))\n"
                "        if causal and stop > first:\n"
                "            hidden = np.arange(start, stop) > np.arange(first, last)[:, None]\n"
                "            scores[:, :, hidden] = -np.inf\n"
                "        largest = np.maximum(largest, scores.max(axis=-1, keepdims=True))\n"
                "    return largest\n\n\n" + CHECKS,
            ),
        ),
    ),
    Variant(
        "double inside",
        "computes float32 tiles in float64 and rounds the output",
        edits=(
            (SCORES, "        scores = scale * (queries.astype(np.float64) @ keys.swapaxes(-1, -2))\n"),
            (DIVIDE, "    return (total / row_sum).astype(queries.dtype)\n"),
        ),
    ),
    Variant(
        "running sums",
        "adds weights up from left to right",
        edits=(
            (ADD_SUM, "        row_sum = correction * row_sum + weights.cumsum(axis=-1)[..., -1:]\n"),
            (
                ADD_TOTAL,
                "        total = correction * total\n"
                "        for place in range(values.shape[2]):\n"
                "            total += weights[..., place : place + 1] * values[:, :, place : place + 1]\n",
            ),
        ),
    ),
    Variant(
        "mask by np.where",
        "compares positions in every tile, also below the diagonal",
        edits=(
            (CROSSED, "        if causal:\n"),
            (HIDE, "            scores = np.where(hidden, -np.inf, scores)\n"),
            (HIDDEN, "            hidden = np.less.outer(np.arange(first, last), np.arange(start, stop))\n"),
        ),
    ),
    Variant(
        "the lowest number for hidden",
        "gives hidden scores the lowest finite number, which no score of the contract is below",
        edits=((HIDE, "            scores[:, :, hidden] = np.finfo(scores.dtype).min\n"),),
    ),
    Variant(
        "heads in a loop",
        "works on one head after the other",
        edits=(
            (QUERY_TILES, "    for b, h, first in np.ndindex(*q.shape[:2], -(-length // tile_size)):\n"
                          "        first *= tile_size\n"),
            (FILL, "        head = np.s_[b : b + 1, h : h + 1]\n"
                   "        o[head][:, :, first:last] = _attend(q[head][:, :, first:last], k[head], v[head],\n"
                   "                                            first, tile_size, causal)\n"),
        ),
    ),
    Variant(
        "blocks of its own",
        "halves large tiles, so that no tile is larger than 256",
        edits=((LENGTH, LENGTH + "    while tile_size > 256:\n        tile_size = -(-tile_size // 2)\n"),
               (OUTPUT, "    o = np.zeros(q.shape, q.dtype)\n")),
    ),
    Variant("keys outside", "goes over the keys outside and the queries inside", file="variants/keys_outside.py"),
    Variant("merged by logarithms", "finishes each tile, and merges them by log-sum-exp", file="variants/merged.py"),
    Variant("recursive", "halves the keys until they fit a tile, and merges the halves", file="variants/recursive.py"),
    Variant("row by row", "one query after the other, in plain loops over items and heads", file="variants/rows.py"),
    Variant("columns", "holds queries and keys as columns, scores with keys first", file="variants/columns.py"),
)  # fmt: skip
