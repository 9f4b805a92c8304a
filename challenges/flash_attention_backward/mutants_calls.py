"""Attentions that keep things between calls, whose form is wrong, or that cost what they should not."""

from harness.probing import Mutant

from .lines import (
    CHECK_DO,
    CHECK_K,
    CHECK_TILE,
    CHECK_V,
    CHECKS,
    END,
    FORWARD_END,
    FORWARD_SCALE,
    GRADIENTS,
    HIDDEN,
    LENGTH,
    RAISED,
    RECALL,
    SAVE,
    SCALE,
    WEIGHTS,
    ZEROS,
)


def _of(criterion: str, name: str, fault: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


KEEPS = "_KEPT: dict[Any, Any] = {}\n\n\n" + CHECKS

CALLS = (
    _of("statelessness", "queries scaled in place", "scales the queries where the caller keeps them",
        (FORWARD_SCALE, FORWARD_SCALE + "    queries *= scale\n    scale = 1.0\n")),
    _of("statelessness", "do scaled and put back", "writes to do and puts it back",
        (SCALE, SCALE + "    do *= 2\n    do /= 2\n")),
    _of("statelessness", "the latest cache", "takes the cache of the latest forward whatever it is given",
        (SAVE, '    _KEPT["cache"] = {"O": o, "L": logsumexp, "Q": q, "K": k, "V": v}\n'
               '    return o, dict(_KEPT["cache"])\n'),
        (RECALL, '    if _KEPT and _KEPT["cache"]["Q"].shape == do.shape:\n        cache = _KEPT["cache"]\n' + RECALL),
        (CHECKS, KEEPS)),
    _of("statelessness", "gradients added up", "goes on adding to the gradients of the backward before",
        (ZEROS, "    place = (q.shape, q.dtype.str)\n"
                "    dq, dk, dv = _KEPT.setdefault(place, [np.zeros_like(q) for _ in range(3)])\n"),
        (GRADIENTS, "    return dq.copy(), dk.copy(), dv.copy()\n"), (CHECKS, KEEPS)),
    _of("statelessness", "last features added up", "clears only a multiple of 16 features of dq over 64",
        (ZEROS, "    place = (q.shape, q.dtype.str)\n"
                "    dq, dk, dv = _KEPT.setdefault(place, [np.zeros_like(q) for _ in range(3)])\n"
                "    for gradient in (dq, dk, dv):\n"
                "        gradient[..., : None if q.shape[3] <= 64 else q.shape[3] // 16 * 16] = 0\n"),
        (GRADIENTS, "    return dq.copy(), dk.copy(), dv.copy()\n"), (CHECKS, KEEPS)),
    _of("statelessness", "one output for all", "returns the same array for every call of a shape",
        (ZEROS, "    place = (q.shape, q.dtype.str)\n"
                "    dq, dk, dv = _KEPT.setdefault(place, [np.zeros_like(q) for _ in range(3)])\n"
                "    for gradient in (dq, dk, dv):\n        gradient[:] = 0\n"), (CHECKS, KEEPS)),
    _of("any_layout", "sums by array", "adds the gradients of one array that is given twice up in one",
        (ZEROS, "    sums = {id(each): np.zeros_like(each) for each in (q, k, v)}\n"
                "    dq, dk, dv = (sums[id(each)] for each in (q, k, v))\n")),
    _of("cache_reuse", "cache used up", "writes over the cache's keys in the backward",
        (GRADIENTS, '    cache["K"] = dk.copy()\n' + GRADIENTS)),
    _of("statelessness", "a little noise", "adds noise of a few roundings, another one in each call",
        (GRADIENTS, "    noise = np.random.default_rng().standard_normal(dq.shape)\n"
                    "    dq = (dq + np.finfo(dq.dtype).eps * noise).astype(dq.dtype)\n" + GRADIENTS)),
)  # fmt: skip

FORM = (
    _of("dtype", "always float64", "returns float64 gradients whatever it was given",
        (GRADIENTS, "    return dq.astype(np.float64), dk.astype(np.float64), dv.astype(np.float64)\n")),
    _of("dtype", "output in float32", "returns a float32 output whatever it was given",
        (SAVE, SAVE.replace("return o,", "return o.astype(np.float32),"))),
    _of("shapes", "single position", "gives no dv where there is one position",
        (GRADIENTS, "    dv = dv if length > 1 else np.zeros_like(dv)\n" + GRADIENTS)),
    _of("shapes", "single head", "drops the axis of heads where there is one",
        (GRADIENTS, "    return (dq[:, 0], dk, dv) if dq.shape[1] == 1 else (dq, dk, dv)\n")),
    _of("cache_arrays", "weights in the cache", "keeps the row sums beside the five arrays",
        (SAVE, SAVE.replace('"V": v}', '"V": v, "S": np.exp(logsumexp)}'))),
    _of("cache_arrays", "no output in the cache", "keeps no output, and computes it again",
        (SAVE, SAVE.replace('"O": o, ', "")),
        (RECALL, '    o = flash_attention_fwd(cache["Q"], cache["K"], cache["V"], tile_size, causal)[0]\n'
                 + RECALL.replace("q, k, v, o, logsumexp", "q, k, v, logsumexp").replace('"O", ', ""))),
    _of("cache_arrays", "L with an axis of one", "keeps L with an axis of one feature",
        (SAVE, SAVE.replace('"L": logsumexp', '"L": logsumexp[..., None]')),
        (RECALL, RECALL + "    logsumexp = logsumexp[..., 0]\n")),
    _of("cache_arrays", "a tuple for the cache", "keeps a tuple instead of a dict",
        (SAVE, "    return o, (o, logsumexp, q, k, v)\n"), (RECALL, "    o, logsumexp, q, k, v = cache\n")),
    _of("cache_arrays", "scaled queries in the cache", "keeps the scaled queries in place of the queries",
        (SAVE, SAVE.replace('"Q": q,', '"Q": q * q.dtype.type(4.0),')), (RECALL, RECALL + "    q = q / 4\n")),
    _of("cache_arrays", "keys as columns", "keeps the keys with features first",
        (SAVE, SAVE.replace('"K": k,', '"K": np.ascontiguousarray(k.swapaxes(2, 3)),')),
        (RECALL, RECALL + "    k = k.swapaxes(2, 3)\n")),
    _of("cache_is_data", "the output kept aside", "keeps the output in a global, under the address of L",
        (SAVE, "    _KEPT[logsumexp.tobytes()] = o\n" + SAVE),
        (RECALL, RECALL + "    o = _KEPT.get(logsumexp.tobytes(), np.zeros_like(q))\n"), (CHECKS, KEEPS)),
    _of("argument_errors", "keys unchecked", "takes keys of another shape", (CHECK_K, "")),
    _of("argument_errors", "values unchecked", "takes values of another shape", (CHECK_V, "")),
    _of("argument_errors", "do unchecked", "takes a do of another shape", (CHECK_DO, "")),
    _of("argument_errors", "negative tiles", "takes tiles of less than no rows in the backward", (CHECK_TILE, "")),
)  # fmt: skip

WHOLE = "    _KEPT.clear()\n"

COSTS = (
    _of("no_score_matrix", "all weights kept", "keeps the weights of every tile until the backward ends",
        (SCALE, SCALE + WHOLE), (WEIGHTS, WEIGHTS + "            _KEPT[first, start] = weights\n"), (CHECKS, KEEPS)),
    _of("no_score_matrix", "all weights of the forward", "keeps the weights of every tile until the forward ends",
        (LENGTH, LENGTH + WHOLE), (RAISED, RAISED + "        _KEPT[first, start] = raised\n"), (CHECKS, KEEPS)),
    _of("no_score_matrix", "all scores at once", "takes all scores at once in the backward",
        (SCALE, SCALE + "    tile_size = q.shape[2]\n")),
    _of("no_score_matrix", "a mask of all pairs", "makes the mask of all pairs of positions",
        (HIDDEN, "                every = np.arange(length) > np.arange(length)[:, None]\n"
                 "                hidden = every[first:last, start:stop]\n")),
    _of("memory_growth", "weights kept in half precision", "keeps the weights of every tile in half precision",
        (SCALE, SCALE + WHOLE), (CHECKS, KEEPS),
        (WEIGHTS, WEIGHTS + "            _KEPT[first, start] = weights.astype(np.float16)\n")),
    _of("memory_growth", "a byte for every pair", "keeps a byte for every pair of positions",
        (ZEROS, ZEROS + "    seen = np.ones((length, length), np.int8)\n"),
        (GRADIENTS, "    return dq * q.dtype.type(seen[0, 0]), dk, dv\n")),
    _of("tile_skipping", "hidden tiles worked on", "works on tiles above the diagonal in the backward, and masks them",
        (END, "        end = length\n")),
    _of("tile_skipping", "hidden tiles in the forward", "works on tiles above the diagonal in the forward",
        (FORWARD_END, FORWARD_END.replace("last if causal else k.shape[2]", "k.shape[2]"))),
)  # fmt: skip
