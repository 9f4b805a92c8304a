"""State kept where it does not belong, or not kept where it does; and features that are there in name only."""

from collections.abc import Mapping
from dataclasses import replace

from tests.attacks.attack import Attack
from tests.attacks.wrapping import HONEST, KV_CACHE, LAYER_NORM, beside

KIND = "state and features in name only"
CLAIMED: Mapping[str, Mapping[str, object]] = {
    LAYER_NORM: {},
    KV_CACHE: {"gqa": True, "sliding_window": True, "fork": True, "paged": True, "quantized": ["int8", "int4"]},
}

CACHE_TICKET = """
import numpy as np
import honest
from honest import *

CACHES = []

def forward(x, gamma, beta, eps):
    y, cache = honest.forward(x, gamma, beta, eps)
    CACHES.append(cache)
    return y, {"ticket": len(CACHES) - 1}

def backward(dy, cache):
    return honest.backward(dy, CACHES[cache["ticket"]])
"""
"""Fools a judge that weighs the cache: a number stands for arrays kept elsewhere."""

CACHE_PADDED = """
import numpy as np
import honest
from honest import *

CACHES = []

def forward(x, gamma, beta, eps):
    y, cache = honest.forward(x, gamma, beta, eps)
    CACHES.append(cache)
    return y, {"xhat": np.zeros_like(x), "ticket": np.full(x.shape[:2] + (1,), len(CACHES) - 1.0), "gamma": gamma}

def backward(dy, cache):
    return honest.backward(dy, CACHES[int(cache["ticket"].flat[0])])
"""
"""Fools a judge that weighs the cache from below as well: it is as heavy as it should be, and empty."""

LAST_FORWARD = """
import honest
from honest import *

LAST = {}

def forward(x, gamma, beta, eps):
    y, cache = honest.forward(x, gamma, beta, eps)
    LAST.update(cache)
    return y, cache

def backward(dy, cache):
    return honest.backward(dy, LAST)
"""
"""Fools a judge that calls forward and backward in turns."""

ACCUMULATED = """
import numpy as np
import honest
from honest import *

SEEN = {}

def backward(dy, cache):
    dx, dgamma, dbeta = honest.backward(dy, cache)
    key = dy.tobytes()
    SEEN[key] = SEEN.get(key, 0) + 1
    return dx, dgamma * (1 + 1e-3 * (SEEN[key] - 1)), dbeta
"""
"""Fools a judge that never makes the same call twice."""

ONE_ROW = """
import numpy as np
import honest
from honest import *

def forward(x, gamma, beta, eps):
    honest._check_arguments(x, gamma, beta, eps)
    mean, var = x.mean(axis=-1)[:1, :1, None], x.var(axis=-1)[:1, :1, None]
    rstd = 1 / np.sqrt(var + eps)
    xhat = (x - mean) * rstd
    return gamma * xhat + beta, {"xhat": xhat, "rstd": np.broadcast_to(rstd, x.shape[:2] + (1,)).copy(), "gamma": gamma}
"""
"""Fools a judge whose rows all have the same statistics: one row's stand for all."""

ONE_CACHE = """
import honest
from honest import *

CACHES = {}

def create_cache(**options):
    made = honest.create_cache(**options)
    return CACHES.setdefault(repr(sorted(options.items())), made)
"""
"""Fools a judge that makes one cache: all of the same options are one."""

NOT_RELEASED = """
import honest
from honest import *

def release(cache, slot):
    pass
"""
"""Fools a judge that never uses a slot again."""

FORK_SHARES = """
import honest
from honest import *

def fork(cache, src, dst):
    for store in cache.stores:
        store.release(dst)
        store.tables[dst] = store.tables[src]
        store.lengths[dst] = store.lengths[src]
"""
"""Fools a judge that reads the copy before anything is added: both slots have the same pages."""

QUANTIZED_IN_NAME = """
import honest
from honest import *

def create_cache(*, quantization=None, **options):
    return honest.create_cache(**options)
"""
"""Fools a judge that measures the error of compressed storage, which is nil without any."""

