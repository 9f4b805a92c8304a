"""What takes a new maximum only after a large step overflows where scores rise in small ones, and that is named."""

from pathlib import Path

import pytest

from harness.probing import Mutant, Variant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.probe import run
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CHALLENGES = ("flash_attention", "flash_attention_backward")
PROBE = "ramps_of_scores_are_finite_and_right"


def title_of(code: ChallengeCode, made: Mutant | Variant) -> str:
    """Return the title of the finding where the ramps find one, else nothing."""
    return run(code.probes[PROBE], LocalAnswer(module_of("answer", code.source(made))), seed=1, shrink=False).title


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_a_maximum_that_no_small_step_moves_is_named_with_the_step(challenge: str) -> None:
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))
    seen = {mutant.name: title_of(code, mutant) for mutant in code.mutants if mutant.name.startswith("steps of")}
    assert seen == {
        "steps of 2": "scores that rise by 96 in steps of 1.9 a tile give NaN or infinity",
        "steps of 8 in float64": "scores that rise by 730 in steps of 5.4 a tile give NaN or infinity",
    }


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_a_maximum_that_is_taken_late_but_in_time_is_spared(challenge: str) -> None:
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))
    assert title_of(code, next(right for right in code.variants if right.name == "rescaled late")) == ""
