"""A criterion is charged with what flips a verdict, not with what fails on plain inputs as well."""

import numpy as np
import pytest

from harness.model import Counterexample, Evidence, Obstacle, Outcome
from harness.probing import Axis, Drawn, expect
from harness.probing.evidence.charging import charge_once
from harness.probing.failures import FaultElsewhere, ProbeFailure, Spared
from harness.scoring.doubts import _list_causes


def wrong(title="y is wrong"):
    raise ProbeFailure(title, "y[0] is 2 instead of 1", got=2.0)


def test_what_fails_beside_plain_inputs_that_pass_is_charged():
    with pytest.raises(ProbeFailure) as seen, expect.only_beside(lambda: None):
        wrong("large inputs give wrong values")
    assert (seen.value.title, seen.value.obstacle) == ("large inputs give wrong values", None)


def test_what_fails_on_plain_inputs_too_is_charged_as_they_are():
    with pytest.raises(FaultElsewhere) as seen, expect.only_beside(wrong):
        wrong("large inputs give wrong values")
    assert (seen.value.title, seen.value.obstacle) == ("y is wrong", Obstacle.FAULT)


def test_a_plain_case_that_is_spared_explains_nothing():
    def spared():
        raise Spared

    with pytest.raises(ProbeFailure) as seen, expect.only_beside(spared):
        wrong("o is wrong without the mask")
    assert (seen.value.title, seen.value.obstacle) == ("o is wrong without the mask", None)


@pytest.mark.parametrize(("title", "own"), [("y is wrong", False), ("another", False), (None, True)])
def test_a_criterion_rests_on_that_which_is_charged_with_the_plain_case(toy, title, own):
    """The one with the same title, else one that judges values; where none fails it keeps its failure."""

    def evidence(c):
        failed = {"values": (title, None), "linear": ("y is wrong", Obstacle.FAULT)}
        words, obstacle = failed.get(c.id, (None, None))
        if words is None:
            return Evidence.of(c, Outcome.PASSED)
        seen = Counterexample(probe="rows_match_the_oracle")
        return Evidence.of(c, Outcome.FAILED, title=words, detail="seen", counterexample=seen, obstacle=obstacle)

    found = {e.criterion: e for e in charge_once(toy, map(evidence, toy.challenge.criteria))}["linear"]
    assert found.faulty is own
    assert (found.outcome, found.rests_on) == ((Outcome.FAILED, None) if own else (Outcome.NOT_RUN, "values"))
    rubric = {c.id: c for c in toy.challenge.criteria}
    assert own or "values" in _list_causes(toy.challenge, rubric["linear"], found)


def test_a_case_states_the_sizes_that_an_answer_is_called_with():
    drawn = Drawn(
        {"N": Axis(1, 400), "tile": Axis(1, 4)}, 40, adjust=lambda N, tile: {"N": N, "tile": max(tile, N // 8)}
    )
    cases = [drawn.case(i, np.random.default_rng(i), (), 0.0) for i in range(40)]
    assert all(case["tile"] * 8 >= case["N"] - 7 for case in cases)
    assert any(case["tile"] > 4 for case in cases)
