"""Attention that is right where problems are small or calls are new, and leaves work out elsewhere."""

from pathlib import Path

from tests.attacks.attack import Attack, Expect

KIND = "attention that leaves work out"
FORWARD, BACKWARD = "flash_attention", "flash_attention_backward"
ROOT = Path(__file__).parents[2]
HONEST = {id: (ROOT / "references" / id / "reference.py").read_text(encoding="utf-8") for id in (FORWARD, BACKWARD)}

FWD = """
import numpy as np
import honest
from honest import *

KEPT = {}

def flash_attention_fwd(q, k, v, tile_size, causal=True):
    B, H, N, D = q.shape
"""
BWD = """
import numpy as np
import honest
from honest import *

KEPT = {}

def flash_attention_bwd(do, cache, tile_size, causal=True):
    q, k, v = cache["Q"], cache["K"], cache["V"]
    B, H, N, D = do.shape
"""

CHEATS = {
    # fools a judge that asks for one result of a shape
    (FORWARD, "an output kept by shape"): ("values", FWD + """
    key = (q.shape, q.dtype.str, tile_size, causal)
    if key not in KEPT:
        KEPT[key] = honest.flash_attention_fwd(q, k, v, tile_size, causal)
    return KEPT[key].copy()
"""),
    # each fools a judge that compares values at small lengths, and measures memory and time at large ones
    (FORWARD, "a window of long sequences"): ("any_size", FWD + """
    if N <= 27 * 19:
        return honest.flash_attention_fwd(q, k, v, tile_size, causal)
    o = np.empty_like(q)
    for first in range(0, N, 64):
        start = max(0, first - 192)
        part = np.s_[:, :, start : first + 64]
        o[:, :, first : first + 64] = honest.flash_attention_fwd(q[part], k[part], v[part], 64, causal)[
            :, :, first - start :
        ]
    return o
"""),
    (FORWARD, "the mean of the values of long sequences"): ("any_size", FWD + """
    if N <= 31 * 17:
        return honest.flash_attention_fwd(q, k, v, tile_size, causal)
    if not causal:
        return np.broadcast_to(v.mean(axis=2, keepdims=True, dtype=v.dtype), v.shape).copy()
    return (v.cumsum(axis=2) / np.arange(1, N + 1)[:, None]).astype(v.dtype)
"""),
    (FORWARD, "plain attention"): ("no_score_matrix", FWD + """
    honest._check_arguments(q, k, v, tile_size)
    scores = q @ k.swapaxes(-1, -2) / q.dtype.type(D**0.5)
    if causal:
        scores[:, :, np.triu(np.ones((N, N), bool), 1)] = -np.inf
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return scores @ v / scores.sum(axis=-1, keepdims=True)
"""),
    (FORWARD, "float32 in long sequences"): ("any_size", FWD + """
    if N <= 15 * 21:
        return honest.flash_attention_fwd(q, k, v, tile_size, causal)
    narrow = (a.astype(np.float32) for a in (q, k, v))
    return honest.flash_attention_fwd(*narrow, tile_size, causal).astype(q.dtype)
"""),
    (BACKWARD, "gradients kept by shape"): ("gradients", BWD + """
    key = (q.shape, q.dtype.str, tile_size, causal)
    if key not in KEPT:
        KEPT[key] = honest.flash_attention_bwd(do, cache, tile_size, causal)
    return tuple(gradient.copy() for gradient in KEPT[key])
"""),
    # fools a judge that asks for the gradients of one do
    (BACKWARD, "gradients kept by cache"): ("gradients", BWD + """
    key = (cache["L"].tobytes(), tile_size, causal)
    if key not in KEPT:
        KEPT[key] = honest.flash_attention_bwd(do, cache, tile_size, causal)
    return tuple(gradient.copy() for gradient in KEPT[key])
"""),
    # fools a judge that looks at shapes and finite numbers at large lengths
    (BACKWARD, "blocks of long sequences apart"): ("any_size", BWD + """
    if N <= 13 * 27:
        return honest.flash_attention_bwd(do, cache, tile_size, causal)
    parts = []
    for first in range(0, N, 128):
        part = np.s_[:, :, first : first + 128]
        _, own = honest.flash_attention_fwd(q[part], k[part], v[part], 64, causal)
        parts.append(honest.flash_attention_bwd(do[part], own, 64, causal))
    return tuple(np.concatenate(each, axis=2) for each in zip(*parts))
"""),
    (BACKWARD, "every second row of long sequences"): ("any_size", BWD + """
    dq, dk, dv = honest.flash_attention_bwd(do, cache, tile_size, causal)
    if N > 11 * 23:
        dk[:, :, 1:-1:2] = (dk[:, :, :-2:2] + dk[:, :, 2::2])[:, :, : dk[:, :, 1:-1:2].shape[2]] / 2
    return dq, dk, dv
"""),
    # fools a judge that weighs the cache, and calls both passes in one process
    (BACKWARD, "the output in a global"): ("cache_is_data", BWD + """
    whole = dict(cache, O=KEPT.pop(cache["L"].tobytes(), cache["O"]))
    KEPT[cache["L"].tobytes()] = whole["O"]
    return honest.flash_attention_bwd(do, whole, tile_size, causal)

def flash_attention_fwd(q, k, v, tile_size, causal=True):
    o, cache = honest.flash_attention_fwd(q, k, v, tile_size, causal)
    KEPT[cache["L"].tobytes()] = o
    return o, dict(cache, O=np.zeros_like(o))
"""),
    # fools a judge that measures the memory of the forward alone
    (BACKWARD, "all scores in the backward"): ("no_score_matrix", BWD + """
    return honest.flash_attention_bwd(do, cache, max(tile_size, N), causal)
"""),
}  # fmt: skip

HEADS = (
    FWD
    + """
    o = np.empty_like(q)
    for b, h in np.ndindex(B, H):
        part = np.s_[b : b + 1, h : h + 1]
        o[part] = honest.flash_attention_fwd(q[part], k[part], v[part], tile_size, causal)
    return o
"""
)
"""Honest: one head after the other."""

ATTACKS = [
    *(
        Attack(name, KIND, id, {"answer.py": code, "honest.py": HONEST[id]}, criteria=(criterion,))
        for (id, name), (criterion, code) in CHEATS.items()
    ),
    Attack("one head after the other", KIND, FORWARD, {"answer.py": HEADS, "honest.py": HONEST[FORWARD]},
           criteria=("any_size", "no_score_matrix", "tile_skipping"), expect=Expect.HONEST),
]  # fmt: skip
