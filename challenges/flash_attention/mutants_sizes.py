"""Attentions that are wrong only at some sizes, for some values or after some calls."""

from harness.probing import Mutant

from .lines import (
    ADD_SUM,
    ADD_TOTAL,
    CHECKS,
    CORRECTION,
    DIVIDE,
    HIDDEN,
    KEY_TILES,
    LENGTH,
    NEW_MAX,
    OUTPUT,
    RETURN,
    SCALE,
    SCORES,
    STOP,
    TAKE,
    WEIGHTS,
)


def _rare(name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion="any_size", edits=edits)


SIZES = (
    _rare("keys beyond a limit", "does not look at keys from position 1,100 on",
          (STOP, STOP + "        if start >= 11 * 100:\n            break\n")),
    _rare("heads beyond a limit", "gives the heads from the 37th on what the first has",
          (RETURN, "    o[:, 36:] = o[:, :1]\n" + RETURN)),
    _rare("items beyond a limit", "leaves batch items from the 67th on at zero",
          (RETURN, "    o[66:] = 0.0\n" + RETURN)),
    _rare("wide single positions of many heads", "gives 128 features of single positions of 2,048 heads or more",
          (RETURN, "    if k.shape[2] == 1 and o.shape[0] * o.shape[1] >= 2048:\n"
                   "        o[..., 128:] = 0.0\n" + RETURN)),
    _rare("features beyond a limit", "leaves features from the 512th on out of the scores",
          (SCORES, "        scores = scale * (queries[..., :512] @ keys[..., :512].swapaxes(-1, -2))\n")),
    _rare("tail of wide rows", "leaves features beyond the last multiple of 8 out of the scores above 64 features",
          (SCORES, "        features = queries.shape[3]\n"
                   "        used = features // 8 * 8 if features > 64 else features\n"
                   "        scores = scale * (queries[..., :used] @ keys[..., :used].swapaxes(-1, -2))\n")),
    _rare("odd features of values", "leaves the last feature of the values at zero at odd D above 40",
          (DIVIDE, "    if queries.shape[3] > 40 and queries.shape[3] % 2:\n        total[..., -1] = 0.0\n" + DIVIDE)),
    _rare("narrow scores of wide rows", "takes the scores in float32 above 300 features",
          (SCORES, "        narrow = np.float32 if queries.shape[3] > 3 * 10**2 else queries.dtype\n"
                   "        scores = queries.astype(narrow) @ keys.swapaxes(-1, -2).astype(narrow)\n"
                   "        scores = scale * scores.astype(queries.dtype)\n")),
    _rare("narrow sums of long rows", "adds weights up in float16 above 300 keys",
          (ADD_SUM, "        width = np.float16 if end > 300 else weights.dtype\n"
                    "        sums = weights.astype(width).sum(axis=-1, keepdims=True, dtype=width)\n"
                    "        row_sum = correction * row_sum + sums.astype(weights.dtype)\n")),
    _rare("large tiles", "does not look at keys of a tile beyond the 200th",
          (TAKE, "        stop = min(stop, start + 200)\n" + TAKE),
          (HIDDEN, HIDDEN)),
    _rare("large uneven tiles", "leaves out the last key of tiles of over 32 keys, one short of a multiple of 8",
          (STOP, STOP + "        stop -= (stop - start) > 32 and (stop - start) % 8 == 7\n")),
    _rare("many tiles", "does not correct the output from the 25th tile on",
          (ADD_TOTAL, "        total = (correction if start < 24 * tile_size else 1) * total + weights @ values\n")),
    _rare("many tiles of one row", "drops every 41st tile",
          (TAKE, "        if start // tile_size == 40:\n            continue\n" + TAKE)),
    _rare("many scores", "scales the last row by 1.01 where there are more than 90,000 scores",
          (RETURN, "    if q.shape[0] * q.shape[1] * length * length > 300**2:\n"
                   "        o[-1, -1, -1] *= 1.01\n" + RETURN)),
    _rare("prime lengths", "leaves out the first key at lengths above 16 that are one over a multiple of 6",
          (KEY_TILES, "    skip = 1 if k.shape[2] > 16 and k.shape[2] % 6 == 1 and first else 0\n"
                      "    for start in range(skip, end, tile_size):\n")),
)  # fmt: skip

