"""The cache of a forward as data."""

from typing import Any

import numpy as np

from harness.probing import Answer, Array, Tree, expect

from .binding import FORWARD, Floats, Inputs

CACHE_LIMIT = 64
"""Times the bytes of q that a cache may take to cross; small arrays have more around them."""
NAMES = ("O", "L", "Q", "K", "V")


def cache_of(answer: Answer, given: Inputs) -> tuple[Any, Any]:
    """o, and the cache as data."""
    plan = (Array(given.q.shape, given.dtype), Tree(CACHE_LIMIT * given.q.nbytes))
    o, cache = answer.call(FORWARD, *given.arrays, given.tile, given.causal, returns=plan)
    return o, cache


def entry(cache: Any, name: str) -> Floats:
    """An array of the cache; its form is what is asked."""
    kind = type(cache).__name__
    expect.that(isinstance(cache, dict), "the cache is no dict", f"{kind} instead of a dict of {', '.join(NAMES)}")
    expect.that(name in cache, f"the cache has no {name}", f"it holds {', '.join(sorted(map(str, cache)))}")
    found: Floats = cache[name]
    expect.that(isinstance(found, np.ndarray), f"{name} of the cache is no array", type(found).__name__)
    return found
