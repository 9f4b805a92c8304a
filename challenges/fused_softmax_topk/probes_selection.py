"""Probes of the choice: the k largest logits are found wherever they lie."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, Draw, expect, probe

from .binding import launch, normal, planted, served, serving, spaced
from .judging import legal_indices, right_choice
from .losses import STRIDES

STRIPED = (48, 256)
"""As many winners as no list of 32 holds, and as many as anybody must serve."""


@probe({"rows": 1, "vocab": 9, "k": 3}, {"rows": 3, "vocab": 203, "k": 8}, {"rows": 4, "vocab": 5003, "k": 50},
       {"rows": 2, "vocab": 5003, "k": 256}, floors={"k": 1}, fit=serving)  # fmt: skip
def no_logit_left_out_is_larger(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T05: the smallest logit chosen is no smaller than the largest left out."""
    right_choice(launch(answer, draw, normal(draw, rows, vocab), k), answer, draw)


@probe({"vocab": 37, "k": 1}, {"vocab": 37, "k": 8}, {"vocab": 263, "k": 1}, {"vocab": 1061, "k": 8}, floors={"k": 1},
       fit=serving)  # fmt: skip
def every_column_can_win(answer: Answer, draw: Draw, *, vocab: int, k: int) -> None:
    """T14: rows with k winners each, so many that every column is a winner in one of them."""
    columns = np.resize(draw.permutation(vocab), (-(-vocab // k), k))
    right_choice(launch(answer, draw, planted(draw, columns, vocab), k), answer, draw)


@probe(*({"k": k, "stride": stride} for k in STRIPED for stride in (*STRIDES[:-1], 4, 4 * 256, 2048)),
       fixed=("stride",), floors={"k": 2}, fit=serving)  # fmt: skip
def winners_of_one_thread_are_all_found(answer: Answer, draw: Draw, *, k: int, stride: int) -> None:
    """T15, T26: all winners lie `stride` columns apart, so that one thread, lane or warp may see them all."""
    vocab = stride * k + 13
    first = np.array([0, draw.integer(0, 12)])
    columns = first[:, None] + stride * np.arange(k)
    right_choice(launch(answer, draw, planted(draw, columns, vocab), k), answer, draw)


@probe({"vocab": 50, "k": 9}, {"vocab": 1300, "k": 9}, {"vocab": 1300, "k": 200}, floors={"k": 1}, fixed=("vocab",),
       fit=serving)  # fmt: skip
def winners_at_an_end_are_all_found(answer: Answer, draw: Draw, *, vocab: int, k: int) -> None:
    """T15: all winners at the beginning, at the end, or just before and behind the middle."""
    begins = np.array([0, vocab - k, (vocab - k) // 2])
    columns = begins[:, None] + np.arange(k)
    right_choice(launch(answer, draw, planted(draw, columns, vocab), k), answer, draw)


@probe(*({"vocab": vocab, "k": k, "rising": rising} for rising in (True, False)
         for vocab, k in ((60, 8), (5003, 8), (5003, 256))), floors={"k": 1}, fit=serving)  # fmt: skip
def sorted_rows_are_served(answer: Answer, draw: Draw, *, vocab: int, k: int, rising: bool) -> None:
    """T15: rows in rising order, of which every logit beats all before it, and in falling order."""
    order = slice(None) if rising else slice(None, None, -1)
    logits = np.stack([np.linspace(-4, top, vocab)[order] for top in (4, 9)]).astype(np.float32)
    right_choice(launch(answer, draw, logits, k), answer, draw)


@probe({"vocab": 60, "k": 5}, {"vocab": 900, "k": 40}, floors={"vocab": 6},
       fit=lambda answer, case: {**case, "k": min(served(answer, case["k"]), case["vocab"] - 1)})  # fmt: skip
def a_raised_logit_comes_in(answer: Answer, draw: Draw, *, vocab: int, k: int) -> None:
    """T17: a logit that was left out, raised above all, is chosen first; the smallest chosen leaves."""
    logits = spaced(draw, 6, vocab)
    before = launch(answer, draw, logits, k)
    right_choice(before, answer, draw)
    raised = logits.copy()
    for row, chosen in enumerate(before.indices):
        left = np.setdiff1d(np.arange(vocab), chosen)
        raised[row, left[draw.integer(0, len(left) - 1)]] = logits.max() + np.float32(1)
    after = launch(answer, draw, raised, k)
    right_choice(after, answer, draw, "a raised logit does not come in")
    expect.that(bool((after.indices[:, 0] == raised.argmax(axis=1)).all()), "a raised logit does not come first")


@probe({"vocab": 40, "k": 4}, {"vocab": 1100, "k": 100}, floors={"vocab": 2, "k": 1}, rows=3, fit=serving)
def the_order_of_columns_does_not_matter(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T08: columns in another order are chosen in that order."""
    logits, order = spaced(draw, rows, vocab), draw.permutation(vocab)
    plain, moved = (launch(answer, draw, np.ascontiguousarray(each), k) for each in (logits, logits[:, order]))
    legal_indices(plain)
    legal_indices(moved)
    same = _sorted(order[moved.indices]) == _sorted(plain.indices)
    if not same.all():
        right_choice(plain, answer, draw)
        right_choice(moved, answer, draw)


@probe({"rows": 2, "vocab": 70, "k": 33}, {"rows": 2, "vocab": 2500, "k": 256}, floors={"k": 2}, fixed=("vocab",),
       fit=serving)  # fmt: skip
def fewer_are_the_first_of_more(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T11: the choice for j is the first j of the choice for k."""
    logits = spaced(draw, rows, vocab)
    most = launch(answer, draw, logits, k)
    right_choice(most, answer, draw)
    for j in (1, 2, 7, 8, 31, 32, 33, 64, 100, 255):
        if j < k:
            few = launch(answer, draw, logits, j)
            right_choice(few, answer, draw)
            expect.that(bool((few.indices == most.indices[:, :j]).all()), "a smaller k chooses others",
                        f"k = {j} against the first {j} of k = {k}")  # fmt: skip


def _sorted(columns: NDArray[Any]) -> NDArray[Any]:
    return np.sort(columns, axis=1)
