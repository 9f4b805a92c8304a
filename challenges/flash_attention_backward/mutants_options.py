"""Attentions that are wrong in an option, at the sizes of real heads and tiles, or far from a score of 0."""

from harness.probing import Mutant

from .lines import (
    ADD_DQ,
    AHEAD,
    CHECKS,
    END,
    FORWARD_CROSSED,
    FORWARD_HIDE,
    FORWARD_SCALE,
    FORWARD_SCORES,
    GRADIENTS,
    GROUPS,
    HIDDEN,
    HIDE,
    KEYS,
    NEW_MAX,
    OVER_GROUPS,
    RAISED,
    RECALL,
    SCALE,
    SCORES,
    SLOPES,
    STOP,
    WEIGHTS,
)


def _of(criterion: str, name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


IN_TURN = "np.concatenate([shared] * (heads // shared.shape[1]), axis=1)"
LATE = "    groups, length, ahead = k.shape[1], q.shape[2], k.shape[2] - q.shape[2]\n"

OPTIONS = (
    _of("gqa", "heads in turn", "gives head h the keys of number h % G", (GROUPS, f"    return {IN_TURN}\n")),
    _of("gqa", "gradients over heads in turn", "adds dk and dv up over every G-th head",
        (OVER_GROUPS, OVER_GROUPS.replace("groups, H // groups, M, D).sum(axis=2)",
                                          "H // groups, groups, M, D).sum(axis=1)"))),
    _of("gqa", "gradients of the last head", "gives dk and dv of the last head that shares a key",
        (OVER_GROUPS, OVER_GROUPS.replace(".sum(axis=2)", "[:, :, -1]"))),
    _of("gqa", "mean over heads", "takes the mean of dk and dv over the heads that share",
        (OVER_GROUPS, OVER_GROUPS.replace(".sum(axis=2)", ".mean(axis=2)"))),
    _of("dtype", "sums over heads in float64", "adds dk and dv of heads that share up in float64, and leaves them so",
        (OVER_GROUPS, OVER_GROUPS.replace(".sum(axis=2)", ".sum(axis=2, dtype=np.float64)"))),
    _of("fewer_queries", "first query at the first key", "lets query i see the keys 0..i in the forward",
        (AHEAD, "    ahead = min(0, k.shape[2] - length)\n")),
    _of("fewer_queries", "mask in one tile of keys", "masks only the last tile of keys of a tile of queries",
        (FORWARD_CROSSED, FORWARD_CROSSED.replace("stop > first", "stop == end"))),
    _of("fewer_queries", "first query at the first key in the backward", "lets query i see the keys 0..i there",
        (LATE, LATE + "    ahead = min(0, ahead)\n")),
    _of("fewer_queries", "whole tiles ahead", "aligns fewer queries by whole tiles in the backward",
        (LATE, LATE + "    ahead -= ahead % tile_size if ahead > tile_size else 0\n")),
    _of("fewer_queries", "queries from the number of the key tile",
        "begins the backward's queries of a tile of keys at the first key's number, as if there were as many keys",
        (STOP, "            if causal and start > first:\n                break\n" + STOP)),
    _of("fewer_queries", "key positions of two bytes", "counts keys for the backward's mask in uint16, which wraps",
        (HIDDEN, HIDDEN.replace("np.arange(start, stop)", "np.arange(start, stop).astype(np.uint16)"))),
    _of("fewer_queries", "wide single queries of many heads",
        "works on 128 features of dq of single queries of 2,048 heads or more",
        (GRADIENTS, "    if length == 1 and q.shape[0] * q.shape[1] >= 2048:\n"
                    "        dq[..., 128:] = 0.0\n" + GRADIENTS)),
    _of("fewer_queries", "mean over heads where queries are few", "takes the mean of dk over heads that share, too",
        (GRADIENTS, "    dk = dk * groups / q.shape[1] if ahead > 0 else dk\n" + GRADIENTS)),
    _of("blind_rows", "NaN where nothing is seen", "gives rows that see nothing NaN",
        (AHEAD, AHEAD + "    o[:, :, : _blind(ahead, causal)] = np.nan\n")),
    _of("blind_rows", "an L of 0", "gives rows that see nothing an L of 0",
        ("np.full(q.shape[:3], -np.inf, q.dtype)", "np.zeros(q.shape[:3], q.dtype)")),
    _of("statelessness", "an L of infinity for blind rows", "writes infinity into the cache's L of blind rows",
        (RECALL, RECALL + "    logsumexp[np.isneginf(logsumexp)] = np.inf\n")),
    _of("statelessness", "an output spent where heads share", "writes over the cache's O where heads share keys",
        (GRADIENTS, "    o *= 0.0 if groups < q.shape[1] else 1.0\n" + GRADIENTS)),
    _of("blind_rows", "more queries from the first key", "aligns more queries at the first key in the backward",
        (LATE, LATE + "    ahead = max(0, ahead)\n")),
)  # fmt: skip

WIDTHS = (
    _of("output", "scale of 48 features", "scales by the root of 48 at most in the forward",
        (FORWARD_SCALE, "    scale = 1.0 / math.sqrt(min(queries.shape[3], 48))\n")),
    _of("gradients", "scale of 64 features", "scales by the root of 64 at most in the backward",
        (SCALE, "    scale = 1.0 / math.sqrt(min(q.shape[3], 64))\n")),
    _of("tile_invariance", "diagonal of wide tiles", "looks at one block of 64 keys on the diagonal for dq",
        (ADD_DQ, "            width = max(0, first + 64 - start) if causal and stop > first + ahead else stop - start\n"
                 "            dq[:, :, rows] += scale * (dscores[..., :width] @ k[:, :, keys][:, :, :width])\n")),
    _of("full_attention", "tiles ahead left out at 64 features", "leaves tiles ahead out of the backward at D = 64",
        (END, "        end = last if causal or q.shape[3] == 64 else length\n")),
    _of("full_attention", "queries before left out", "begins dk and dv at the diagonal without a mask at D = 64",
        ("            dv[:, :, keys] +=", "            if q.shape[3] == 64 and start > first:\n"
                                          "                weights, dscores = 0 * weights, 0 * dscores\n"
                                          "            dv[:, :, keys] +=")),
    _of("causality", "no mask at 128 features", "masks nothing inside a tile of the backward at D = 128",
        ("            if causal and stop > first + ahead:\n",
         "            if causal and stop > first + ahead and q.shape[3] != 128:\n")),
    _of("tile_invariance", "last key tile dropped at 64 features", "drops a last tile of keys not full at D = 64",
        (KEYS, KEYS + "            if q.shape[3] == 64 and 0 < start and end - start < tile_size and first:\n"
                        "                break\n")),
    _of("independence", "values of the first head at 128 features", "takes slopes from the first head at D = 128",
        (SLOPES, SLOPES.replace("v[:, :, keys]", "v[:, : (1 if v.shape[3] == 128 else None), keys]"))),
    _of("cache_reuse", "cache used up at 64 features", "writes over the cache's keys at D = 64",
        (GRADIENTS, '    if q.shape[3] == 64:\n        cache["K"] = dk.copy()\n' + GRADIENTS)),
    _of("log_sum_exp", "L of other scores at 128 features", "keeps an L of scores without scale at D = 128",
        ("    return total / row_sum, (row_max + np.log(row_sum))[..., 0]\n",
         "    wrong = queries.shape[3] == 128\n"
         "    return total / row_sum, (row_max / (scale if wrong else 1) + np.log(row_sum))[..., 0]\n")),
    _of("statelessness", "masks kept by shape", "keeps the mask of a tile by its shape, whatever its place",
        (HIDDEN, "                shape = (last - first, stop - start)\n" + HIDDEN.replace("hidden = ", "hidden = "
                 "_MASKS[shape] = _MASKS[shape] if shape in _MASKS else ")),
        (CHECKS, "_MASKS: dict[Any, Any] = {}\n\n\n" + CHECKS)),
)  # fmt: skip

HEIGHTS = (
    _of("extreme_scores", "mask of -10000", "gives hidden scores -10000 in the backward, which others are below",
        (HIDE, HIDE.replace("-np.inf", "-1e4"))),
    _of("extreme_scores", "mask of -10000 in the forward", "gives hidden scores -10000 in the forward",
        (FORWARD_HIDE, FORWARD_HIDE.replace("-np.inf", "-1e4"))),
    _of("extreme_scores", "mask of -1e5", "gives hidden scores -1e5 in the backward, which others are below",
        (HIDE, HIDE.replace("-np.inf", "-1e5"))),
    _of("extreme_scores", "mask of -1e6", "gives hidden scores -1e6 in the forward, which others are below",
        (FORWARD_HIDE, FORWARD_HIDE.replace("-np.inf", "-1e6"))),
    _of("extreme_scores", "mask of -1e9 added", "adds -1e9 to hidden scores in the backward, too little for some",
        (HIDE, HIDE.replace("= -np.inf", "+= -1e9"))),
    _of("extreme_scores", "mask of -1e9 added in the forward", "adds -1e9 to hidden scores in the forward",
        (FORWARD_HIDE, FORWARD_HIDE.replace("= -np.inf", "+= -1e9"))),
    _of("extreme_scores", "hidden scores raised", "takes exp of hidden scores in the backward, and multiplies it by 0",
        (SCORES, SCORES + "            every = scores.copy()\n"),
        (WEIGHTS, "            weights = np.exp(every - logsumexp[:, :, rows, None]) * (scores > -np.inf)\n")),
    _of("extreme_scores", "hidden scores raised in the forward", "takes exp of hidden scores in the forward, too",
        (FORWARD_SCORES, FORWARD_SCORES + "        every = scores.copy()\n"),
        (RAISED, "        raised = np.exp(every - new_max) * (scores > -np.inf)\n")),
    _of("extreme_scores", "L above -10000", "lets no L of the backward be below -10000",
        (RECALL, RECALL + "    logsumexp = np.maximum(logsumexp, logsumexp.dtype.type(-1e4))\n")),
    _of("extreme_scores", "no maximum above 1e5", "lets no maximum of the forward be above 1e5",
        (NEW_MAX, NEW_MAX + "        new_max = np.minimum(new_max, queries.dtype.type(1e5))\n")),
)  # fmt: skip
