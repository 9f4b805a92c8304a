"""Whatever an answer leaves in its outputs is judged, and called by what it is: no probe of ours fails over it."""

import numpy as np
import pytest
from numpy.typing import NDArray
from softmax_topk_answers import CODE, Floats, Row, answer, exact

from harness.model import Evidence, GradeProfile, Outcome
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.draw import Draw
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.failures import ProbeFailure

launch = CODE.module("binding").launch
JUDGED = [c.id for c in CODE.challenge.criteria if c.probes]


def swapped(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int32]]:
    """Each output holds the bits of the other."""
    probs, columns = exact(logits, k)
    return columns.astype(np.int32).view(np.float32), probs.astype(np.float32).view(np.int32)


def behind(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
    probs, columns = exact(logits, k)
    return probs, columns + 1


def negative(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
    probs, columns = exact(logits, k)
    return probs, columns - len(logits)


def nothing_but(value: float) -> Row:
    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        return np.full(k, value), exact(logits, k)[1]

    return row


def in_one_row_of_two(spoilt: Row) -> Row:
    """Right at first, then spoilt, in turn: one launch may be right and the next one not."""
    calls = iter(range(10**9))

    def row(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        return (spoilt if next(calls) % 2 else exact)(logits, k)

    return row


@pytest.mark.parametrize(
    "row",
    [swapped, behind, negative, *map(nothing_but, (0.0, -1.0, np.nan, np.inf)), in_one_row_of_two(negative),
     in_one_row_of_two(behind)],
    ids=["swapped", "behind", "negative", "zeros", "minus one", "NaN", "infinite", "some negative", "some behind"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # logits of -inf in the answer above, NaN in its outputs
def test_no_probe_fails_over_it(row: Row) -> None:
    spoilt = answer(row)
    came = {criterion: _judged(criterion, spoilt) for criterion in JUDGED}
    assert {c: e.detail for c, e in came.items() if e.outcome is Outcome.JUDGE_ERROR} == {}
    assert came["values"].outcome is Outcome.FAILED


def _judged(criterion: str, given: LocalAnswer) -> Evidence:
    return probe_criterion(CODE, CODE.challenge.criterion(criterion), given, seed_of(3, criterion), explain=False)


@pytest.mark.parametrize("criterion", ["alignment", "special_values", "ties", "refusal", "repeatable", "stability"])
def test_a_fault_that_ordinary_logits_show_is_not_laid_on_special_ones(criterion: str) -> None:
    def halved(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        return probs / 2, columns

    assert _judged(criterion, answer(halved)).title in ("probabilities are wrong", "an illegal k is accepted")


def test_a_fault_that_only_special_logits_show_is_named_after_them() -> None:
    def spoilt_by_infinity(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        return probs * (0.5 if np.isneginf(logits).any() else 1), columns

    assert _judged("special_values", answer(spoilt_by_infinity)).title == "-inf is not served"


def test_a_reward_sees_columns_outside_a_row_of_too_few_finite_logits() -> None:
    def behind_the_row(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        return probs, np.where(np.isneginf(logits[columns]), len(logits), columns)

    criterion = CODE.challenge.criterion("special_values")
    assert criterion.id in GradeProfile.REWARD.criteria(CODE.challenge)
    for seed in range(3):
        seen = probe_criterion(CODE, criterion, answer(behind_the_row), seed, explain=False, brief=True)
        assert seen.outcome is Outcome.FAILED


@pytest.mark.parametrize(("unwritten", "seen"), [(1, ""), (0, "rows are never written")])
def test_only_rows_that_are_specified_must_be_written(unwritten: int, seen: str) -> None:
    """What belongs to a row of NaN may stay as it was; a good row may not."""
    logits = np.arange(15, dtype=np.float32).reshape(3, 5)
    logits[1, 2] = np.nan
    title = ""
    try:
        launch(answer(exact, lambda row: row != unwritten), Draw(1, "rows"), logits, 2)
    except ProbeFailure as failure:
        title = failure.title
    assert title == seen
