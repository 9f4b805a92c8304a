"""Oracle of attention, in long double where nothing else is asked: one matrix of scores and a softmax over each row.

q, k, v (B,H,N,D); rows are the positions of queries, all of them by default. x86 long double carries 64 mantissa bits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LongArray = NDArray[np.longdouble]
AnyArray = NDArray[np.floating[Any]]


def scores(
    q: AnyArray, k: AnyArray, causal: bool, rows: Sequence[int] | None = None, wide: type = np.longdouble
) -> LongArray:
    """Scaled scores (B,H,R,N), -inf where a row may not look."""
    places = np.arange(q.shape[2]) if rows is None else np.asarray(rows)
    scaled = q[:, :, places].astype(wide) @ k.astype(wide).swapaxes(-1, -2) / np.sqrt(wide(q.shape[3]))
    if causal:
        scaled[:, :, np.arange(k.shape[2]) > places[:, None]] = -np.inf
    return scaled


def weights(scaled: LongArray) -> LongArray:
    """Softmax over the last axis."""
    raised = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def attention(
    q: AnyArray, k: AnyArray, v: AnyArray, causal: bool, rows: Sequence[int] | None = None, wide: type = np.longdouble
) -> LongArray:
    """Output (B,H,R,D)."""
    return weights(scores(q, k, causal, rows, wide)) @ v.astype(wide)
