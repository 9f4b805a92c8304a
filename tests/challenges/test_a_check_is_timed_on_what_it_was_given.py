"""A gradient check that differences less than it was given has no time there, and passes nothing by it."""

from pathlib import Path

from harness.model import Outcome
from harness.probing.check import assess, sandboxed
from harness.probing.code import ChallengeCode
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("layernorm_backward"))
VERDICT = "    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))\n"


def speed_of(source: str):
    with sandboxed(CODE, source) as answer:
        (evidence,) = assess(CODE, answer, 7, "check_speed")
    return evidence


def test_a_check_of_a_corner_is_not_timed() -> None:
    corner = CODE.source().replace(VERDICT, VERDICT + "    x, dy = x[:1, :2], dy[:1, :2]\n")
    seen = speed_of(corner)
    assert seen.outcome is Outcome.NOT_RUN
    assert seen.detail == "given 32,768 elements, the check calls forward on at most 256 at a time"


def test_a_check_of_everything_is_timed() -> None:
    seen = speed_of(CODE.source())
    assert seen.outcome is Outcome.PASSED
    assert 0 < seen.measured["check_seconds_524288_elements"] < 10
