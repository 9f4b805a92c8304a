"""Evidence in an impossible state cannot be built, and no model takes an unknown key or a change."""

import math

import pytest
from pydantic import ValidationError

from harness.model import Challenge, Counterexample, Evidence, Outcome, Severity, Submission

LOSS = {"kind": "map", "unit": "rows", "size": 8, "runs": [[0, 2]]}
BASE = {"criterion": "c", "dimension": "d", "severity": Severity.MAJOR}


@pytest.mark.parametrize(
    "state",
    [
        {"outcome": "passed", "title": "is wrong"},
        {"outcome": "passed", "diagnosis": {"words": "agrees with a fault", "established": "observation"}},
        {"outcome": "passed", "loss": LOSS},
        {"outcome": "passed", "also": [{"title": "is wrong"}]},
        {"outcome": "passed", "measured": {"exponent": math.nan}},
        {"outcome": "failed"},
        {"outcome": "failed", "title": "is wrong", "measured": {"exponent": math.nan}},
        {"outcome": "failed", "title": "is wrong", "rests_on": "anchor"},
        {"outcome": "failed", "title": "is wrong", "diagnosis": {"words": "w", "established": "agreement"}},
        {"outcome": "failed", "title": "w", "diagnosis": {"words": "w", "established": "observation", "mutant": "m"}},
        {"outcome": "failed", "title": "w", "locations": [{"file": "/etc/passwd", "line": 1}]},
        {"outcome": "failed", "title": "w", "locations": [{"file": "../a.py"}]},
        {"outcome": "failed", "title": "w", "loss": LOSS | {"runs": [[0, 9]]}},
        {"outcome": "failed", "title": "w", "loss": LOSS | {"runs": [[4, 2], [0, 2]]}},
        {"outcome": "not_offered"},
        {"outcome": "not_offered", "detail": "no", "measured": {"ratio": 1.0}},
        {"outcome": "not_run", "detail": "no compiler", "title": "is wrong"},
        {"outcome": "not_run", "detail": "no compiler", "locations": [{"file": "a.py"}]},
        {"outcome": "passed", "counterexample": Counterexample(where="y[0]")},
        {"outcome": "passed", "rests_on": "anchor"},
        {"outcome": "passed", "fraction": 0.5},
        {"outcome": "partial", "title": "in part"},
        {"outcome": "partial", "title": "in part", "fraction": 0.0},
        {"outcome": "partial", "title": "in part", "fraction": 1.0},
        {"outcome": "not_run"},
        {"outcome": "not_run", "detail": "no compiler", "measured": {"ratio": 1.0}},
        {"outcome": "judge_error", "detail": "ours", "diagnosis": {"words": "w", "established": "observation"}},
        {"outcome": "unsupported"},
        {"outcome": "failed", "title": "is wrong", "verdict": "bad"},
    ],
)
def test_the_state_is_refused(state):
    with pytest.raises(ValidationError):
        Evidence.model_validate({**BASE, **state})


def test_a_model_is_frozen():
    evidence = Evidence(**BASE, outcome=Outcome.PASSED)
    with pytest.raises(ValidationError):
        evidence.outcome = Outcome.FAILED  # type: ignore[misc]


CRITERION = {"id": "a", "dimension": "d", "severity": "major", "title": "t", "probes": ["p"]}
CHALLENGE = {
    "id": "c", "title": "t", "summary": "s", "anchor": "a", "contract": {"functions": ["f"]},
    "dimensions": [{"id": "d", "title": "D", "weight": 1}], "criteria": [CRITERION],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"anchor": "b"}, "anchor 'b'"),
        ({"criteria": [CRITERION, CRITERION]}, "appears twice"),
        ({"criteria": [CRITERION | {"dimension": "e"}]}, "unknown dimension 'e'"),
        ({"criteria": [CRITERION | {"review": "q?"}]}, "exactly one of"),
        ({"criteria": [CRITERION | {"probes": []}]}, "exactly one of"),
        ({"dimensions": [*CHALLENGE["dimensions"], {"id": "e", "title": "E", "weight": 1}]}, "'e' has no criterion"),
        ({"limits": {"call_seconds": 0}}, "greater than 0"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_an_inconsistent_rubric_is_refused(change, words):
    Challenge.model_validate(CHALLENGE)
    with pytest.raises(ValidationError, match=words):
        Challenge.model_validate(CHALLENGE | change)


@pytest.mark.parametrize("entry", ["/etc/passwd", "../other/a.py", "a/../../b.py", "", "a//b.py"])
def test_an_entry_outside_the_submission_is_refused(entry):
    about = {"model": "m", "challenge": "c", "entry": entry, "provenance": "baseline"}
    with pytest.raises(ValidationError):
        Submission.model_validate({"submission": about})


def test_no_file_is_compiled_twice():
    about = {"model": "m", "challenge": "c", "language": "cuda", "entry": ["a.cu", "a.cu"], "provenance": "baseline"}
    with pytest.raises(ValidationError, match=r"'a\.cu' more than once"):
        Submission.model_validate({"submission": about})


def test_capabilities_are_asked_by_name_or_by_value():
    about = {"model": "m", "challenge": "c", "entry": "a.py", "provenance": "baseline"}
    offered = {"gqa": True, "fork": False, "quantized": ["int8"], "paged": {"page_size": 16}}
    submission = Submission.model_validate({"submission": about, "capabilities": offered})
    asked = ("gqa", "fork", "quantized:int8", "quantized:int4", "paged", "window")
    assert [submission.offers(name) for name in asked] == [True, False, True, False, True, False]
