"""Every right kernel passes, one without work fails the anchor, and what no device watches is left open."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from softmax_topk_answers import CODE, Floats, Launch, answer, exact

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import assess, open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer, NullValues
from harness.mutation.checks.tampering import TamperedAnswer
from harness.probing import Variant
from harness.probing.probe import run
from tests import shares

SEED, SHARE = shares.number(), shares.drawn_cases()
RIGHT = (None, *CODE.variants)
GRADED = {
    "two passes": {"passes", "less_traffic"}, "three kernels": {"passes", "less_traffic", "bytes_written"},
    "split rows": {"bytes_written"}, "padded candidates": {"bytes_written", "coalescing"},
    "last block merges": {"bytes_written"}, "scratch kept": {"bytes_written"},
}  # fmt: skip
"""Variants that honestly move more than they could, and where that costs them."""
NO_WORK = """
#include <cuda_runtime.h>
__global__ void no_work(const float* logits, int rows, int vocab, int k, float* probs, int* indices) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * k) return;
    probs[at] = PROB;
    indices[at] = INDEX;
}
extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (k < 1 || k > vocab || k > 256) return cudaErrorInvalidValue;
    no_work<<<(rows * k + 255) / 256, 256, 0, stream>>>(logits, rows, vocab, k, probs, indices);
    return cudaGetLastError();
}
"""
WRITTEN = {
    "zeros": ("0.0f", "0"), "constant": ("0.5f", "at % k"),
    "copy of the input": ("logits[at / k * vocab + at % k]", "at % k"),
}  # fmt: skip
"""What a kernel without work writes for a probability and a column."""
TIMED = frozenset({"speed"})
"""Criteria that only a GPU can tell, mutants included."""


@pytest.mark.parametrize("right", RIGHT, ids=lambda variant: variant.name if variant else "reference")
def test_a_right_answer_passes_every_probe(right: Variant | None) -> None:
    with open_in_sandbox(CODE, CODE.source(right)) as sound:
        evidence = assess(CODE, sound, SEED, share=SHARE)
    graded = GRADED.get(right.name, set()) if right else set()
    assert {e.criterion for e in evidence if e.outcome is Outcome.PARTIAL} == graded
    fine = (Outcome.PASSED, Outcome.PARTIAL)
    assert {e.criterion: e.detail for e in evidence if e.outcome not in fine and e.criterion not in TIMED} == {}
    assert {e.outcome for e in evidence if e.criterion in TIMED} == {Outcome.UNSUPPORTED}


def test_the_reference_reads_its_input_once_and_writes_its_outputs_alone() -> None:
    with open_in_sandbox(CODE, CODE.source()) as reference:
        (passes,) = assess(CODE, reference, SEED, "passes")
        (written,) = assess(CODE, reference, SEED, "bytes_written")
    assert passes.measured["global_read_passes"] == 1.0
    assert written.measured["bytes_written_per_row"] == 50 * 8


def tells_of_values(evidence: Evidence) -> bool:
    """Whether a failure speaks of what was written: an entry, or that all are the same."""
    seen = evidence.counterexample
    constant = evidence.title == "probs is constant"
    return seen is not None and (constant or seen.where.startswith(("probs[", "indices[")))


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_kernel_that_does_no_work_fails_the_anchor_for_what_it_writes(kind: str) -> None:
    prob, index = WRITTEN[kind]
    with open_in_sandbox(CODE, NO_WORK.replace("PROB", prob).replace("INDEX", index)) as null:
        (anchor,) = assess(CODE, null, SEED, CODE.challenge.anchor)
    assert (anchor.outcome, anchor.obstacle) == (Outcome.FAILED, None)
    assert tells_of_values(anchor)


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_worthless_values_in_place_of_the_right_ones_fail_the_anchor(kind: str) -> None:
    with open_in_sandbox(CODE, CODE.source()) as reference:
        null = TamperedAnswer(reference, NullValues(kind))
        (anchor,) = assess(CODE, null, SEED, CODE.challenge.anchor)
    assert (anchor.outcome, anchor.obstacle) == (Outcome.FAILED, None)
    assert tells_of_values(anchor)


def starts_with_no(kept: deque[float]) -> Callable[[Launch], Launch]:
    """Clear at each launch what an answer keeps from row to row."""

    def around(plain: Launch) -> Launch:
        def launch(*arguments: Any, **options: Any) -> tuple[Any, ...]:
            kept.clear()
            return plain(*arguments, **options)

        return launch

    return around


@pytest.mark.parametrize("blocks", [1, 108, 432, 528, 1000])
def test_a_block_keeps_no_nan_of_one_row_for_the_next(blocks: int) -> None:
    """Each of some blocks scales the sum of its last row by 0, whatever that sum is, and adds it to the next."""
    sums = deque[float](maxlen=blocks)

    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        left = sums[0] if len(sums) == blocks else 0.0
        sums.append(np.exp(logits - logits.max()).sum() + 0 * left)
        return probs + 0 * left, columns

    found = run(CODE.probes["rows_after_spoilt_ones_are_right"], answer(row, around=starts_with_no(sums)), SEED)
    assert (found.passed, found.title) == (False, "a row of NaN or infinities disturbs others")
    assert run(CODE.probes["rows_after_spoilt_ones_are_right"], answer(exact), SEED).passed


def test_a_block_keeps_nothing_of_one_row_for_the_next() -> None:
    """Each of 432 blocks begins a row with the k-th largest logit of its last, where k is more than its threads."""
    floors = deque[float](maxlen=432)

    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        floor = floors[0] if len(floors) == floors.maxlen and k > 128 else -np.inf
        hidden = np.where((np.arange(len(logits)) < 128) | (logits > floor), logits, -np.inf)
        floors.append(np.sort(logits)[-k])
        columns = np.argsort(-hidden, kind="stable")[:k]
        weights = np.exp(logits - logits.max())
        return weights[columns] / weights.sum(), columns

    (seen,) = assess(CODE, answer(row, around=starts_with_no(floors)), SEED, "rows")
    assert (seen.outcome, seen.fault_of) == (Outcome.FAILED, "")
    assert run(CODE.probes["falling_rows_are_right"], answer(exact), SEED).passed


@pytest.mark.parametrize("far", [5.0, 9.0, 13.0, 15.5])
def test_columns_far_below_a_peak_are_part_of_a_sum(far: float) -> None:
    """A sum may lose what is less than a float32 sum may, as one of all terms in turn does, and no more."""

    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        peak = logits[:256].max()
        skipped = (np.arange(len(logits)) >= 256) & (logits < peak - far)
        weights = np.exp(logits - logits.max())
        return probs * (weights.sum() / weights[~skipped].sum()), columns

    def in_turn(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        columns = exact(logits, k)[1]
        weights = np.exp(logits - logits.max())
        return weights[columns] / np.cumsum(weights, dtype=np.float32)[-1], columns

    probe = CODE.probes["many_far_logits_are_summed"]
    assert not run(probe, answer(row), SEED).passed
    assert run(probe, answer(exact), SEED).passed and run(probe, answer(in_turn), SEED).passed


def test_what_a_device_does_not_watch_is_unsupported_and_nothing_else() -> None:
    """The same answer in NumPy: there is nothing to watch or to count, and all the rest passes."""
    evidence = assess(CODE, answer(exact), SEED, share=SHARE)
    assert {e.outcome for e in evidence} == {Outcome.PASSED, Outcome.UNSUPPORTED}
    unsupported = {e.criterion for e in evidence if e.outcome is Outcome.UNSUPPORTED}
    assert unsupported == {"memory_safety", "synchronisation", "stream_order"} | {
        c.id for c in CODE.challenge.criteria if c.probes and c.dimension in ("memory_design", "cuda_depth")
    } | {"less_traffic"} | TIMED  # fmt: skip
