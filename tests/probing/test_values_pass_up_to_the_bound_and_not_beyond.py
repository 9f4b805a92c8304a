"""Values pass up to the bound and not beyond, and a threshold holds for other inputs."""

import numpy as np
import pytest

from harness.probing import expect
from harness.probing.failures import NotTried, ProbeFailure
from harness.probing.shrinking import shrink_by_bisection
from harness.probing.sizes import DRAW, Axis, Case, Drawn

RIGHT = np.array([1.0, 2.0, 3.0], np.longdouble)
SPREAD = 1e-10


def off_by(ratio: float) -> np.ndarray:
    values = RIGHT.astype(np.float64)
    values[1] += ratio * SPREAD
    return values


@pytest.mark.parametrize("ratio", [0.0, 1.0, 31.9])
def test_an_answer_just_below_the_bound_passes(ratio):
    assert expect.close("out", off_by(ratio), RIGHT, SPREAD) == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("ratio", [32.1, 100.0, 3200.0])
def test_an_answer_just_above_the_bound_fails(ratio):
    with pytest.raises(ProbeFailure, match="out is wrong") as caught:
        expect.close("out", off_by(ratio), RIGHT, SPREAD)
    assert caught.value.where == "out[1]"
    assert caught.value.measured["error_ratio"] == pytest.approx(ratio, rel=1e-3)


def test_a_limit_of_its_own_is_kept():
    assert expect.close("out", off_by(3.9), RIGHT, SPREAD, limit=4)
    with pytest.raises(ProbeFailure):
        expect.close("out", off_by(4.1), RIGHT, SPREAD, limit=4)


ROWS = Drawn({"rows": Axis(1, 100)}, count=10)


@pytest.mark.parametrize(("wrong_at_one", "thresholds"), [(0, 1), (2, 0), (3, 0)])
def test_inputs_that_fail_below_refute_it(wrong_at_one: int, thresholds: int) -> None:
    def attempt(case: Case) -> ProbeFailure | None:
        number = int(case[DRAW])
        wrong = case["rows"] != 1 or (wrong_at_one and number % wrong_at_one == 1)
        return ProbeFailure("a row is wrong", f"rows = {case['rows']}") if wrong else None

    found = shrink_by_bisection(attempt, {"rows": 40, DRAW: 0}, ProbeFailure("a row is wrong"), ROWS)
    assert found.case["rows"] == 2
    assert [(t.right_at, t.wrong_from) for t in found.thresholds] == [(1, 2)] * thresholds


def test_a_size_that_fails_otherwise_is_not_called_right() -> None:
    """Sizes up to 9 are wrong in another way: the fault begins nowhere where the answer was right."""

    def attempt(case: Case) -> ProbeFailure | None:
        rows = int(case["rows"])
        return ProbeFailure("a row is wrong" if rows > 9 else "an index is wrong", f"rows = {rows}")

    found = shrink_by_bisection(attempt, {"rows": 40, DRAW: 0}, ProbeFailure("a row is wrong"), ROWS)
    assert (found.case["rows"], found.thresholds) == (10, ())


@pytest.mark.parametrize(
    ("untried", "thresholds"), [(range(0), [(8, 9)]), (range(1, 9), []), (range(24, 26), [(8, 9)])]
)
def test_a_size_not_tried_is_neither_right_nor_wrong(untried: range, thresholds: list[tuple[int, int]]) -> None:
    def attempt(case: Case) -> ProbeFailure | None:
        rows = int(case["rows"])
        if rows in untried:
            return NotTried("a case was not tried")
        return ProbeFailure("a row is wrong", f"rows = {rows}") if rows > 8 else None

    found = shrink_by_bisection(attempt, {"rows": 40, DRAW: 0}, ProbeFailure("a row is wrong"), ROWS)
    assert [(t.right_at, t.wrong_from) for t in found.thresholds] == thresholds
    assert all(t.period is None for t in found.thresholds)


@pytest.mark.parametrize(("fails", "thresholds"), [(1, 0), (3, 0), (4, 1), (6, 1)])
def test_a_fault_that_few_inputs_show_has_no_threshold(fails: int, thresholds: int) -> None:
    """Inputs that seldom show it pass at any size: none is called right for that."""

    def attempt(case: Case) -> ProbeFailure | None:
        shown = int(case[DRAW]) % 1_000_000 < fails
        return ProbeFailure("a row is wrong", "") if case["rows"] != 1 and shown else None

    found = shrink_by_bisection(attempt, {"rows": 40, DRAW: 0}, ProbeFailure("a row is wrong"), ROWS)
    assert len(found.thresholds) == thresholds
