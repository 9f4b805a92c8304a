"""A size is called right only if it is right with other inputs than those of the case that was shrunk."""

import pytest

from harness.probing.failures import NotTried, ProbeFailure
from harness.probing.shrinking import shrink_by_bisection
from harness.probing.sizes import DRAW, Axis, Case, Drawn

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
