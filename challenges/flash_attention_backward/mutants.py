"""Wrong attentions, each the reference with one fault planted, under the criterion that must notice it."""

from harness.probing import Mutant

from .lines import (
    ADD_DK,
    ADD_DQ,
    ADD_DV,
    ADD_SUM,
    ADD_TOTAL,
    CARRY,
    CORRECTION,
    DELTA,
    DIVIDE,
    DSCORES,
    END,
    FORWARD_END,
    FORWARD_HIDE,
    FORWARD_SCALE,
    FORWARD_SCORES,
    FORWARD_TILES,
    GRADIENTS,
    HIDDEN,
    HIDE,
    KEY_TILES,
    NEW_MAX,
    QUERY_END,
    QUERY_TILES,
    RECALL,
    ROW_MAX,
    SCALE,
    SCORES,
    SLOPES,
    STOP,
    WEIGHTS,
)
from .mutants_calls import CALLS, COSTS, FORM
from .mutants_options import HEIGHTS, OPTIONS, WIDTHS
from .mutants_sizes import HISTORIES, SIZES, VALUES


def _of(criterion: str, name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


FORWARD = (
    _of("output", "scale missing in the forward", "does not scale the scores of the forward",
        (FORWARD_SCALE, "    scale = 1.0\n")),
    _of("output", "scale of 1/8", "divides the scores by 8 in both passes whatever D is",
        (FORWARD_SCALE, "    scale = 0.125\n"), (SCALE, "    scale = 0.125\n")),
    _of("output", "tiles averaged", "takes the softmax of each tile by itself, and the mean of what the tiles give",
        (ADD_TOTAL, "        part = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
                    "        total = total + part @ v[:, :, start:stop] / part.sum(axis=-1, keepdims=True)\n"),
        (DIVIDE, DIVIDE.replace("row_sum,", "math.ceil(end / tile_size),"))),
    _of("output", "sum not rescaled", "adds to the sum of the weights without bringing it to the new maximum",
        (ADD_SUM, "        row_sum = row_sum + raised.sum(axis=-1, keepdims=True)\n")),
    _of("output", "output not rescaled", "adds to the output without bringing it to the new maximum",
        (ADD_TOTAL, "        total = total + raised @ v[:, :, start:stop]\n")),
    _of("accuracy", "output off by a millionth", "scales the output by 1 + 1e-6",
        (DIVIDE, DIVIDE.replace("total / row_sum,", "total / row_sum * queries.dtype.type(1.000001),"))),
    _of("output", "maximum not carried", "forgets the running maximum after each tile", (CARRY, "")),
    _of("output", "correction inverted", "multiplies earlier sums by exp(new - old) instead of exp(old - new)",
        (CORRECTION, "        correction = np.exp(np.where(np.isinf(row_max), 0.0, new_max - row_max))\n"
                     "        correction = correction.astype(queries.dtype)\n")),
    _of("log_sum_exp", "L without the maximum", "keeps the logarithm of the sum without the maximum it is relative to",
        (DIVIDE, "    return total / row_sum, np.log(row_sum)[..., 0]\n")),
    _of("log_sum_exp", "the maximum for L", "keeps the maximum in place of the log-sum-exp",
        (DIVIDE, "    return total / row_sum, row_max[..., 0]\n")),
    _of("log_sum_exp", "the sum for L", "keeps the sum of the exponentials in place of its logarithm",
        (DIVIDE, "    return total / row_sum, row_sum[..., 0]\n"),
        (WEIGHTS, WEIGHTS.replace("np.exp(scores - logsumexp[:, :, rows, None])",
                                  "_softmax(q, k, rows, keys, scale, causal)")),
        ("def _check_arguments",
         "def _softmax(q: Array, k: Array, rows: slice, keys: slice, scale: float, causal: bool) -> Array:\n"
         "    scores = scale * (q[:, :, rows] @ k.swapaxes(-1, -2))\n    if causal:\n"
         "        scores[:, :, np.arange(k.shape[2]) > np.arange(rows.start, rows.stop)[:, None]] = -np.inf\n"
         "    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
         "    return (scores / scores.sum(axis=-1, keepdims=True))[..., keys]\n\n\ndef _check_arguments")),
    _of("log_sum_exp", "L to the base of 2", "keeps L as a logarithm to the base of 2",
        (DIVIDE, "    return total / row_sum, ((row_max + np.log(row_sum)) * math.log2(math.e))[..., 0]\n"),
        (WEIGHTS, WEIGHTS.replace("rows, None])", "rows, None] / math.log2(math.e))"))),
    _of("log_sum_exp", "L from the last tile", "takes L from the weights of the last tile",
        (DIVIDE, DIVIDE.replace("np.log(row_sum)", "np.log(raised.sum(axis=-1, keepdims=True))"))),
    _of("log_sum_exp", "L of unscaled scores", "keeps the log-sum-exp of scores that are not scaled",
        (DIVIDE, DIVIDE.replace("(row_max + np.log(row_sum))", "(row_max / scale + np.log(row_sum))"))),
)  # fmt: skip

GRADIENT_TERMS = (
    _of("gradients", "scale missing in dq", "leaves the score scale out of dq",
        (ADD_DQ, "            dq[:, :, rows] += dscores @ k[:, :, keys]\n")),
    _of("gradients", "scale missing in dk", "leaves the score scale out of dk",
        (ADD_DK, "            dk[:, :, keys] += dscores.swapaxes(-1, -2) @ q[:, :, rows]\n")),
    _of("gradients", "scale twice in dq", "has the score scale in dq twice",
        (ADD_DQ, ADD_DQ.replace("scale", "scale**2"))),
    _of("gradients", "scale twice in dk", "has the score scale in dk twice",
        (ADD_DK, ADD_DK.replace("scale", "scale**2"))),
    _of("gradients", "scale in dv", "has the score scale in dv", (ADD_DV, ADD_DV.replace("+= ", "+= scale * "))),
    _of("gradients", "scale missing in the weights", "computes the weights again from scores that are not scaled",
        (SCORES, SCORES.replace("scale * ", ""))),
    _of("gradients", "scale by D", "divides by D instead of its root in the backward",
        (SCALE, "    scale = 1.0 / q.shape[3]\n")),
    _of("gradients", "scale of 1/8 in the backward", "divides the scores by 8 in the backward whatever D is",
        (SCALE, "    scale = 0.125\n")),
    _of("gradients", "row sum missing", "leaves the row sum out of the gradient of the scores",
        (DSCORES, "            dscores = weights * slopes\n")),
    _of("gradients", "row sum of each tile", "takes the row sum over the keys of a tile instead of all",
        (DSCORES, "            inside = (weights * slopes).sum(axis=-1, keepdims=True)\n"
                  "            dscores = weights * (slopes - inside)\n")),
    _of("gradients", "row sum of the slopes", "adds up the slopes without their weights",
        (DELTA, "    delta = (do @ v.swapaxes(-1, -2)).sum(axis=-1, keepdims=True)\n")),
    _of("gradients", "row sum added", "adds the row sum instead of subtracting it",
        (DSCORES, DSCORES.replace("slopes - delta", "slopes + delta"))),
    _of("gradients", "row sum outside", "subtracts the row sum without the weight in front",
        (DSCORES, "            dscores = weights * slopes - delta[:, :, rows]\n")),
    _of("gradients", "row sum from values", "takes the row sum from do and v instead of do and o",
        (DELTA, "    delta = (do * v).sum(axis=-1, keepdims=True)\n")),
    _of("gradients", "row sum of do", "takes the row sum from do alone",
        (DELTA, "    delta = do.sum(axis=-1, keepdims=True)\n")),
    _of("gradients", "row sum scaled", "scales the row sum",
        (DELTA, "    delta = scale * (do * o).sum(axis=-1, keepdims=True)\n")),
    _of("gradients", "dq overwritten", "overwrites dq with each tile of keys", (ADD_DQ, ADD_DQ.replace("+=", "="))),
    _of("gradients", "dk overwritten", "overwrites dk with each tile of queries", (ADD_DK, ADD_DK.replace("+=", "="))),
    _of("gradients", "dv overwritten", "overwrites dv with each tile of queries", (ADD_DV, ADD_DV.replace("+=", "="))),
    _of("gradients", "dq from queries", "forms dq from the queries instead of the keys",
        (ADD_DQ, ADD_DQ.replace("dscores @ k[:, :, keys]", "dscores @ dscores.swapaxes(-1, -2) @ q[:, :, rows]"))),
    _of("gradients", "dk from the output's gradient", "forms dk from do instead of the queries",
        (ADD_DK, ADD_DK.replace("@ q[:, :, rows]", "@ do[:, :, rows]"))),
    _of("gradients", "dv from slopes", "forms dv from the gradients of the scores",
        (ADD_DV, ""), (ADD_DK, ADD_DK + ADD_DV.replace("weights", "dscores"))),
    _of("gradients", "dv from the output", "forms dv from o instead of do",
        (ADD_DV, ADD_DV.replace("@ do[:, :, rows]", "@ o[:, :, rows]"))),
    _of("gradients", "slopes from keys", "takes the slopes from the keys instead of the values",
        (SLOPES, SLOPES.replace("v[:, :, keys]", "k[:, :, keys]"))),
    _of("gradients", "dk and dv exchanged", "returns dv before dk", (GRADIENTS, "    return dq, dv, dk\n")),
    _of("gradients", "dq and dk exchanged", "returns dk before dq", (GRADIENTS, "    return dk, dq, dv\n")),
    _of("gradients", "dq upside down", "returns dq with the wrong sign", (GRADIENTS, "    return -dq, dk, dv\n")),
    _of("gradients", "weights squared", "weights the gradient of the scores twice",
        (DSCORES, DSCORES.replace("weights *", "weights * weights *"))),
    _of("gradients", "one element of dk", "gets one element of dk wrong by 1 part in 100",
        (GRADIENTS, "    dk[-1, -1, 0, dk.shape[3] // 2] *= 1.01\n" + GRADIENTS)),
    _of("accuracy", "dq off by a millionth", "scales dq by 1 + 1e-6",
        (GRADIENTS, "    dq = dq * dq.dtype.type(1.000001)\n" + GRADIENTS)),
    _of("accuracy", "single precision inside", "rounds the weights of the backward to float32 whatever it was given",
        (WEIGHTS, WEIGHTS.replace("astype(q.dtype)", "astype(np.float32).astype(q.dtype)"))),
    _of("accuracy", "single precision sums", "adds float64 gradients up in float32",
        (ADD_DK, "            part = dscores.astype(np.float32).swapaxes(-1, -2) @ q[:, :, rows].astype(np.float32)\n"
                 "            dk[:, :, keys] += (scale * part).astype(q.dtype)\n")),
    _of("accuracy", "L in half precision", "rounds L to float16",
        (RECALL, RECALL + "    logsumexp = logsumexp.astype(np.float16).astype(q.dtype)\n")),
    _of("accuracy", "row sum in half precision", "rounds the row sum to float16",
        (DELTA, DELTA + "    delta = delta.astype(np.float16).astype(q.dtype)\n")),
    _of("gradients", "weights of the tile alone", "makes the weights of each tile add up to 1",
        (WEIGHTS, "            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
                  "            weights = weights / weights.sum(axis=-1, keepdims=True)\n")),
    _of("gradients", "gradients of mean", "divides the gradients by N",
        (GRADIENTS, "    return dq / length, dk / length, dv / length\n")),
)  # fmt: skip

LATE = "        new_max = np.where(new_max - row_max > 80, new_max, row_max)\n"
"""What keeps a maximum until scores rise by more than 80 above it, which is still in range in float32."""

LARGEST = (
    (ROW_MAX, ROW_MAX + "    peak = row_max\n"),
    (CARRY, CARRY + "        peak = np.maximum(peak, top)\n"),
)
"""What holds the largest score so far beside the maximum that the sums are relative to."""


def _postponed(slack: int) -> tuple[str, str]:
    """Take a new maximum only where a tile is more than the slack above the largest score before it."""
    top = "        top = scores.max(axis=-1, keepdims=True)\n"
    return NEW_MAX, f"{top}        new_max = np.where(top > peak + {slack}, top, row_max)\n"


STABILITY = (
    _of("extreme_scores", "weights without the maximum", "divides exp of the scores by exp of L",
        (WEIGHTS, "            weights = np.exp(scores) / np.exp(logsumexp[:, :, rows, None])\n")),
    _of("extreme_scores", "maximum of the tile", "takes the tile's maximum in place of the running one in the forward",
        (NEW_MAX, "        new_max = scores.max(axis=-1, keepdims=True)\n")),
    _of("extreme_scores", "maximum of the first tile", "keeps the maximum of the first tile for all that follow",
        (NEW_MAX, "        new_max = scores.max(axis=-1, keepdims=True) if start == 0 else row_max\n")),
    _of("extreme_scores", "maximum from zero", "lets no maximum be below 0",
        (NEW_MAX, "        new_max = np.maximum(np.maximum(row_max, 0), scores.max(axis=-1, keepdims=True))\n")),
    _of("extreme_scores", "one maximum for all rows", "takes the maximum over all rows of a tile",
        (NEW_MAX, "        new_max = np.maximum(row_max, scores.max(axis=(2, 3), keepdims=True))\n")),
    _of("extreme_scores", "weights clipped", "lets no weight of the backward be below exp(-20)",
        (WEIGHTS, "            differences = scores - logsumexp[:, :, rows, None]\n"
                  "            weights = np.exp(np.maximum(differences, -20.0)) * np.isfinite(scores)\n"
                  "            weights = weights.astype(q.dtype)\n")),
    _of("extreme_scores", "scores clipped", "holds the scores of the backward within -50 and 50",
        (SCORES, SCORES + "            scores = np.clip(scores, -50.0, 50.0)\n")),
    _of("extreme_scores", "mask of -100", "gives hidden scores -100 in the backward, which other scores are below",
        (HIDE, HIDE.replace("-np.inf", "-100.0"))),
    _of("extreme_scores", "mask of -100 in the forward", "gives hidden scores -100 in the forward",
        (FORWARD_HIDE, FORWARD_HIDE.replace("-np.inf", "-100.0"))),
    _of("extreme_scores", "L from a sum", "takes L as the logarithm of a sum of exp without a maximum",
        (DIVIDE, DIVIDE.replace("(row_max + np.log(row_sum))", "np.log(row_sum * np.exp(row_max))"))),
    _of("extreme_scores", "maximum moved late", "keeps a maximum of the forward until scores are more than 80 above it",
        (NEW_MAX, NEW_MAX + LATE)),
    _of("extreme_scores", "steps of 2", "keeps a maximum until a tile is 2 above the largest score so far",
        *LARGEST, _postponed(2)),
    _of("extreme_scores", "steps of 8 in float64", "keeps a maximum until a tile is 8 above the largest one",
        *LARGEST, _postponed(8), (FORWARD_SCORES, FORWARD_SCORES + "        scores = scores.astype(np.float64)\n")),
    _of("extreme_scale", "do and values clipped", "holds values within 1e101 (float32: 1e13)",
        (RECALL, RECALL + "    peak = 1e101 if q.dtype == np.float64 else 1e13\n"
                          "    v, q = np.clip(v, -peak, peak), np.clip(q, -peak, peak)\n")),
)  # fmt: skip

MASK = (
    _of("causality", "no mask in the backward", "masks nothing where the diagonal crosses a tile, in the backward",
        (HIDE, "                pass\n")),
    _of("causality", "no mask in the forward", "masks nothing where the diagonal crosses a tile, in the forward",
        (FORWARD_HIDE, "            pass\n")),
    _of("gradients", "itself hidden in the backward", "hides a position from itself in the backward",
        (HIDDEN, HIDDEN.replace(") > np", ") >= np"))),
    _of("causality", "one ahead seen", "lets a position see the next one in the backward",
        (HIDDEN, HIDDEN.replace("[:, None]", "[:, None] + 1"))),
    _of("gradients", "mask within the tile", "counts query positions from the beginning of their tile in the backward",
        (HIDDEN, HIDDEN.replace("np.arange(first, last)", "np.arange(last - first)"))),
    _of("full_attention", "always causal", "hides the future in the backward without being asked to",
        (SCALE, SCALE + "    causal = True\n")),
    _of("causality", "never causal", "ignores in the backward that it is to hide the future",
        (SCALE, SCALE + "    causal = False\n")),
    _of("causal_default", "not causal by default", "sees the future in the backward where nothing is said",
        ("do: Array, cache: Cache, tile_size: int, causal: bool = True", "do: Array, cache: Cache, tile_size: int, "
         "causal: bool = False")),
    _of("full_attention", "tiles ahead left out", "leaves tiles ahead out of the backward although nothing is hidden",
        (END, "        end = last\n")),
    _of("full_attention", "tiles behind left out", "leaves tiles behind out of the forward although nothing is hidden",
        (FORWARD_END, FORWARD_END.replace("last if causal else k.shape[2]", "last"))),
    _of("gradients", "diagonal left out", "leaves out the tile on the diagonal where there are earlier ones",
        (END, "        end = (first or last) if causal else length\n")),
)  # fmt: skip

TILES = (
    _of("tile_invariance", "last key tile dropped", "drops the last tile of keys in the backward where it is not full",
        (KEY_TILES, KEY_TILES.replace("range(0, end, tile_size)",
                                      "range(0, max(end // tile_size, 1) * tile_size, tile_size)"))),
    _of("tile_invariance", "last query tile dropped", "drops the last tile of queries where it is not full",
        (QUERY_TILES, QUERY_TILES.replace("range(_blind(ahead, causal), length, tile_size)",
                                          "range(0, max(length // tile_size, 1) * tile_size, tile_size)"))),
    _of("tile_invariance", "last forward tile dropped", "drops a last tile of keys in the forward that is not full",
        (FORWARD_TILES, FORWARD_TILES.replace("range(0, end, tile_size)",
                                              "range(0, max(end // tile_size, 1) * tile_size, tile_size)"))),
    _of("tile_invariance", "last tile moved back", "takes a full tile from the end where the last one is not full",
        (STOP, STOP + "            start = max(0, stop - tile_size)\n")),
    _of("tile_invariance", "tiles of one row", "adds nothing to dk in tiles of one row",
        (ADD_DK, ADD_DK.replace("scale * ", "(tile_size > 1) * scale * "))),
    _of("tile_invariance", "no axis of one row", "squeezes the maxima of a tile of the forward, as of one row",
        (NEW_MAX, NEW_MAX + "        new_max[0, 0, :, 0].squeeze()[0]\n")),
    _of("tile_invariance", "tiles beyond the length", "refuses tiles larger than N in the backward",
        (SCALE, '    if tile_size > q.shape[2]:\n        raise ValueError("the tile is larger than N")\n' + SCALE)),
    _of("tile_invariance", "at most 8 keys", "works on 8 keys of a tile at most",
        (STOP, "            stop = min(start + min(tile_size, 8), end)\n")),
    _of("tile_invariance", "tiles of small weights left out", "leaves out backward tiles of weights below exp(-18)",
        (WEIGHTS, "            if (scores - logsumexp[:, :, rows, None]).max() < -18.0:\n"
                  "                continue\n" + WEIGHTS)),
    _of("tile_invariance", "last rows of a tile", "leaves the last row out of query tiles that are not full",
        (QUERY_END, "        last = min(first + tile_size, length)\n"
                    "        last -= first > 0 and last - first > 1 and last - first < tile_size\n")),
)  # fmt: skip

ROWS = (
    _of("independence", "keys of the first head", "scores every head with the keys of the first in the backward",
        (SCORES, SCORES.replace("k[:, :, keys]", "k[:, :1, keys]"))),
    _of("independence", "values of the first item", "takes the slopes from the values of the first batch item",
        (SLOPES, SLOPES.replace("v[:, :, keys]", "v[:1, :, keys]"))),
    _of("independence", "row sum over heads", "adds the row sums of all heads up",
        (DELTA, "    delta = (do * o).sum(axis=(1, 3), keepdims=True) + np.zeros_like(o[..., :1])\n")),
    _of("independence", "one unit of do", "divides do by its largest entry, of all heads and items, until the end",
        (DELTA, "    unit = abs(do).max() or do.dtype.type(1.0)\n    do = do / unit\n" + DELTA),
        (GRADIENTS, "    dq, dk, dv = unit * dq, unit * dk, unit * dv\n" + GRADIENTS)),
    _of("independence", "dv over items", "adds dv up over the batch",
        (GRADIENTS, "    dv = dv.sum(axis=0, keepdims=True) + np.zeros_like(dv)\n" + GRADIENTS)),
    _of("independence", "forward of the first head", "scores every head of the forward with the keys of the first",
        (FORWARD_SCORES, FORWARD_SCORES.replace("k[:, :, start:stop]", "k[:, :1, start:stop]"))),
)  # fmt: skip

MUTANTS = (
    *FORWARD, *GRADIENT_TERMS, *STABILITY, *MASK, *TILES, *ROWS, *CALLS, *FORM, *COSTS, *SIZES, *VALUES, *HISTORIES,
    *OPTIONS, *WIDTHS, *HEIGHTS,
)  # fmt: skip
