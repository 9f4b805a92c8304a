"""A kernel that is wrong at some size only fails at drawn sizes, and the finding begins with the size."""

import numpy as np
import pytest
from numpy.typing import NDArray
from softmax_topk_answers import CODE, Floats, answer, exact

from harness.model import Evidence, Outcome, Threshold
from harness.mutation.checks.check import open_in_sandbox
from harness.probing import Mutant
from harness.probing.answers import Answer
from harness.probing.draw import Draw
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.failures import ProbeFailure
from harness.probing.probe import run
from tests import shares

SEED = shares.number()
MANY_ROWS = CODE.probes["very_many_rows_are_served"]


def searched(given: Answer, *, explain: bool) -> Evidence:
    criterion = CODE.challenge.criterion("any_size")
    return probe_criterion(CODE, criterion, given, seed_of(SEED, criterion.id), explain=explain)


def mutant(name: str) -> Mutant:
    return next(each for each in CODE.mutants if each.name == name)


def test_the_size_where_a_fault_begins_is_named() -> None:
    """Probabilities of long rows are a hundredth too large: the length at which they are begins the finding."""

    def larger(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        return probs * (1.01 if len(logits) > 1183 else 1), columns

    seen = searched(answer(larger), explain=True)
    assert seen.outcome is Outcome.FAILED
    assert seen.thresholds == (Threshold(axis="vocab", right_at=1183, wrong_from=1184, onward=True),)
    assert seen.detail.startswith("right up to vocab = 1,183, wrong from vocab = 1,184 on")
    assert seen.draws is not None and 0 < seen.draws.failed < seen.draws.tried


def test_a_row_is_missed_however_far_behind_it_lies() -> None:
    """Every launch is judged whole where the device cannot run a part of it."""
    found = run(MANY_ROWS, answer(exact, writes=lambda row: row < 1 << 16), SEED)
    assert (found.title, found.passed) == ("rows are never written", False)
    assert run(MANY_ROWS, answer(exact), SEED).passed


def test_a_wrong_value_for_one_sign_of_zero_fails() -> None:
    """Zeros of both signs are equal: taking one for less than all others loses it."""

    def below(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        columns = np.argsort(-np.where(np.signbit(logits) & (logits == 0), -np.inf, logits), kind="stable")[:k]
        weights = np.exp(logits - logits.max())
        return weights[columns] / weights.sum(), columns

    assert searched(answer(below), explain=False).outcome is Outcome.FAILED


def test_a_grid_that_ends_too_early_is_named_by_its_rows() -> None:
    with open_in_sandbox(CODE, CODE.source(mutant("grid of 4,096 blocks at most"))) as given:
        found = run(MANY_ROWS, given, SEED)
    assert found.title == "rows are never written"
    assert found.thresholds == (Threshold(axis="rows", right_at=4096, wrong_from=4097, onward=True),)


def test_a_grid_that_the_device_refuses_is_a_legal_call_refused() -> None:
    with open_in_sandbox(CODE, CODE.source(mutant("rows along y"))) as given:
        found = run(MANY_ROWS, given, SEED, shrink=False)
    assert found.title == "a legal call is refused"
    assert "65573" in found.detail


def test_a_grid_too_large_to_run_is_refused_all_the_same() -> None:
    """Some blocks of a launch show that the device refuses it, where all of them would take too long."""
    grids = CODE.module("probes_grids")
    draw = Draw(SEED, "refused")
    logits = CODE.module("binding").normal(draw, (1 << 16) + 37, 3)
    with open_in_sandbox(CODE, CODE.source(mutant("rows along y"))) as given:
        with pytest.raises(ProbeFailure, match="a legal call is refused") as failure:
            grids._require_accepted(given, draw, logits, 3)
        assert "65573" in failure.value.detail
        grids._require_accepted(given, draw, logits[: 1 << 12], 3)


def test_a_part_of_a_large_grid_writes_the_rows_at_its_ends_and_nothing_else() -> None:
    binding = CODE.module("binding")
    rows = (1 << 16) + 100
    draw = Draw(SEED, "part")
    with open_in_sandbox(CODE, CODE.source()) as given:
        logits = binding.normal(draw, rows, 2)
        back = binding.call(given, draw, logits, 1, mode="sample")
    region = back.regions["indices"]
    written = np.flatnonzero(region.changed[region.inside])
    around = range((1 << 16) - 32, (1 << 16) + 32)
    assert set(written) == {*range(32), *around, *range(rows - 32, rows)}
    assert back.report.launches[0].grid == (rows, 1, 1)
