"""Probes of the limit on k: every k up to what the answer states, and how high that is."""

import math

from harness.probing import Answer, Draw, Partial, ProbeFailure, expect, probe

from .binding import LARGEST_K, LIMITS, launch, max_k, served, spaced
from .judging import right

VOCAB = 700
PLAIN_K = 20
"""The k that others are compared with, or the answer's limit where that is lower."""
OFTEN_SPECIAL = (1, 2, 3, 5, 8, 10, 16, 31, 32, 33, 50, 64, 65, 100, 128, 129, 200, 255, 256)
"""Ks where an implementation may change its ways: warps, powers of two, usual template arguments, and beside them."""


@probe(rows=2, fixed=("rows",))
def every_k_is_served(answer: Answer, draw: Draw, *, rows: int) -> Partial:
    """T11, T21: k = 1, the limit, and many between; a limit below 256 earns log2(limit) / 8, at least 0.05."""
    limit = max_k(answer)
    ks = sorted({k for k in OFTEN_SPECIAL if k < limit} | {limit})
    logits = spaced(draw, rows, max(VOCAB, limit))
    plain = served(answer, PLAIN_K)
    elsewhere: ProbeFailure | None = None
    for k in ks:
        try:
            right(launch(answer, draw, logits, k), answer, draw)
        except ProbeFailure as why:
            if why.fault_of == LIMITS:  # another k was seen to be served
                raise
            try:
                with expect.only_beside(lambda: right(launch(answer, draw, logits, plain), answer, draw)):
                    raise
            except ProbeFailure as settled:
                if not settled.fault_of:
                    raise
                elsewhere = elsewhere or settled
    if elsewhere is not None:
        raise elsewhere
    share = min(1.0, math.log2(limit) / math.log2(LARGEST_K))
    figures = {"max_k": float(limit)}
    if share < 1:
        return Partial(max(share, 0.05), figures, f"k up to {limit} is served, {LARGEST_K} earns all")
    return Partial(1.0, figures)
