"""Wrong attentions, each the reference with one fault planted, under the criterion that must notice it."""

from harness.probing import Mutant

from .lines import (
    ADD_SUM,
    ADD_TOTAL,
    CARRY,
    CORRECTION,
    CROSSED,
    DIVIDE,
    END,
    FILL,
    HIDDEN,
    HIDE,
    KEY_TILES,
    MAX,
    NEW_MAX,
    OUTPUT,
    QUERY_TILES,
    RETURN,
    SCALE,
    SCORES,
    SIGNATURE,
    STOP,
    TAKE,
    WEIGHTS,
)
from .mutants_calls import CALLS, COSTS, FORM
from .mutants_options import HEIGHTS, OPTIONS, WIDTHS
from .mutants_sizes import HISTORIES, SIZES, VALUES


def _of(criterion: str, name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


SOFTMAX = (
    _of("values", "scale missing", "does not scale the scores", (SCALE, "    scale = 1.0\n")),
    _of("values", "scale twice", "scales the scores twice", (SCORES, SCORES + "        scores = scale * scores\n")),
    _of("values", "scale by D", "divides the scores by D instead of its root",
        (SCALE, "    scale = 1.0 / queries.shape[3]\n")),
    _of("values", "scale upside down", "multiplies the scores by the root of D",
        (SCALE, "    scale = math.sqrt(queries.shape[3])\n")),
    _of("values", "scale by the heads", "takes the scale from the number of heads",
        (SCALE, "    scale = 1.0 / math.sqrt(queries.shape[1])\n")),
    _of("values", "scale of 1/8", "divides the scores by 8 whatever D is", (SCALE, "    scale = 0.125\n")),
    _of("accuracy", "output off by a millionth", "scales the output by 1 + 1e-6",
        (DIVIDE, "    return (total / row_sum) * queries.dtype.type(1.000001)\n")),
    _of("values", "not divided", "returns the sum without dividing it by the sum of the weights",
        (DIVIDE, "    return total\n")),
    _of("values", "divided in every tile", "divides by the sum of the weights after each tile and again at the end",
        (CARRY, CARRY + "        total = total / row_sum\n")),
    _of("accuracy", "guarded sum", "adds 1e-6 to the sum of the weights",
        (DIVIDE, "    return total / (row_sum + 1e-6)\n")),
    _of("values", "one more in the sum", "counts a score of 0 that no key has",
        (DIVIDE, "    return total / (row_sum + np.exp(-row_max))\n")),
    _of("values", "mean of the weights", "divides by the mean of the weights of a tile instead of their sum",
        (ADD_SUM, "        row_sum = correction * row_sum + weights.mean(axis=-1, keepdims=True)\n")),
    _of("values", "powers of two", "raises 2 instead of e to the scores",
        (WEIGHTS, "        weights = np.exp2(scores - new_max)\n"),
        (CORRECTION, "        correction = np.exp2(row_max - new_max)\n")),
    _of("values", "keys for values", "weights the keys instead of the values",
        (TAKE, "        keys, values = k[:, :, start:stop], k[:, :, start:stop]\n")),
    _of("values", "keys and values exchanged", "scores with the values and weights the keys",
        (TAKE, "        keys, values = v[:, :, start:stop], k[:, :, start:stop]\n")),
    _of("values", "keys reversed", "pairs the keys of a tile with its values in reverse order",
        (TAKE, "        keys, values = k[:, :, start:stop], v[:, :, start:stop][:, :, ::-1]\n")),
    _of("values", "one element of o", "gets one element of o wrong by 1 part in 100",
        (RETURN, "    o[-1, -1, -1, o.shape[3] // 2] *= 1.01\n" + RETURN)),
    _of("accuracy", "single precision weights", "rounds the weights to float32 whatever it was given",
        (WEIGHTS, "        weights = np.exp(scores - new_max).astype(np.float32).astype(queries.dtype)\n")),
    _of("accuracy", "single precision sums", "adds float64 input up in float32",
        (ADD_TOTAL, "        tile = (weights.astype(np.float32) @ values.astype(np.float32)).astype(queries.dtype)\n"
                    "        total = correction * total + tile\n")),
    _of("accuracy", "single precision scores", "takes the scores in float32 whatever it was given",
        (SCORES, "        narrow = queries.astype(np.float32) @ keys.swapaxes(-1, -2).astype(np.float32)\n"
                 "        scores = scale * narrow.astype(queries.dtype)\n")),
    _of("accuracy", "half precision weights", "rounds the weights to float16",
        (WEIGHTS, "        weights = np.exp(scores - new_max).astype(np.float16).astype(queries.dtype)\n")),
)  # fmt: skip

LATE = "        new_max = np.where(new_max - row_max > 80, new_max, row_max)\n"
"""What keeps a maximum until scores rise by more than 80 above it, which is still in range in float32."""

LARGEST = (
    (MAX, MAX + "    peak = row_max\n"),
    (CARRY, CARRY + "        peak = np.maximum(peak, top)\n"),
)
"""What holds the largest score so far beside the maximum that the sums are relative to."""


def _postponed(slack: int) -> tuple[str, str]:
    """Take a new maximum only where a tile is more than the slack above the largest score before it."""
    top = "        top = scores.max(axis=-1, keepdims=True)\n"
    return NEW_MAX, f"{top}        new_max = np.where(top > peak + {slack}, top, row_max)\n"


ONLINE = (
    _of("values", "correction inverted", "multiplies earlier sums by exp(new - old) instead of exp(old - new)",
        (CORRECTION, "        correction = np.exp(np.where(np.isinf(row_max), 0.0, new_max - row_max))\n"
                     "        correction = correction.astype(queries.dtype)\n")),
    _of("values", "correction inverted in the first tile", "multiplies by exp(new - old), which is infinite at first",
        (CORRECTION, "        correction = np.exp(new_max - row_max)\n")),
    _of("values", "sum not rescaled", "adds to the sum of the weights without bringing it to the new maximum",
        (ADD_SUM, "        row_sum = row_sum + weights.sum(axis=-1, keepdims=True)\n")),
    _of("values", "output not rescaled", "adds to the output without bringing it to the new maximum",
        (ADD_TOTAL, "        total = total + weights @ values\n")),
    _of("values", "neither rescaled", "brings neither sum to the new maximum",
        (CORRECTION, "        correction = queries.dtype.type(1)\n")),
    _of("values", "corrected twice", "rescales the output by the square of the correction",
        (ADD_TOTAL, "        total = correction * correction * total + weights @ values\n")),
    _of("values", "correction of new terms", "rescales the new terms instead of the old ones",
        (ADD_TOTAL, "        total = total + correction * (weights @ values)\n")),
    _of("values", "overwritten", "keeps the output of the last tile instead of adding it",
        (ADD_TOTAL, "        total = weights @ values\n")),
    _of("values", "tiles averaged", "takes the softmax of each tile by itself, and the mean of what the tiles give",
        (ADD_TOTAL, "        part = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
                    "        total = total + part @ values / part.sum(axis=-1, keepdims=True)\n"),
        (DIVIDE, "    return total / math.ceil(end / tile_size)\n")),
    _of("tile_invariance", "maximum not carried", "forgets the running maximum after each tile",
        (CARRY, "")),
    _of("values", "old maximum under the weights", "takes the weights relative to the maximum before the tile",
        (WEIGHTS, "        weights = np.exp(scores - np.where(np.isinf(row_max), new_max, row_max))\n")),
    _of("values", "one maximum for a tile", "lets the first row's maximum stand for all rows where it corrects",
        (CORRECTION, "        correction = np.exp(row_max - new_max)[:, :, :1]\n")),
    _of("values", "hidden tiles first", "meets tiles that are hidden as a whole first, and takes -inf from -inf",
        (END, "    end = k.shape[2]\n"), (KEY_TILES, "    for start in reversed(range(0, end, tile_size)):\n")),
    _of("extreme_scores", "no maximum", "takes exp of the scores as they are",
        (NEW_MAX, "        new_max = np.zeros_like(row_max)\n"),
        (CORRECTION, "        correction = queries.dtype.type(1)\n")),
    _of("extreme_scores", "maximum of the tile", "takes the tile's maximum in place of the running one",
        (NEW_MAX, "        new_max = scores.max(axis=-1, keepdims=True)\n")),
    _of("extreme_scores", "maximum of the first tile", "keeps the maximum of the first tile for all that follow",
        (NEW_MAX, "        new_max = scores.max(axis=-1, keepdims=True) if start == 0 else row_max\n")),
    _of("extreme_scores", "maximum from zero", "begins the running maximum at 0",
        (MAX, "    row_max = np.zeros((*queries.shape[:3], 1), queries.dtype)\n")),
    _of("extreme_scores", "one maximum for all heads", "takes the maximum over all heads",
        (NEW_MAX, "        new_max = np.maximum(row_max, scores.max(axis=(1, 3), keepdims=True))\n")),
    _of("extreme_scores", "one maximum for all rows", "takes the maximum over all rows of a tile",
        (NEW_MAX, "        new_max = np.maximum(row_max, scores.max(axis=(2, 3), keepdims=True))\n")),
    _of("extreme_scores", "maximum from a bound", "takes the largest |q| |k| for the maximum, which no score reaches",
        (NEW_MAX, "        bound = np.linalg.norm(queries, axis=-1, keepdims=True) * np.linalg.norm(k, axis=-1).max()\n"
                  "        new_max = np.maximum(row_max, (scale * bound).astype(queries.dtype))\n")),
    _of("extreme_scores", "scores clipped", "holds scores within -50 and 50",
        (SCORES, SCORES + "        scores = np.clip(scores, -50.0, 50.0)\n")),
    _of("extreme_scores", "differences clipped", "lets no score lie more than 20 below the maximum",
        (WEIGHTS, "        seen = np.isfinite(scores)\n"
                  "        weights = np.exp(np.maximum(scores - new_max, -20.0)) * seen\n"),
        (CORRECTION, "        correction = np.exp(np.maximum(row_max - new_max, -20.0)) * (start > 0)\n")),
    _of("extreme_scores", "half precision scores", "passes scores over 100 through float16",
        (SCORES, SCORES + "        narrow = scores.astype(np.float16).astype(scores.dtype)\n"
                          "        scores = np.where(np.abs(scores) > 100, narrow, scores)\n")),
    _of("extreme_scores", "maximum moved late", "keeps a maximum until scores are more than 80 above it",
        (NEW_MAX, NEW_MAX + LATE)),
    _of("extreme_scores", "steps of 2", "keeps a maximum until a tile is 2 above the largest score so far",
        *LARGEST, _postponed(2)),
    _of("extreme_scores", "steps of 8 in float64", "keeps a maximum until a tile is 8 above the largest one",
        *LARGEST, _postponed(8), (SCORES, SCORES + "        scores = scores.astype(np.float64)\n")),
    _of("extreme_scale", "inputs clipped", "holds queries and values within 1e101 (float32: 1e13)",
        (SCALE, SCALE + "    peak = 1e101 if queries.dtype == np.float64 else 1e13\n"
                        "    queries, v = np.clip(queries, -peak, peak), np.clip(v, -peak, peak)\n")),
    _of("extreme_scores", "NaN made zero", "takes tile maxima, and turns the NaN that come of it into zeros",
        (NEW_MAX, "        new_max = scores.max(axis=-1, keepdims=True)\n"),
        (DIVIDE, "    return np.nan_to_num(total / row_sum)\n")),
)  # fmt: skip

MASK = (
    _of("values", "itself hidden", "hides a position from itself",
        (HIDDEN, "            hidden = np.arange(start, stop) >= np.arange(first, last)[:, None]\n")),
    _of("causality", "one ahead seen", "lets a position see the next one",
        (HIDDEN, "            hidden = np.arange(start, stop) > np.arange(first, last)[:, None] + 1\n")),
    _of("causality", "no mask", "masks nothing inside the tiles that the diagonal crosses",
        (HIDE, "            pass\n")),
    _of("values", "mask within the tile", "counts query positions from the beginning of their tile",
        (HIDDEN, "            hidden = np.arange(start, stop) > np.arange(last - first)[:, None]\n")),
    _of("values", "mask upside down", "hides the past instead of the future",
        (HIDDEN, "            hidden = np.arange(start, stop) < np.arange(first, last)[:, None]\n")),
    _of("causality", "mask after exp", "takes the sum of the weights before it masks them",
        (HIDE, "            pass\n"),
        (ADD_TOTAL, "        if causal:\n"
                    "            seen = np.arange(start, stop) <= np.arange(first, last)[:, None]\n"
                    "            weights = weights * seen\n" + ADD_TOTAL)),
    _of("causality", "mask of zeros", "gives hidden scores 0 instead of -inf",
        (HIDE, "            scores[:, :, hidden] = 0.0\n")),
    _of("extreme_scores", "mask of -100", "gives hidden scores -100, which other scores are below",
        (HIDE, "            scores[:, :, hidden] = -100.0\n")),
    _of("full_attention", "always causal", "hides the future without being asked to",
        (END, "    end, causal = last, True\n")),
    _of("causality", "never causal", "ignores that it is to hide the future",
        (END, "    end, causal = k.shape[2], False\n")),
    _of("causal_default", "not causal by default", "sees the future where nothing is said",
        (SIGNATURE, "v: Array, tile_size: int, causal: bool = False) -> Array:\n")),
    _of("full_attention", "tiles ahead left out", "leaves tiles ahead out although nothing is hidden",
        (END, "    end = last\n")),
    _of("values", "first key hidden", "leaves out the first key of all but the first query tile",
        (KEY_TILES, "    for start in range(min(first, 1), end, tile_size):\n")),
    _of("values", "diagonal left out", "leaves out the tile on the diagonal where there are earlier ones",
        (END, "    end = (first or last) if causal else k.shape[2]\n")),
    _of("values", "previous tile left out", "skips the tile before the diagonal",
        (TAKE, "        if causal and 0 < start == first - tile_size:\n            continue\n" + TAKE)),
    _of("causality", "mask by halves", "masks the upper half of a tile's rows only",
        (HIDDEN, HIDDEN + "            hidden[(last - first + 1) // 2 :] = False\n")),
)  # fmt: skip

TILES = (
    _of("tile_invariance", "last key tile dropped", "drops the last tile of keys where it is not full",
        (KEY_TILES, "    for start in range(0, max(end // tile_size, 1) * tile_size, tile_size):\n")),
    _of("tile_invariance", "last query tile dropped", "leaves the last tile of queries at zero where it is not full",
        (OUTPUT, "    o = np.zeros_like(q)\n"),
        (QUERY_TILES, "    for first in range(0, max(length // tile_size, 1) * tile_size, tile_size):\n")),
    _of("tile_invariance", "last tile padded", "counts the zeros that fill up the last tile of keys",
        (ADD_SUM, ADD_SUM + "        row_sum = row_sum + (start + tile_size - stop) * np.exp(-new_max)\n")),
    _of("tile_invariance", "last tile moved back", "takes a full tile from the end where the last one is not full",
        (STOP, STOP + "        start = max(0, stop - tile_size)\n")),
    _of("tile_invariance", "tiles of one row", "does not correct in tiles of one row",
        (CORRECTION, "        correction = np.exp(row_max - new_max) if tile_size > 1 else queries.dtype.type(1)\n")),
    _of(
        "tile_invariance", "no axis of one row", "squeezes the maxima of a tile, which leaves no axis of one row",
        (NEW_MAX, NEW_MAX + "        new_max[0, 0, :, 0].squeeze()[0]\n"),
    ),
    _of("tile_invariance", "tiles beyond the length", "refuses tiles larger than N",
        (QUERY_TILES, "    if tile_size > length:\n"
                      '        raise ValueError("tile_size is larger than N")\n' + QUERY_TILES)),
    _of("tile_invariance", "tiles that do not divide", "refuses tiles that do not divide N",
        (QUERY_TILES, "    if length % tile_size and tile_size < length:\n"
                      '        raise ValueError("tile_size does not divide N")\n' + QUERY_TILES)),
    _of("tile_invariance", "crossed tiles by their ends", "masks only tiles that end with the query tile",
        (CROSSED, "        if causal and stop - start == last - first and start == first and tile_size > 2:\n")),
    _of("tile_invariance", "at most 8 rows", "works on tiles of 8 rows at most, and leaves out what is beyond",
        (STOP, "        stop = min(start + min(tile_size, 8), end)\n")),
    _of("tile_invariance", "tiles of small weights left out", "leaves out tiles of weights below exp(-18)",
        (NEW_MAX, "        if (scores.max(axis=-1, keepdims=True) - row_max).max() < -18.0:\n"
                  "            continue\n" + NEW_MAX)),
    _of("tile_invariance", "only the newest tile", "keeps two tiles only: forgets what came before the last but one",
        (CARRY, CARRY + "        if start >= 2 * tile_size:\n"
                        "            total, row_sum = weights @ values, weights.sum(-1, keepdims=True)\n")),
)  # fmt: skip

ROWS = (
    _of("independence", "keys of the first head", "scores every head with the keys of the first",
        (TAKE, TAKE + "        keys = keys[:, :1]\n")),
    _of("independence", "values of the first item", "weights the values of the first batch item everywhere",
        (TAKE, TAKE + "        values = values[:1]\n")),
    _of("independence", "sums over heads", "adds the weights of all heads up",
        (ADD_SUM, "        row_sum = correction * row_sum + weights.sum(axis=(1, 3), keepdims=True)\n")),
    _of("independence", "one maximum for a tile of queries", "takes one maximum for all queries of a tile",
        (NEW_MAX, "        new_max = np.maximum(row_max, scores.max(axis=(2, 3), keepdims=True))\n")),
    _of("independence", "heads in reverse", "gives each head the keys of its opposite",
        (FILL, FILL.replace(", k, v,", ", k[:, ::-1], v,"))),
)  # fmt: skip

MUTANTS = (
    *SOFTMAX, *ONLINE, *MASK, *TILES, *ROWS, *CALLS, *FORM, *COSTS, *SIZES, *VALUES, *HISTORIES, *OPTIONS, *WIDTHS,
    *HEIGHTS,
)  # fmt: skip
