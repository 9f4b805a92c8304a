"""A gradient check that accepts NaN is charged with what it accepts, and one that rejects it with nothing."""

from dataclasses import replace

import pytest

from harness.probing import Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import ProbeResult, run
from tests.checkout import code_of

CODE = code_of("layernorm_backward")
LARGER = next(mutant for mutant in CODE.mutants if mutant.name == "check for larger errors")
MAXIMUM = next(mutant for mutant in CODE.mutants if mutant.name == "check by Python's maximum")
BEFORE = "    resolution = np.abs(x).max"
FINITE = "    if not all(np.isfinite(values).all() for values in ({})):\n        return False\n" + BEFORE


def seen(mutant: Mutant, seed: int, *edits: tuple[str, str]) -> ProbeResult:
    check = replace(mutant, edits=(*mutant.edits, *edits))
    answer = LocalAnswer(CODE.import_source(check))
    return run(CODE.probes["plainly_wrong_pairs_are_rejected"], answer, seed, shrink=False)


def accepted(found: ProbeResult) -> set[str]:
    return set(found.detail.partition("accepts ")[2].split(", "))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mutant", [LARGER, MAXIMUM], ids=["larger", "maximum"])
def test_a_check_that_passes_over_nan_is_charged_with_each_pair_it_accepts(mutant: Mutant, seed: int) -> None:
    """Whether infinities of both signs meet in one sum of the check is a matter of its directions."""
    found = seen(mutant, seed)
    assert (found.passed, found.title) == (False, "the check accepts gradients that hold NaN")
    elements = {f"{name}_element_nan" for name in ("dx", "dgamma", "dbeta", "y")}
    assert accepted(found) - {"dx_infinite"} == {"gradients_nan", *elements}


@pytest.mark.parametrize("seed", range(3))
def test_a_check_that_passes_over_nan_in_some_results_loses_the_share_of_these(seed: int) -> None:
    found = seen(LARGER, seed, (BEFORE, FINITE.format("dx, dgamma, dbeta")))
    assert accepted(found) == {"y_element_nan"} and found.fraction == pytest.approx(24 / 25)
    found = seen(LARGER, seed, (BEFORE, FINITE.format("dx, dgamma")))
    assert accepted(found) == {"y_element_nan", "dbeta_element_nan"} and found.fraction == pytest.approx(23 / 25)


def test_infinities_whose_sum_is_nan_are_asked_about() -> None:
    numbers = FINITE.format("forward(x, gamma, beta, eps)[0], dx, dgamma, dbeta").replace("isfinite", "isnan")
    found = seen(MAXIMUM, 0, (BEFORE, numbers.replace("not all(", "any(").replace(".all() for", ".any() for")))
    assert accepted(found) == {"dx_infinite"}


@pytest.mark.parametrize("seed", range(3))
def test_a_check_that_rejects_whatever_is_not_finite_is_charged_with_nothing(seed: int) -> None:
    forward = "forward(x, gamma, beta, eps)[0], dx, dgamma, dbeta"
    found = seen(LARGER, seed, (BEFORE, FINITE.format(forward)))
    assert (found.fraction, found.figures) == (1, {"plain_faults_caught": 25, "plain_faults_tried": 25})
