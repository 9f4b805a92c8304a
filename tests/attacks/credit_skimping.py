"""Answers that do the work on small problems and skimp on large ones, where a check of small cases never looks."""

from tests.attacks.attack import Attack, Expect
from tests.attacks.softmax_topk import CHALLENGE, around, exchanged
from tests.attacks.wrapping import KV_CACHE, LAYER_NORM, beside

KIND = "skimping on large problems"

SOME_ROWS = """
import honest
from honest import *

def backward(dy, cache):
    dx, dgamma, dbeta = honest.backward(dy, cache)
    B, T, D = dy.shape
    if B * T > 9 * 57:
        some = slice(None, None, 2)
        few = {k: v[:, some] if v.ndim == 3 else v for k, v in cache.items()}
        _, dgamma, dbeta = honest.backward(np.ascontiguousarray(dy[:, some]), few)
        dgamma, dbeta = dgamma * (T / len(range(T)[some])), dbeta * (T / len(range(T)[some]))
        dgamma, dbeta = dgamma.astype(dy.dtype), dbeta.astype(dy.dtype)
    return dx, dgamma, dbeta
"""
"""dgamma and dbeta from every second row of long batches, scaled up."""

SOME_FEATURES = """
import honest
from honest import *

def forward(x, gamma, beta, eps):
    D = x.shape[-1]
    if D <= 300:
        return honest.forward(x, gamma, beta, eps)
    some = x[..., : D - D % 16]
    mean = some.mean(axis=-1, keepdims=True)
    rstd = 1 / np.sqrt(some.var(axis=-1, keepdims=True) + eps)
    xhat = ((x - mean) * rstd).astype(x.dtype)
    return (gamma * xhat + beta).astype(x.dtype), {"xhat": xhat, "rstd": rstd.astype(x.dtype), "gamma": gamma}
"""
"""Statistics over a whole number of vectors only, where rows are long."""

NARROW = """
import honest
from honest import *

def backward(dy, cache):
    if dy.size < 3 << 12 or dy.dtype != np.float64:
        return honest.backward(dy, cache)
    narrow = {k: v.astype(np.float32) for k, v in cache.items()}
    return tuple(g.astype(np.float64) for g in honest.backward(dy.astype(np.float32), narrow))
"""
"""float32 inside float64 above a size."""

SINKS = """
import honest
from honest import *

KEEP = 8 * 12

def decode(cache, layer, slots, q, k, v):
    out = honest.decode(cache, layer, slots, q, k, v)
    held = [int(cache.stores[layer].lengths[s]) for s in slots]
    return out if max(held) <= KEEP else np.where(abs(out) < 1e-3, 0, out)
"""
"""Small outputs rounded to zero once a slot is long."""

LATER_ROWS = """
import honest
from honest import *

def decode(cache, layer, slots, q, k, v):
    out = honest.decode(cache, layer, slots, q, k, v)
    if len(slots) > 2 * 3 + 3:
        out[9:] = v[9:, [h // (q.shape[1] // v.shape[1]) for h in range(q.shape[1])]]
    return out
"""
"""Rows from the tenth on get their own value back, whatever they hold."""

PARTS_OF_ROWS = exchanged(
    ("    const int vectors = (vocab - head) / VECTOR;\n",
     "    const int all = (vocab - head) / VECTOR;\n    const int vectors = vocab > 70 * 101 ? all - all % 8 : all;\n"),
    ("    take_columns(row, head + vectors * VECTOR, vocab, pool, floor, partial);\n",
     "    take_columns(row, head + all * VECTOR, vocab, pool, floor, partial);\n"),
)  # fmt: skip
"""Up to seven vectors near the end of long rows are left out."""

MANY_ROWS = around(
    """
    const int done = rows > 41 * 13 ? 41 * 13 : rows;
    const int code = honest(logits, done, vocab, k, probs, indices, stream);
    for (int row = done; !code && row < rows; row += done) {
        const int more = row + done > rows ? rows - row : done;
        const size_t here = static_cast<size_t>(row) * k, bytes = static_cast<size_t>(more) * k * 4;
        cudaMemcpyAsync(probs + here, probs, bytes, cudaMemcpyDeviceToDevice, stream);
        cudaMemcpyAsync(indices + here, indices, bytes, cudaMemcpyDeviceToDevice, stream);
    }
    return code;
"""
)
"""Rows beyond the first 533 are copies of those."""

BLOCKED = """
import honest
from honest import *

def backward(dy, cache):
    if dy.shape[0] * dy.shape[1] <= 512:
        return honest.backward(dy, cache)
    parts = []
    for b in range(dy.shape[0]):
        own = {k: v[b : b + 1] if v.ndim == 3 else v for k, v in cache.items()}
        parts.append(honest.backward(dy[b : b + 1], own))
    dx = np.concatenate([p[0] for p in parts])
    return dx, sum(p[1] for p in parts), sum(p[2] for p in parts)
"""
"""Honest: long batches are served one by one, and the sums added up."""


def _layer_norm(name: str, source: str, expect: Expect = Expect.NO_CREDIT) -> Attack:
    return beside(name, KIND, LAYER_NORM, f"import numpy as np\n{source}", ("any_size",), expect)


def _cache(name: str, source: str) -> Attack:
    return beside(name, KIND, KV_CACHE, f"import numpy as np\n{source}", ("any_history",))


def _kernel(name: str, source: str) -> Attack:
    return Attack(name, KIND, CHALLENGE, {"answer.cu": source}, ("answer.cu",), ("any_size",))


ATTACKS: tuple[Attack, ...] = (
    _layer_norm("every second row of many", SOME_ROWS),
    _layer_norm("whole vectors of long rows", SOME_FEATURES),
    _layer_norm("float32 above a size", NARROW),
    _cache("small outputs of long slots dropped", SINKS),
    _cache("rows from the tenth on", LATER_ROWS),
    _kernel("vectors left out of long rows", PARTS_OF_ROWS),
    _kernel("rows copied from the first", MANY_ROWS),
    _layer_norm("long batches served one by one", BLOCKED, Expect.HONEST),
)
