"""The weighted mean of values whose scores come tile by tile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


class OnlineSoftmax:
    """Running maximum and sums of some queries (B,H,n,D).

    `peak` is the largest score so far; `weight` and `total` are sums of exp(score - peak) and of that times the value.
    """

    def __init__(self, queries: Array) -> None:
        self.peak = np.full((*queries.shape[:3], 1), -np.inf, queries.dtype)
        self.weight = np.zeros_like(self.peak)
        self.total = np.zeros_like(queries)

    def add(self, scores: Array, values: Array) -> None:
        """Meet a tile: scores (B,H,n,m), which are used up, and values (B,H,m,D). Every row sees a key of it."""
        peak = np.maximum(self.peak, scores.max(axis=-1, keepdims=True))
        shrink = np.exp(self.peak - peak)    # 0 in the first tile, where the peak was -inf
        np.exp(np.subtract(scores, peak, out=scores), out=scores)
        self.weight = self.weight * shrink + scores.sum(axis=-1, keepdims=True)
        self.total *= shrink
        self.total += scores @ values
        self.peak = peak

    def mean(self) -> Array:
        """The weighted mean (B,H,n,D)."""
        return self.total / self.weight

    def logsumexp(self) -> Array:
        """Logarithm (B,H,n) of the sum of exp(score)."""
        return (self.peak + np.log(self.weight))[..., 0]
