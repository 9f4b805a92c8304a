"""Long-double oracle of softmax and top-k over the rows of a matrix.

logits (rows, vocab) float32, finite or -inf, at least one finite in each row. Results are np.longdouble where they are
numbers; x86 long double carries 64 mantissa bits, 40 more than what is judged.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Long = NDArray[np.longdouble]
Ints = NDArray[np.integer[Any]]


def below_maximum(logits: Floats) -> Long:
    """How far each logit lies below the largest of its row: (rows, vocab), >= 0, inf for a logit of -inf."""
    rows = logits.astype(np.longdouble)
    depths: Long = rows.max(axis=1, keepdims=True) - rows
    return depths


def softmax(logits: Floats, depths: Long | None = None) -> Long:
    """Probabilities (rows, vocab); `depths` as `below_maximum` gives them, where they are known already."""
    weights = np.exp(-(below_maximum(logits) if depths is None else depths))
    probabilities: Long = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def kth_largest(logits: Floats, k: int) -> Floats:
    """The k-th largest logit of each row, (rows, 1): a legal choice holds everything above it, and nothing below it."""
    return -np.partition(-logits, k - 1, axis=1)[:, k - 1 : k]


def top(logits: Floats, k: int) -> Ints:
    """Columns (rows, k) of the k largest logits in descending order, equal ones by column."""
    order: Ints = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    return order
