"""A challenge may give single functions more time for a call; everybody who reads the limits sees it."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from harness.model import Challenge, Limits
from harness.report import formatting
from harness.workspace import Workspace

TRAINING = Workspace(Path(__file__).parents[2]).challenge("ternary_training")


def test_other_functions_keep_the_limit_of_a_call() -> None:
    limits = Limits(call_seconds=3, function_seconds={"train": 60})
    assert (limits.seconds_of("train"), limits.seconds_of("project")) == (60, 3)


def test_a_function_that_the_contract_does_not_name_is_refused() -> None:
    named = {**TRAINING.model_dump(mode="json"), "limits": {"function_seconds": {"trian": 60}}}
    with pytest.raises(ValidationError, match="'trian', which the contract does not"):
        Challenge.model_validate(named)


@pytest.mark.parametrize("seconds", [0, -1, 1e9, float("nan")])
def test_a_limit_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValidationError):
        Limits(function_seconds={"train": seconds})


def test_reports_name_it() -> None:
    assert "10 s a call (60 s of `train`)" in formatting.limits(TRAINING.limits)
    assert "`" not in formatting.limits(Limits())


def test_limits_are_looked_up_by_value() -> None:
    same = Limits(function_seconds={"train": 60})
    assert {Limits(function_seconds={"train": 60}): "found"}[same] == "found"
    assert hash(Limits()) != hash(same)
