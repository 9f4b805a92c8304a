"""Agreement coefficients are those of their sources, p-values are counted, and what is not defined is not a number."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from harness.scoring.agreement import alpha, least_p, order

# the example of Krippendorff 2011, section C: four observers (rows), twelve units, None where one did not observe
OBSERVED = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
UNITS = [[mark for mark in unit if mark is not None] for unit in zip(*OBSERVED, strict=True)]

marks = st.integers(0, 100).map(float)
tables = st.lists(st.lists(marks, min_size=1, max_size=4), min_size=1, max_size=12)


def pairs(least: int, most: int) -> st.SearchStrategy[list[tuple[float, float]]]:
    return st.lists(st.tuples(marks, marks), min_size=least, max_size=most)


def test_the_published_example_gives_its_published_figure() -> None:
    # Krippendorff 2011, section D: interval alpha 0.849
    assert alpha(UNITS) == pytest.approx(0.849, abs=5e-4)


def test_an_example_worked_by_hand_gives_its_fraction() -> None:
    # marks 90, 50 | 80, 60: Do = (40^2 + 20^2) * 2 / 4 = 1000;
    # pairs of 50, 60, 80, 90: 10^2 + 30^2 + 40^2 + 20^2 + 30^2 + 10^2 = 4000, De = 4000 * 2 / 12 = 2000/3
    assert alpha([(90, 50), (80, 60)]) == pytest.approx(1 - 1000 / (2000 / 3))


@given(tables)
def test_marks_that_agree_agree_wholly_or_tell_nothing(table: list[list[float]]) -> None:
    found = alpha([[unit[0]] * 2 for unit in table])
    if len({unit[0] for unit in table}) == 1:
        assert found is None
    else:
        assert found == pytest.approx(1.0)


@given(tables, st.integers(-1000, 1000))
def test_a_shift_of_all_marks_changes_nothing(table: list[list[float]], shift: int) -> None:
    found, shifted = alpha(table), alpha([[mark + shift for mark in unit] for unit in table])
    # whole numbers: only the mean of the marks is rounded
    assert found == (pytest.approx(shifted, abs=1e-9) if shifted is not None else None)


@given(tables)
def test_a_unit_marked_once_changes_nothing(table: list[list[float]]) -> None:
    assert alpha([*table, [7.0]]) == alpha(table)


@pytest.mark.parametrize("units", [[], [[5.0]], [[5.0, 5.0]], [[0.1, 0.1], [0.1, 0.1, 0.1]]])
def test_without_two_different_marks_there_is_no_alpha(units: list[list[float]]) -> None:
    assert alpha(units) is None


def test_of_three_models_a_perfect_order_is_no_news() -> None:
    # 2 of the 6 orders of three are perfect
    found = order([89, 81, 66], [70, 60, 50])
    assert (found.tau, found.p) == (1.0, pytest.approx(1 / 3))
    assert not found.telling
    assert least_p(3) == pytest.approx(1 / 3)


def test_of_six_models_a_perfect_order_and_one_swap_have_their_known_p() -> None:
    # 6! = 720 orders: 2 perfect; one swap of neighbours has tau 13/15, reached by 5 orders and 5 reversed ones more
    perfect, swapped = order(range(6), range(6)), order(range(6), [1, 0, 2, 3, 4, 5])
    assert perfect.p == pytest.approx(2 / 720)
    assert (swapped.tau, swapped.p) == (pytest.approx(13 / 15), pytest.approx(12 / 720))
    assert perfect.telling


@given(pairs(3, 5))
def test_p_is_the_share_of_orders_at_least_as_far_from_nought(chosen: list[tuple[float, float]]) -> None:
    left, right = zip(*chosen, strict=True)
    found = order(left, right)
    if found.tau is None:
        assert len(set(left)) == 1 or len(set(right)) == 1
        return
    taus = [abs(kendalltau(left, shuffled).statistic) for shuffled in permutations(right)]
    assert found.p == pytest.approx(np.mean([tau >= abs(found.tau) - 1e-9 for tau in taus]))


@given(pairs(3, 6))
def test_a_reversed_order_has_the_opposite_tau_and_the_same_p(chosen: list[tuple[float, float]]) -> None:
    left, right = zip(*chosen, strict=True)
    found, reversed_ = order(left, right), order(left, [-mark for mark in right])
    if found.tau is None:
        assert reversed_.tau is None
    else:
        assert reversed_.tau == pytest.approx(-found.tau)
        assert reversed_.p == pytest.approx(found.p)


def test_of_many_models_p_is_approximated_and_said_so() -> None:
    found = order(range(30), range(30))
    assert (found.tau, found.counted) == (1.0, False)
    assert found.p is not None
    assert found.p < 1e-9


@pytest.mark.parametrize("left", [[], [80.0], [80.0, 60.0], [80.0, 80.0, 80.0]])
def test_too_few_models_and_equal_ones_have_no_order(left: list[float]) -> None:
    found = order(left, [float(n) for n in range(len(left))])
    assert (found.models, found.tau, found.p) == (len(left), None, None)


def test_marks_of_other_models_are_refused() -> None:
    with pytest.raises(ValueError, match="3 marks against 2"):
        order([1, 2, 3], [1, 2])
