"""The function an answer to `fused_softmax_topk` exports, written as a readable signature; contract.cuh has it in C.

Arrays stand for device pointers: row-major, float32 and int32, aligned as their numbers are and no more. The outputs
are memory of the caller that the call fills; the logits stay as they are. A call may return before its work is done,
as long as the work is ordered on `stream`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
Probs = NDArray[np.float32]
Indices = NDArray[np.int32]


def fused_softmax_topk(
    logits: Logits, rows: int, vocab: int, k: int, probs: Probs, indices: Indices, stream: Any
) -> int:
    """Write the k largest softmax probabilities of each row, with their columns.

    probs[r,i] = exp(logits[r,c] - max) / sum over all columns of exp(logits[r,j] - max), with c = indices[r,i].

    Args:
        logits: (rows, vocab). -inf has probability 0. Rows with NaN or +inf, or with -inf alone, are unspecified but
            must not disturb others.
        rows: 1 or more.
        vocab: 1 or more, any number.
        k: 1 to min(vocab, max_k), every one of them; max_k is 256 unless submission.toml states another.
        probs: (rows, k), written in descending order.
        indices: (rows, k), written: columns, all different within a row, equal logits in any order. Where fewer than k
            logits are finite the rest are other columns with probability 0.
        stream: a CUDA stream that is not the default one.

    Returns:
        0; or another number for a k that is not served (k < 1, k > vocab, k > max_k), with nothing written.
    """
    ...