PAGED_IN_NAME = """
import honest
from honest import *

class Heap(list):
    def extend(self, pages):
        pass

def create_cache(*, page_size=None, **options):
    cache = honest.create_cache(**options)
    for store in cache.stores:
        store.kept = []
        store.free = Heap()
    return cache

def release(cache, slot):
    for store in cache.stores:
        store.kept.append(store.tables[slot])
    honest.release(cache, slot)
"""
"""Fools a judge that compares a paged cache with a plain one."""

PAGED_BY_THE_KERNEL = """
import numpy as np
import honest
from honest import *

def create_cache(*, page_size=None, **options):
    cache = honest.create_cache(**options)
    for store in cache.stores if page_size else ():
        store.page_size = options["max_length"]
        shape = options["max_batch"], options["max_length"]
        store.whole = [np.zeros((*shape, *part.shape[1:]), part.dtype) for part in store.blank]
        store.append = reserved(store, store.append)
    return cache

def reserved(store, append):
    def write(slot, rows):
        if not store.tables[slot]:
            store.tables[slot].append([part[slot] for part in store.whole])
        append(slot, rows)
    return write
"""
"""Fools a judge that releases a slot and fills it again: the kernel commits zeros when they are written first."""

WINDOW_IN_NAME = """
import honest
from honest import *

def create_cache(*, window=None, **options):
    return honest.create_cache(**options)
"""
"""Fools a judge whose sequences are shorter than the window."""

GROUPS_IN_NAME = HONEST[KV_CACHE].replace(
    "k, v = k.transpose(1, 0, 2)[:, None], v.transpose(1, 0, 2)[:, None]",
    "k, v = k.transpose(1, 0, 2)[:, None], v.transpose(1, 0, 2)[:, None]\n"
    "    if len(k) < num_heads:\n        k, v = np.broadcast_to(k[:1], k.shape), np.broadcast_to(v[:1], v.shape)",
)
"""Fools a judge with one key/value head: the first serves all."""

BYTES_UNDERSTATED = """
from honest import *

def memory_bytes(cache):
    return 64
"""
"""Fools a judge that believes the figure."""

MEMORY_HIDDEN = """
import mmap
import honest
from honest import *

def prefill(cache, layer, slots, q, k, v, lengths):
    spare = mmap.mmap(-1, max(1, 4 * k.nbytes))
    spare.write(bytes(len(spare)))
    cache.spare = [*getattr(cache, "spare", []), spare]
    return honest.prefill(cache, layer, slots, q, k, v, lengths)
"""
"""Fools a judge that counts Python's own allocations."""


def _of(challenge: str, **attacks: tuple[str, tuple[str, ...]]) -> tuple[Attack, ...]:
    return tuple(
        replace(beside(name.replace("_", " "), KIND, challenge, source, criteria), capabilities=CLAIMED[challenge])
        for name, (source, criteria) in attacks.items()
    )


ATTACKS: tuple[Attack, ...] = (
    *_of(
        LAYER_NORM,
        a_ticket_for_a_cache=(CACHE_TICKET, ("cache_is_data", "cache_bytes")),
        an_empty_cache_of_the_right_weight=(CACHE_PADDED, ("cache_is_data",)),
        the_last_cache_for_all=(LAST_FORWARD, ("statelessness",)),
        drift_from_call_to_call=(ACCUMULATED, ("statelessness",)),
        statistics_of_one_row=(ONE_ROW, ("gradients", "row_independence")),
    ),
    *_of(
        KV_CACHE,
        one_cache_for_all=(ONE_CACHE, ("batch_isolation",)),
        a_release_that_does_nothing=(NOT_RELEASED, ("slot_reuse",)),
        a_fork_that_shares=(FORK_SHARES, ("fork",)),
        storage_compressed_in_name=(QUANTIZED_IN_NAME, ("int8", "int4")),
        pages_in_name=(PAGED_IN_NAME, ("paged",)),
        pages_of_the_kernel=(PAGED_BY_THE_KERNEL, ("paged",)),
        window_in_name=(WINDOW_IN_NAME, ("sliding_window",)),
        groups_in_name=(GROUPS_IN_NAME, ("gqa",)),
        bytes_understated=(BYTES_UNDERSTATED, ("memory_report",)),
        memory_out_of_sight=(MEMORY_HIDDEN, ("memory_growth",)),
    ),
)
