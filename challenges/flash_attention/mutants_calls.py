"""Attentions that keep things between calls, whose form is wrong, or that cost what they should not."""

from harness.probing import Mutant

from .lines import (
    CHECK,
    CHECK_K,
    CHECK_TILE,
    CHECK_V,
    CHECKS,
    END,
    FILL,
    HIDDEN,
    LENGTH,
    OUTPUT,
    QUERY_TILES,
    RETURN,
    SCALE,
    STOP,
    WEIGHTS,
)


def _of(criterion: str, name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


CALLS = (
    _of("statelessness", "queries scaled in place", "scales the queries where the caller keeps them",
        (SCALE, SCALE + "    queries *= scale\n    scale = 1.0\n")),
    _of("statelessness", "keys scaled and put back", "writes to the keys and puts them back",
        (LENGTH, "    k *= 2\n    k /= 2\n" + LENGTH)),
    _of("statelessness", "one output for all", "returns the same array for every call of a shape",
        (OUTPUT, "    o = _OUTPUTS.setdefault((q.shape, q.dtype.str), np.empty_like(q))\n"),
        (CHECKS, "_OUTPUTS: dict[Any, Array] = {}\n\n\n" + CHECKS)),
    _of("statelessness", "keys remembered by shape", "keeps the keys of the first call of a shape",
        (OUTPUT, "    k = _KEYS.setdefault((k.shape, k.dtype.str), k.copy())\n" + OUTPUT),
        (CHECKS, "_KEYS: dict[Any, Array] = {}\n\n\n" + CHECKS)),
    _of("any_layout", "keys scaled by array", "scales the keys, and with them values that are the same array",
        (LENGTH, LENGTH + "    scaled = {id(k): 2 * k}\n"
                          "    q, k, v = q / 2, scaled[id(k)], scaled.get(id(v), v)\n")),
    _of("statelessness", "a little noise", "adds noise of a few roundings, another one in each call",
        (RETURN, "    noise = np.random.default_rng().standard_normal(o.shape)\n"
                 "    return (o + np.finfo(o.dtype).eps * noise).astype(o.dtype)\n")),
)  # fmt: skip

FORM = (
    _of("dtype", "always float64", "returns float64 whatever it was given",
        (RETURN, "    return o.astype(np.float64)\n")),
    _of("dtype", "always float32", "returns float32 whatever it was given",
        (RETURN, "    return o.astype(np.float32)\n")),
    _of("dtype", "float64 where heads share", "returns float64 where heads share keys and values",
        (OUTPUT, OUTPUT + "    shared = k.shape[1] < q.shape[1]\n"),
        (RETURN, "    return o.astype(np.float64) if shared else o\n")),
    _of("shapes", "single position", "gives zeros where there is one position",
        (RETURN, "    return o if length > 1 else np.zeros_like(o)\n")),
    _of("shapes", "single head", "drops the axis of heads where there is one",
        (RETURN, "    return o[:, 0] if o.shape[1] == 1 else o\n")),
    _of("shapes", "single feature", "fails where there is one feature",
        (SCALE, "    scale = 1.0 / math.sqrt(queries.shape[3] - (queries.shape[3] == 1))\n")),
    _of("argument_errors", "keys unchecked", "takes keys of another shape", (CHECK_K, "")),
    _of("argument_errors", "values unchecked", "takes values of another shape", (CHECK_V, "")),
    _of("argument_errors", "axes unchecked", "takes arrays without heads and batch",
        (CHECK, "    if q.ndim < 4:\n"
                "        given = (array.reshape((1,) * (4 - array.ndim) + array.shape) for array in (q, k, v))\n"
                "        return flash_attention_fwd(*given, tile_size, causal).reshape(q.shape)\n" + CHECK)),
    _of("argument_errors", "negative tiles", "takes tiles of less than no rows",
        (CHECK_TILE, '    _require(tile_size != 0, "tile_size is 0")\n')),
    _of("argument_errors", "tiles of no rows", "takes a tile of no rows for one of a single row",
        (CHECK_TILE, ""), (LENGTH, LENGTH + "    tile_size = max(1, tile_size)\n")),
)  # fmt: skip

WHOLE = (
    "        scores = q @ k.swapaxes(-1, -2) / q.dtype.type(math.sqrt(q.shape[3]))\n"
    "        if causal:\n"
    "            scores[:, :, np.triu(np.ones((length, length), bool), 1)] = -np.inf\n"
    "        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
    "        o[:] = scores @ v / scores.sum(axis=-1, keepdims=True)\n"
)
KEPT = "_KEPT: list[Array] = []\n\n\n"

COSTS = (
    _of("no_score_matrix", "all scores at once", "takes all scores at once", (QUERY_TILES, "    for _ in (0,):\n"),
        ("        last = min(first + tile_size, length)\n", ""), (FILL, WHOLE)),
    _of("no_score_matrix", "all weights kept", "keeps the weights of every tile until the call ends",
        (LENGTH, "    _KEPT.clear()\n" + LENGTH), (CHECKS, KEPT + CHECKS),
        (WEIGHTS, WEIGHTS + "        _KEPT.append(weights)\n")),
    _of("no_score_matrix", "a mask of all pairs", "makes the mask of all pairs of positions",
        (HIDDEN, "            every = np.arange(k.shape[2]) > np.arange(k.shape[2])[:, None]\n"
                 "            hidden = every[first:last, start:stop]\n")),
    _of("no_score_matrix", "a whole row of tiles", "takes the scores of a thousand queries and all keys at once",
        (LENGTH, LENGTH + "    tile_size = max(tile_size, 1000)\n")),
    _of("memory_growth", "weights kept in half precision", "keeps the weights of every tile in half precision",
        (LENGTH, "    _KEPT.clear()\n" + LENGTH), (CHECKS, KEPT + CHECKS),
        (WEIGHTS, WEIGHTS + "        _KEPT.append(weights.astype(np.float16))\n")),
    _of("memory_growth", "a signed mask kept", "keeps a byte for every pair of positions",
        (OUTPUT, "    seen = np.ones((length, length), np.int8)\n" + OUTPUT),
        (RETURN, "    return o * q.dtype.type(seen[0, 0])\n")),
    _of("tile_skipping", "hidden tiles worked on", "works on tiles above the diagonal and masks them",
        (END, "    end = k.shape[2]\n")),
    _of("tile_skipping", "hidden tiles scored", "takes the scores of tiles above the diagonal, and drops them",
        (STOP, STOP + "        if causal and start == 0:\n"
                      "            for ahead in range(last, k.shape[2], tile_size):\n"
                      "                unseen = np.exp(queries @ k[:, :, ahead : ahead + tile_size].swapaxes(-1, -2))\n"
                      "                unseen = unseen @ v[:, :, ahead : ahead + tile_size]\n")),
)  # fmt: skip
