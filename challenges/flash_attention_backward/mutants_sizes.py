"""Attentions that are wrong only at some sizes, for some values or after some calls."""

from harness.probing import Mutant

from .lines import (
    ADD_DK,
    ADD_DQ,
    ADD_DV,
    CHECKS,
    DELTA,
    DSCORES,
    FILL,
    GRADIENTS,
    RECALL,
    SAVE,
    SCALE,
    SCORES,
    SLOPES,
    STOP,
    WEIGHTS,
)


def _rare(name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion="any_size", edits=edits)


KEEPS = "_KEPT: dict[Any, Any] = {}\n\n\n" + CHECKS

SIZES = (
    _rare("keys beyond a limit", "does not look at keys from position 700 on in the backward",
          (STOP, STOP + "            if start >= 7 * 100:\n                break\n")),
    _rare("rows beyond a limit", "leaves dq from position 600 on at zero",
          (GRADIENTS, "    dq[:, :, 6 * 10**2 :] = 0.0\n" + GRADIENTS)),
    _rare("heads beyond a limit", "leaves dk of the heads from the 37th on at zero",
          (GRADIENTS, "    dk[:, 36:] = 0.0\n" + GRADIENTS)),
    _rare("items beyond a limit", "leaves dv of batch items from the 67th on at zero",
          (GRADIENTS, "    dv[66:] = 0.0\n" + GRADIENTS)),
    _rare("wide single positions of many heads", "gives 128 features of dv for single positions of 2,048 heads or more",
          (GRADIENTS, "    if k.shape[2] == 1 and q.shape[0] * q.shape[1] >= 2048:\n"
                      "        dv[..., 128:] = 0.0\n" + GRADIENTS)),
    _rare("features beyond a limit", "leaves features from the 512th on out of the slopes",
          (SLOPES, "            slopes = do[:, :, rows, :512] @ v[:, :, keys, :512].swapaxes(-1, -2)\n")),
    _rare("tail of wide rows", "leaves features beyond the last multiple of 8 out of the row sum above 64 features",
          (DELTA, "    used = q.shape[3] // 8 * 8 if q.shape[3] > 64 else q.shape[3]\n"
                  "    delta = (do * o)[..., :used].sum(axis=-1, keepdims=True)\n")),
    _rare("narrow scores of wide rows", "takes the scores of the backward in float32 above 300 features",
          (SCORES, "            narrow = np.float32 if q.shape[3] > 3 * 10**2 else q.dtype\n"
                   "            scores = q[:, :, rows].astype(narrow) @ k[:, :, keys].swapaxes(-1, -2).astype(narrow)\n"
                   "            scores = scale * scores.astype(q.dtype)\n")),
    _rare("large tiles", "adds only the first 200 rows of a tile to dk",
          (ADD_DK, "            part = dscores[:, :, :200].swapaxes(-1, -2) @ q[:, :, rows][:, :, :200]\n"
                   "            dk[:, :, keys] += scale * part\n")),
    _rare("uneven tiles", "leaves the last row out of dv in tiles of over 16 rows, one short of a multiple of 8",
          (ADD_DV, "            used = last - first - ((last - first) > 16 and (last - first) % 8 == 7)\n"
                   "            flow = do[:, :, rows][:, :, :used]\n"
                   "            dv[:, :, keys] += weights[:, :, :used].swapaxes(-1, -2) @ flow\n")),
    _rare("many tiles", "adds nothing to dq from the 19th tile of keys on",
          (ADD_DQ, ADD_DQ.replace("scale * ", "(start < 18 * tile_size) * scale * "))),
    _rare("other tiles", "takes the tile of the forward for that of the backward where that is larger than 64",
          (SAVE, "    _KEPT['tile'] = tile_size\n" + SAVE), (CHECKS, KEEPS),
          (SCALE, SCALE + "    if _KEPT.get('tile', 0) > tile_size > 4:\n        v = v * 1.01\n")),
    _rare("many scores", "scales the last row of dv by 1.01 where there are more than 90,000 scores",
          (GRADIENTS, "    if q.shape[0] * q.shape[1] * length * length > 300**2:\n"
                      "        dv[-1, -1, -1] *= 1.01\n" + GRADIENTS)),
    _rare("narrow sums of long rows", "adds the row sum up in float16 above 50 features",
          (DELTA, DELTA + "    if q.shape[3] > 50:\n        delta = delta.astype(np.float16).astype(q.dtype)\n")),
)  # fmt: skip

VALUES = (
    _rare("rows of zeros", "gives no dq where a query is zero, as if it were padding",
          (GRADIENTS, "    dq = np.where((q == 0).all(axis=-1, keepdims=True), 0, dq)\n" + GRADIENTS)),
    _rare("keys of zeros", "gives no dv where a value is zero, as if it were padding",
          (GRADIENTS, "    dv = np.where((v == 0).all(axis=-1, keepdims=True), 0, dv)\n" + GRADIENTS)),
    _rare("rows of zero do", "gives no dk in heads where a row of do is zero",
          (GRADIENTS, "    idle = (do == 0).all(axis=-1).any(axis=-1)[..., None, None]\n"
                      "    dk = np.where(idle & (length > 2), 0, dk)\n" + GRADIENTS)),
    _rare("small weights", "drops weights below 1e-3",
          (WEIGHTS, WEIGHTS + "            weights = np.where(weights < 1e-3, 0, weights)\n")),
    _rare("large gradients", "holds the gradients of the scores within -1000 and 1000",
          (DSCORES, DSCORES + "            dscores = np.clip(dscores, -1000.0, 1000.0)\n")),
    _rare("tiny do", "takes do below 1e-8 for 0",
          (SCALE, SCALE + "    do = np.where(np.abs(do) < 1e-8, 0, do)\n")),
    _rare("equal keys", "gives keys that are equal to the one before no dk",
          (GRADIENTS, "    again = (k[:, :, 1:] == k[:, :, :-1]).all(axis=-1, keepdims=True)\n"
                      "    dk[:, :, 1:] = np.where(again, 0, dk[:, :, 1:])\n" + GRADIENTS)),
)  # fmt: skip

HISTORIES = (
    _rare("fifth call", "doubles dv from the fifth backward on",
          (SCALE, SCALE + "    _KEPT['calls'] = _KEPT.get('calls', 0) + 1\n"), (CHECKS, KEEPS),
          (GRADIENTS, "    return dq, dk, dv * (2 if _KEPT['calls'] > 4 else 1)\n")),
    _rare("dtypes in turn", "keeps the scale of the dtype that came before",
          (RECALL, RECALL + "    do = do * (1.5 if _KEPT.get('dtype', q.dtype) != q.dtype else 1)\n"
                            "    _KEPT['dtype'] = q.dtype\n"), (CHECKS, KEEPS)),
    _rare("third forward alive", "loses the L of the last forward but two",
          (SAVE, "    _KEPT.setdefault('all', []).append(logsumexp)\n"
                 "    for old in _KEPT['all'][:-3]:\n        old += 1\n" + SAVE), (CHECKS, KEEPS)),
    _rare("longer forwards before", "spoils the first tile after a longer sequence",
          (FILL, FILL + "        if first == 0 and _KEPT.get('longest', 0) > length:\n"
                        "            o[:, :, 0] *= 1.01\n"
                        "        _KEPT['longest'] = max(_KEPT.get('longest', 0), length)\n"),
          (CHECKS, KEEPS)),
)  # fmt: skip
