"""Answers to `fused_softmax_topk` in NumPy, right and wrong, called as the device's driver would call them."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.cuda.inside.driver import REPORT_BYTES
from harness.probing.challenge_code.local_answer import LocalAnswer
from tests.checkout import code_of

CODE = code_of("fused_softmax_topk")

Floats = NDArray[Any]
Row = Callable[[Floats, int], tuple[Floats, NDArray[Any]]]
"""From the logits of a row, and k, to its probabilities and columns."""


def exact(logits: Floats, k: int) -> tuple[Floats, NDArray[Any]]:
    """What is right."""
    columns = np.argsort(-logits, kind="stable")[:k]
    weights = np.exp(logits - logits.max())
    return weights[columns] / weights.sum(), columns


def blind(seen: Callable[[NDArray[np.int64], int], NDArray[np.bool_]]) -> Row:
    """Right but for winners in columns that are not `seen(columns, vocab)`."""

    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[Any]]:
        hidden = np.where(seen(np.arange(len(logits)), len(logits)), logits, -np.inf)
        columns = np.argsort(-hidden, kind="stable")[:k]
        weights = np.exp(logits - logits.max())
        return weights[columns] / weights.sum(), columns

    return row


def short_lists(length: int, threads: int) -> Row:
    """Right, but for what a thread of a block sees after the largest `length` of its columns."""

    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[Any]]:
        kept = np.zeros(len(logits), bool)
        for thread in range(min(threads, len(logits))):
            own = np.arange(thread, len(logits), threads)
            kept[own[np.argsort(-logits[own], kind="stable")[:length]]] = True
        return blind(lambda columns, vocab: kept)(logits, k)

    return row


Launch = Callable[..., tuple[Any, ...]]
"""As the device's driver has it."""


def answer(
    row: Row, writes: Callable[[int], bool] = lambda row: True, around: Callable[[Launch], Launch] = lambda plain: plain
) -> LocalAnswer:
    """An answer that serves the rows it `writes`, with `row`, by launches that `around` may change."""

    def launch(symbol: str, arguments: list[Any], mode: str = "plain", **options: Any) -> tuple[Any, ...]:
        buffers = [a["buffer"].copy() for a in arguments if isinstance(a, dict)]
        shifts = [a["shift"] // 4 for a in arguments if isinstance(a, dict)]
        logits, probs, indices = (b[shift:] for b, shift in zip(buffers, shifts, strict=True))
        rows, vocab, k = (a for a in arguments if isinstance(a, int))
        code = int(not 1 <= k <= min(vocab, 256))
        for r in range(rows if code == 0 else 0):
            if writes(r):
                place = slice(r * k, (r + 1) * k)
                probs[place], indices[place] = row(logits[r * vocab : (r + 1) * vocab], k)
        report = np.zeros(REPORT_BYTES, np.uint8)
        text = b'{"version": 1, "mode": 0}'
        report[: len(text)] = np.frombuffer(text, np.uint8)
        return code, *buffers, report

    module = types.ModuleType("answer")
    vars(module)["launch"] = around(launch)
    return LocalAnswer(module)
