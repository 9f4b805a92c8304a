"""Oracle of softmax and top-k over the rows of a matrix.

logits (rows, vocab) float32, finite or -inf, at least one finite in each row. Rows of up to `SHORT` columns are worked
out in np.longdouble: x86 long double carries 64 mantissa bits, 40 more than what is judged. Longer ones are in float64,
ten times as fast: they are off by a few units of 2^-53 (NumPy sums pairwise), and are judged by a bound of more than
`SHORT` units of 2^-24, which leaves a margin of 2^38.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]

SHORT = 4096


def below_maximum(logits: Floats) -> Floats:
    """How far each logit lies below the largest of its row: (rows, vocab), >= 0, inf for a logit of -inf."""
    rows = logits.astype(np.longdouble if logits.shape[1] <= SHORT else np.float64)
    depths: Floats = rows.max(axis=1, keepdims=True) - rows
    return depths


def softmax(logits: Floats, depths: Floats | None = None) -> Floats:
    """Probabilities (rows, vocab); `depths` as `below_maximum` gives them, where they are known already."""
    weights = np.exp(-(below_maximum(logits) if depths is None else depths))
    probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def largest(logits: Floats, k: int) -> Floats:
    """Return the k largest logits of each row (rows, k), in descending order: a legal choice holds these values."""
    found: Floats = -np.sort(np.partition(-logits, k - 1, axis=1)[:, :k], axis=1)
    return found


def top(logits: Floats, k: int) -> Ints:
    """Columns (rows, k) of the k largest logits in descending order, equal ones by column."""
    order: Ints = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    return order
