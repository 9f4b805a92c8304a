"""Attentions that are wrong in an option, at the sizes of real heads and tiles, or far from a score of 0."""

from harness.probing import Mutant

from .lines import (
    AHEAD,
    BLIND,
    CHECKS,
    CROSSED,
    END,
    GROUPS,
    HIDDEN,
    HIDE,
    KEY_TILES,
    MAX,
    NEW_MAX,
    RETURN,
    SCALE,
    SCORES,
    SHARE,
    STOP,
    TAKE,
    WEIGHTS,
)


def _of(criterion: str, name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


SIGNATURE = "def _for_each_head(shared: Array, heads: int)"
IN_TURN = "np.concatenate([shared] * (heads // shared.shape[1]), axis=1)"

OPTIONS = (
    _of("gqa", "heads in turn", "gives head h the keys of number h % G",
        (GROUPS, f"    return {IN_TURN}\n")),
    _of("gqa", "the first keys for all heads", "gives every head the first keys where heads share some",
        (GROUPS, GROUPS.replace("shared.repeat(heads // shared.shape[1], axis=1)",
                                "shared[:, :1].repeat(heads, axis=1)"))),
    _of("gqa", "heads in turn without the mask", "gives head h the keys of number h % G where nothing is hidden",
        (SHARE, SHARE.replace("q.shape[1])", "q.shape[1], causal)")),
        (GROUPS, GROUPS.replace("return", f"if not causal:\n        return {IN_TURN}\n    return")),
        (SIGNATURE, SIGNATURE.replace(")", ", causal: bool)"))),
    _of("fewer_queries", "first query at the first key", "lets query i see the keys 0..i whatever their number",
        (AHEAD, "    ahead = min(0, k.shape[2] - length)\n")),
    _of("fewer_queries", "one key short", "aligns fewer queries one key too early",
        (AHEAD, "    ahead = k.shape[2] - length - (k.shape[2] > length)\n")),
    _of("fewer_queries", "whole tiles ahead", "aligns fewer queries by whole tiles",
        (AHEAD, "    ahead = k.shape[2] - length\n    ahead -= ahead % tile_size if ahead > tile_size else 0\n")),
    _of("any_layout", "few queries in memory order", "reads fewer queries than keys in the order of their memory",
        (AHEAD, "    if length < k.shape[2]:\n        q = q.ravel(order='K').reshape(q.shape)\n" + AHEAD)),
    _of("fewer_queries", "mask in one tile of keys", "masks only the last tile of keys of a tile of queries",
        (CROSSED, CROSSED.replace("stop > first", "stop == end"))),
    _of("fewer_queries", "key positions of two bytes", "counts keys for the mask in int16, which wraps",
        (HIDDEN, HIDDEN.replace("np.arange(start, stop)", "np.arange(start, stop).astype(np.int16)"))),
    _of("fewer_queries", "wide single queries of many heads",
        "works on 128 features of single queries of 2,048 heads or more",
        (RETURN, "    if length == 1 < k.shape[2] and o.shape[0] * o.shape[1] >= 2048:\n"
                 "        o[..., 128:] = 0.0\n" + RETURN)),
    _of("fewer_queries", "heads in turn for one query",
        "gives head h the keys of number h % G where one query sees several keys",
        (GROUPS, GROUPS.replace("return", f"if queries == 1 < shared.shape[2]:\n        return {IN_TURN}\n    return")),
        (SHARE, SHARE.replace("q.shape[1])", "q.shape[1], length)")),
        (SIGNATURE, SIGNATURE.replace(")", ", queries: int)"))),
    _of("blind_rows", "mean of the values", "gives rows that see nothing the mean of all values",
        (BLIND, "    o[:, :, :blind] = v.mean(axis=2, keepdims=True)\n")),
    _of("blind_rows", "NaN where nothing is seen", "gives rows that see nothing NaN",
        (BLIND, "    o[:, :, :blind] = np.nan\n")),
    _of("blind_rows", "more queries from the first key", "aligns more queries than keys at the first key",
        (AHEAD, "    ahead = max(0, k.shape[2] - length)\n")),
)  # fmt: skip

WIDTHS = (
    _of("values", "scale of 64 features", "scales by the root of 64 at most",
        (SCALE, "    scale = 1.0 / math.sqrt(min(queries.shape[3], 64))\n")),
    _of("values", "scale of a padded head", "takes the scale from D as padded to a multiple of 8 above 8",
        (SCALE, "    features = queries.shape[3]\n"
                "    scale = 1.0 / math.sqrt(-(-features // 8) * 8 if features > 8 else features)\n")),
    _of("tile_invariance", "diagonal of wide tiles", "looks at 64 keys of a tile that the diagonal crosses",
        (STOP, STOP + "        if causal and stop > first:\n            stop = min(stop, max(start, first) + 64)\n")),
    _of("full_attention", "tiles ahead left out at 64 features", "leaves tiles ahead out at D = 64 in any case",
        (END, "    end = last if causal or queries.shape[3] == 64 else k.shape[2]\n")),
    _of("causality", "no mask at 128 features", "masks nothing inside a tile at D = 128",
        (CROSSED, "        if causal and stop > first and queries.shape[3] != 128:\n")),
    _of("tile_invariance", "last key tile dropped at 64 features", "drops a last tile that is not full at D = 64",
        (KEY_TILES, "    whole = end // tile_size if queries.shape[3] == 64 else -(-end // tile_size)\n"
                    "    for start in range(0, max(whole, 1) * tile_size, tile_size):\n"
                    "        if start >= end:\n            break\n")),
    _of("independence", "keys of the first head at 128 features", "scores with the first head's keys at D = 128",
        (TAKE, TAKE + "        keys = keys[:, :1] if keys.shape[3] == 128 else keys\n")),
    _of("statelessness", "one output for all at 64 features", "returns the same array again at D = 64",
        ("    return o\n", "    kept = _OUTPUTS.setdefault((o.shape, o.dtype.str), o)\n    kept[:] = o\n"
                           "    return kept if o.shape[3] == 64 else o\n"),
        (CHECKS, "_OUTPUTS: dict[Any, Array] = {}\n\n\n" + CHECKS)),
    _of("statelessness", "masks kept by shape", "keeps the mask of a tile by its shape, whatever its place",
        (HIDDEN, "            shape = (last - first, stop - start)\n" + HIDDEN.replace("hidden = ", "hidden = "
                 "_MASKS[shape] = _MASKS[shape] if shape in _MASKS else ")),
        (CHECKS, "_MASKS: dict[Any, Any] = {}\n\n\n" + CHECKS)),
)  # fmt: skip

HEIGHTS = (
    _of("extreme_scores", "mask of -10000", "gives hidden scores -10000, which other scores are below",
        (HIDE, HIDE.replace("-np.inf", "-1e4"))),
    _of("extreme_scores", "mask of -1e5", "gives hidden scores -1e5, which other scores are below",
        (HIDE, HIDE.replace("-np.inf", "-1e5"))),
    _of("extreme_scores", "mask of -1e6", "gives hidden scores -1e6, which other scores are below",
        (HIDE, HIDE.replace("-np.inf", "-1e6"))),
    _of("extreme_scores", "mask of -1e9", "gives hidden scores -1e9, which other scores are below",
        (HIDE, HIDE.replace("-np.inf", "-1e9"))),
    _of("extreme_scores", "mask of -1e9 added", "adds -1e9 to hidden scores, too little for some",
        (HIDE, HIDE.replace("= -np.inf", "+= -1e9"))),
    _of("extreme_scores", "padding of -10000", "fills a last tile up with scores of -10000 where nothing is hidden",
        (WEIGHTS, WEIGHTS + "        if not causal and stop - start < tile_size < k.shape[2]:\n"
                            "            padding = np.exp(np.maximum(-1e4 - new_max, -700))\n"
                            "            weights = weights / (1 + (tile_size - stop + start) * padding)\n")),
    _of("extreme_scores", "maximum from -10000", "begins the running maximum at -10000",
        (MAX, "    row_max = np.full((*queries.shape[:3], 1), -1e4, queries.dtype)\n")),
    _of("extreme_scores", "hidden scores raised", "takes exp of hidden scores, too, and multiplies it by 0",
        (SCORES, SCORES + "        every = scores.copy()\n"),
        (WEIGHTS, "        weights = np.exp(every - new_max) * (scores > -np.inf)\n")),
    _of("extreme_scores", "hidden scores raised in wide tiles", "takes exp of hidden scores, too, in tiles above 64",
        (SCORES, SCORES + "        every = scores.copy()\n"),
        (WEIGHTS, "        given = every if tile_size > 64 else scores\n"
                  "        weights = np.exp(given - new_max) * (scores > -np.inf)\n")),
    _of("extreme_scores", "no maximum above 1e5", "lets no maximum be above 1e5",
        (NEW_MAX, NEW_MAX + "        new_max = np.minimum(new_max, queries.dtype.type(1e5))\n")),
)  # fmt: skip
