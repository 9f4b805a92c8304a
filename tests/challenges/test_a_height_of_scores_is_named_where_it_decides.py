"""Scores near a height may also lie far apart: what fails wherever they lie is not said to fail at their height."""

import pytest

from harness.probing import ProbeFailure
from harness.probing.probe import once
from tests.checkout import answer_of, code_of, mutated

BACKWARD = "flash_attention_backward"
PROBE = "scores_far_from_zero_are_right"


def title_of(challenge: str, fault: str, height: float) -> str:
    """Return what is said of a fault at a height."""
    code = code_of(challenge)
    case = {**code.probes[PROBE].cases[0], "height": height, "causal": True, "dtype": "float64"}
    with pytest.raises(ProbeFailure) as failure:
        once(code.probes[PROBE], answer_of(mutated(code, fault)), 1, case)
    return failure.value.title


def test_scores_that_lie_far_apart_are_named_whatever_their_height() -> None:
    assert title_of(BACKWARD, "maximum of the tile", -3e6).startswith("scores of a row that lie far apart give")


@pytest.mark.parametrize("challenge", [BACKWARD, "flash_attention"])
def test_a_height_that_alone_decides_is_named(challenge: str) -> None:
    assert title_of(challenge, "maximum from zero", -3e4).startswith("scores near -30000 give")