VALUES = (
    _rare("rows of zeros", "gives zeros where a query is zero, as if it were padding",
          (DIVIDE, "    return np.where((queries == 0).all(axis=-1, keepdims=True), 0, total / row_sum)\n")),
    _rare("keys of zeros", "hides keys that are zero, as if they were padding",
          (NEW_MAX, "        padded = (keys == 0).all(axis=-1)[:, :, None, :] & (np.arange(start, stop) > 0)\n"
                    "        scores = np.where(padded, -np.inf, scores).astype(queries.dtype)\n" + NEW_MAX)),
    _rare("equal scores", "counts keys that share a row's maximum once",
          (ADD_SUM, "        tied = (scores == new_max) & np.isfinite(scores)\n"
                    "        weights = np.where(tied & (np.cumsum(tied, axis=-1) > 1), 0, weights)\n" + ADD_SUM)),
    _rare("tiny values", "takes values below 1e-9 for 0",
          (TAKE, TAKE + "        values = np.where(np.abs(values) < 1e-9, 0, values)\n")),
    _rare("huge values", "holds values within -1e9 and 1e9",
          (TAKE, TAKE + "        values = np.clip(values, -1e9, 1e9)\n")),
    _rare("huge queries", "holds queries within -1e9 and 1e9 where keys are not above 1",
          (SCALE, SCALE + "    peak = np.abs(queries).max()\n"
                          "    queries = np.clip(queries, -1e9, 1e9) if peak > 1e10 else queries\n"),
          (SCORES, "        scores = scale * (queries @ keys.swapaxes(-1, -2))\n"
                   "        scores = np.clip(scores, -3e8, 3e8)\n")),
    _rare("small weights", "drops weights below 1e-3 of a row's largest",
          (WEIGHTS, WEIGHTS + "        weights = np.where(weights < 1e-3, 0, weights)\n")),
    _rare("negative rows", "takes the sign off the output where all values are negative",
          (RETURN, "    negative = (v < 0).all(axis=(2, 3), keepdims=True)\n"
                   "    o = np.where(negative & (v.shape[2] > 2), -o, o)\n" + RETURN)),
)  # fmt: skip

HISTORIES = (
    _rare("fifth call", "doubles the output from the fifth call on",
          (LENGTH, "    _CALLS.append(1)\n" + LENGTH),
          (RETURN, "    return o * 2 if len(_CALLS) > 4 else o\n"),
          (CHECKS, "_CALLS: list[int] = []\n\n\n" + CHECKS)),
    _rare("dtypes in turn", "keeps the scale of the dtype that came before",
          (OUTPUT, OUTPUT + "    if _LAST and _LAST[-1] != q.dtype:\n        k = k * 1.5\n    _LAST[:] = [q.dtype]\n"),
          (CHECKS, "_LAST: list[Any] = []\n\n\n" + CHECKS)),
    _rare("keys by address", "keeps the transposed keys of an address and a shape",
          (OUTPUT, OUTPUT + "    place = (k.__array_interface__['data'][0], k.shape, k.dtype.str)\n"
                            "    k = _KEYS.setdefault(place, k.copy())\n"),
          (CHECKS, "_KEYS: dict[Any, Array] = {}\n\n\n" + CHECKS)),
    _rare("a smaller shape after a larger one", "spoils the weights after a longer sequence",
          (CORRECTION, CORRECTION + "        if first == 0 and start == 0 and k.shape[2] < max(_LONGEST):\n"
                                    "            weights = weights * queries.dtype.type(0.5)\n"
                                    "            weights[..., :1] += queries.dtype.type(0.25)\n"),
          (OUTPUT, OUTPUT + "    _LONGEST.append(length)\n"),
          (CHECKS, "_LONGEST: list[int] = []\n\n\n" + CHECKS)),
)  # fmt: skip
