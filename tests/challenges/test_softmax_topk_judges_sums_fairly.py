"""Every order of summing a row in float32 passes, and a term left out of the sum of a short row does not."""

from collections.abc import Callable

import numpy as np
import pytest
from softmax_topk_answers import CODE, Floats, answer, exact

from harness.model import Outcome
from harness.probing.evidence.criteria import probe_criterion, seed_of

Sum = Callable[[Floats], np.float32]


def sequential(weights: Floats) -> np.float32:
    return np.float32(np.cumsum(weights, dtype=np.float32)[-1])


def smallest_last(weights: Floats) -> np.float32:
    return sequential(np.sort(weights)[::-1])


def striped(weights: Floats) -> np.float32:
    return sequential(np.array([sequential(weights[i::256]) for i in range(min(256, len(weights)))]))


def pairwise(weights: Floats) -> np.float32:
    return np.float32(weights.sum(dtype=np.float32))


def summed(
    total: Sum, exponential: Callable[[Floats], Floats] = np.exp
) -> Callable[[Floats, int], tuple[Floats, Floats]]:
    def row(logits: Floats, k: int) -> tuple[Floats, Floats]:
        columns = exact(logits, k)[1]
        weights = exponential(logits - logits.max()).astype(np.float32)
        return weights[columns] / total(weights), columns

    return row


def by_base_two(x: Floats) -> Floats:
    return np.exp2(x * np.float32(np.log2(np.e)))


@pytest.mark.parametrize("criterion", ["values", "stability", "large_vocab"])
@pytest.mark.parametrize(
    ("total", "exponential"),
    [(sequential, np.exp), (smallest_last, np.exp), (striped, np.exp), (pairwise, np.exp), (sequential, by_base_two)],
    ids=["sequential", "smallest last", "striped", "pairwise", "powers of two"],
)
def test_honest_sums_pass(total: Sum, exponential: Callable[[Floats], Floats], criterion: str) -> None:
    evidence = probe_criterion(
        CODE, CODE.challenge.criterion(criterion), answer(summed(total, exponential)), seed_of(20, criterion)
    )
    assert (evidence.outcome, evidence.detail) == (Outcome.PASSED, "")


@pytest.mark.parametrize(
    "total",
    [lambda w: pairwise(w[1:]), lambda w: pairwise(w[:-1]), lambda w: pairwise(w.astype(np.float16))],
    ids=["first term left out", "last term left out", "half precision"],
)
def test_dishonest_sums_fail(total: Sum) -> None:
    evidence = probe_criterion(CODE, CODE.challenge.criterion("values"), answer(summed(total)), seed_of(20, "values"))
    assert evidence.outcome is Outcome.FAILED
