"""A criterion that gates nothing is part of a reward where the rubric says so, and of no profile in brief otherwise."""

from pathlib import Path

import pytest

from harness.model import GradeProfile
from harness.workspace import Workspace

RUBRIC = Workspace(Path(__file__).parents[2]).challenge("layernorm_backward")


@pytest.mark.parametrize("profile", [GradeProfile.CORRECTNESS, GradeProfile.REWARD])
def test_a_reward_counts_what_gates_and_what_is_named(profile: GradeProfile) -> None:
    counted = profile.criteria(RUBRIC)
    assert counted == {c.id for c in RUBRIC.criteria if c.gating or c.rewarded}
    assert {"offset_ladder_64", "offset_ladder_32"} <= counted
    assert not RUBRIC.criterion("offset_ladder_64").gating
    assert "argument_errors" not in counted


def test_only_probes_are_part_of_a_reward() -> None:
    review = RUBRIC.criterion("readability")
    with pytest.raises(ValueError, match="only a criterion fed by probes is part of a reward"):
        type(review).model_validate(review.model_dump() | {"rewarded": True})
