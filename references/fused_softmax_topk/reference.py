"""The contract of `fused_softmax_topk` in NumPy: what the CUDA reference does, for checking probes without a device.

Arrays stand for device buffers. The outputs are written in place; the result is the code that the C function returns.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

MAX_K = 256
OK, INVALID = 0, 1


def fused_softmax_topk(
    logits: Floats, rows: int, vocab: int, k: int, probs: Floats, indices: Ints, stream: Any = None
) -> int:
    """Write the k largest probabilities of each row and their columns, in descending order.

    Args:
        logits: (rows * vocab,) float32.
        rows: at least 1.
        vocab: at least 1.
        k: 1 to min(vocab, 256).
        probs: (rows * k,) float32, written.
        indices: (rows * k,) int32, written.
        stream: of no meaning here.

    Returns:
        0, or 1 for arguments that are not served; then nothing was written.
    """
    if rows < 1 or k < 1 or k > vocab or k > MAX_K:
        return INVALID
    for row in range(rows):
        chosen = slice(row * k, (row + 1) * k)
        probs[chosen], indices[chosen] = _row(logits[row * vocab : (row + 1) * vocab], k)
    return OK


def _row(logits: Floats, k: int) -> tuple[Floats, Ints]:
    """Probabilities and columns (k,) of one row (vocab,)."""
    columns = np.argsort(-logits, kind="stable")[:k]
    weights = np.exp(logits - logits.max())
    return weights[columns] / weights.sum(), columns.astype(np.int32)
