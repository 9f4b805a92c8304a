"""Lines of the reference that mutants and variants exchange, each of which occurs there once."""

LENGTH = "    _check_arguments(q, k, v, tile_size)\n    length = q.shape[2]\n"
FILL = (
    "        o[:, :, rows], logsumexp[:, :, rows] = "
    "_attend(q[:, :, rows], keys, values, first + ahead, tile_size, causal)\n"
)
SAVE = '    return o, {"O": o, "L": logsumexp, "Q": q, "K": k, "V": v}\n'
RECALL = '    q, k, v, o, logsumexp = (cache[name] for name in ("Q", "K", "V", "O", "L"))\n'
CHECK_DO = '    _require(do.shape == q.shape, f"do has shape {do.shape}, q had {q.shape}")\n'
CHECK_TILE = '    _require(tile_size >= 1, f"the tile size is {tile_size}, expected at least 1")\n'
SCALE = "    scale = 1.0 / math.sqrt(q.shape[3])\n"
ZEROS = "    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)\n"
DELTA = "    delta = (do * o).sum(axis=-1, keepdims=True)\n"
QUERY_TILES = DELTA + "    for first in range(_blind(ahead, causal), length, tile_size):\n"
QUERY_END = "        last = min(first + tile_size, length)\n"
END = "        end = last + ahead if causal else k.shape[2]\n"
KEY_TILES = "        for start in range(0, end, tile_size):\n            stop"
STOP = "            stop = min(start + tile_size, end)\n"
KEYS = "            keys = slice(start, stop)\n"
SCORES = "            scores = scale * (q[:, :, rows] @ k[:, :, keys].swapaxes(-1, -2))\n"
HIDDEN = "                hidden = np.arange(start, stop) > np.arange(first, last)[:, None] + ahead\n"
HIDE = "                scores[:, :, hidden] = -np.inf\n"
WEIGHTS = "            weights = np.exp(scores - logsumexp[:, :, rows, None]).astype(q.dtype)\n"
SLOPES = "            slopes = do[:, :, rows] @ v[:, :, keys].swapaxes(-1, -2)\n"
DSCORES = "            dscores = weights * (slopes - delta[:, :, rows])\n"
ADD_DV = "            dv[:, :, keys] += weights.swapaxes(-1, -2) @ do[:, :, rows]\n"
ADD_DQ = "            dq[:, :, rows] += scale * (dscores @ k[:, :, keys])\n"
ADD_DK = "            dk[:, :, keys] += scale * (dscores.swapaxes(-1, -2) @ q[:, :, rows])\n"
GRADIENTS = "    return dq, dk, dv\n"
FORWARD_END = "    end = last if causal else k.shape[2]\n    scale"
FORWARD_SCALE = "    scale = 1.0 / math.sqrt(queries.shape[3])\n"
FORWARD_TILES = "    total = np.zeros_like(queries)\n    for start in range(0, end, tile_size):\n"
FORWARD_SCORES = "        scores = scale * (queries @ k[:, :, start:stop].swapaxes(-1, -2))\n"
FORWARD_HIDE = "            scores[:, :, np.arange(start, stop) > np.arange(first, last)[:, None]] = -np.inf\n"
ROW_MAX = "    row_max = np.full((*queries.shape[:3], 1), -np.inf, queries.dtype)\n"
NEW_MAX = "        new_max = np.maximum(row_max, scores.max(axis=-1, keepdims=True))\n"
RAISED = "        raised = np.exp(scores - new_max)\n"
CORRECTION = "        correction = np.exp(row_max - new_max)\n"
ADD_SUM = "        row_sum = correction * row_sum + raised.sum(axis=-1, keepdims=True)\n"
ADD_TOTAL = "        total = correction * total + raised @ v[:, :, start:stop]\n"
CARRY = "        row_max = new_max\n"
DIVIDE = "    return total / row_sum, (row_max + np.log(row_sum))[..., 0]\n"
CHECKS = "def _check_arguments(q: Array, k: Array, v: Array, tile_size: int) -> None:\n"
CHECK_K = '    _require(fits, f"k has shape {k.shape}, q has {q.shape}")\n'
CHECK_V = '    _require(v.shape == k.shape, f"v has shape {v.shape}, k has {k.shape}")\n'
GROUPS = "    return shared if shared.shape[1] == heads else shared.repeat(heads // shared.shape[1], axis=1)\n"
OVER_GROUPS = "    return each if groups == H else each.reshape(B, groups, H // groups, M, D).sum(axis=2)\n"
AHEAD = "    ahead = k.shape[2] - length\n"
