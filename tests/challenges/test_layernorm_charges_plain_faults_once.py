"""What is special is charged where it alone fails, in words and figures that are true of the answer."""

from typing import Any

import numpy as np
import pytest

from harness.model import Obstacle
from harness.probing import Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import ProbeResult, run
from tests.checkout import code_of

CODE = code_of("layernorm_backward")
DX = "    dx = rstd * (dxhat - mean_term - xhat * projection)\n"
UNDIVIDED, PASSED_ON = "rstd * (dxhat - mean_term) - xhat * projection", "dxhat"
"""What strangers gave for dx: one lacks a division by the deviation, the other hands the gradient on."""


class Noted(LocalAnswer):
    """Keep every number of a gradient of x that was returned."""

    def __init__(self, fault: Mutant) -> None:
        super().__init__(CODE.import_source(fault))
        self.returned = set[float]()

    def call(self, function: str, *args: Any, **options: Any) -> Any:
        reply = super().call(function, *args, **options)
        if function == "backward":
            self.returned |= set(np.asarray(reply[0], float).ravel().tolist())
        return reply


def noted(dx: str) -> Noted:
    return Noted(Mutant("as strangers", "gives another dx", criterion="gradients", edits=((DX, f"    dx = {dx}\n"),)))


def mutant(name: str) -> Mutant:
    return next(mutant for mutant in CODE.mutants if mutant.name == name)


def seen(answer: LocalAnswer, probe: str) -> ProbeResult:
    return run(CODE.probes[probe], answer, 7, shrink=False)


@pytest.mark.parametrize("probe", ["x_and_eps_scale_together", "extreme_scales_lose_nothing"])
@pytest.mark.parametrize("dx", [UNDIVIDED, PASSED_ON])
def test_a_law_of_scale_shows_what_the_answer_returned(dx: str, probe: str) -> None:
    answer = noted(dx)
    found = seen(answer, probe).counterexample
    assert found is not None and found.where.startswith("dx") and found.got in answer.returned


@pytest.mark.parametrize("probe", ["dx_follows_eps", "extreme_scales_lose_nothing", "error_ratios_are_small"])
@pytest.mark.parametrize("dx", [UNDIVIDED, PASSED_ON, "dxhat - mean_term - xhat * projection"])
def test_a_dx_that_is_wrong_anywhere_is_no_fault_of_eps_of_a_scale_or_of_digits(dx: str, probe: str) -> None:
    found = seen(noted(dx), probe)
    assert found.obstacle is Obstacle.FAULT
    assert found.title in ("dx is wrong", "dx does not follow when x and eps are scaled together")


@pytest.mark.parametrize(
    ("name", "probe"),
    [
        ("unbiased variance", "y_follows_eps"),
        ("gamma forgotten in y", "error_ratios_are_small"),
        ("unbiased variance", "every_shape_is_served"),
        ("mean left in", "flat_rows_are_finite_and_right"),
        ("mean left in", "a_large_mean_costs_no_more_than_it_must"),
        ("rstd twice", "dx_follows_eps"),
    ],
)
def test_an_output_that_is_another_function_is_left_to_the_criteria_of_values(name: str, probe: str) -> None:
    assert seen(LocalAnswer(CODE.import_source(mutant(name))), probe).obstacle is Obstacle.FAULT


@pytest.mark.parametrize(
    ("name", "probe"),
    [
        ("eps outside the root", "y_follows_eps"),
        ("eps hard-coded", "dx_follows_eps"),
        ("eps missing from the projection", "dx_follows_eps"),
        ("square of the variance", "extreme_scales_lose_nothing"),
        ("rstd off by 1000 roundings", "error_ratios_are_small"),
        ("features in pairs", "every_shape_is_served"),
        ("nan at one feature", "one_feature_gives_beta_and_no_gradient"),
        ("zero variance divided", "flat_rows_are_finite_and_right"),
        ("naive variance", "a_large_mean_costs_no_more_than_it_must"),
    ],
)
def test_what_alone_is_special_is_charged(name: str, probe: str) -> None:
    found = seen(LocalAnswer(CODE.import_source(mutant(name))), probe)
    assert not found.passed and found.obstacle is None


def test_a_gradient_handed_on_is_no_copy_but_where_gamma_is_one() -> None:
    assert seen(noted(PASSED_ON), "jacobian_is_symmetric").title == "dx equals dy where gamma is 1"
    assert seen(noted(PASSED_ON), "gradients_match_the_oracle").title == "dx is wrong"
    title = "dx is not zero for constant rows of dy at gamma = 1"
    assert seen(noted(PASSED_ON), "dx_is_right_along_one_and_xhat").title == title
