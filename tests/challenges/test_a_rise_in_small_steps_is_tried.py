"""What takes a new maximum only after a large step overflows where scores rise in small ones, and that is named."""

import pytest

from harness.probing import Mutant, Variant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.probe import run
from tests.checkout import answer_of, code_of

CHALLENGES = ("flash_attention", "flash_attention_backward")
PROBE = "ramps_of_scores_are_finite_and_right"


def title_of(code: ChallengeCode, made: Mutant | Variant) -> str:
    """Return the title of the finding where the ramps find one, else nothing."""
    return run(code.probes[PROBE], answer_of(code.source(made)), seed=1, shrink=False).title


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_a_maximum_that_no_small_step_moves_is_named_with_the_step(challenge: str) -> None:
    code = code_of(challenge)
    seen = {mutant.name: title_of(code, mutant) for mutant in code.mutants if mutant.name.startswith("steps of")}
    assert seen == {
        "steps of 2": "scores that rise by 96 in steps of 1.9 a tile give NaN or infinity",
        "steps of 8 in float64": "scores that rise by 730 in steps of 5.4 a tile give NaN or infinity",
    }


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_a_maximum_that_is_taken_late_but_in_time_is_spared(challenge: str) -> None:
    code = code_of(challenge)
    assert title_of(code, next(right for right in code.variants if right.name == "rescaled late")) == ""
