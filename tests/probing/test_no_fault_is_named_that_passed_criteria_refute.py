"""A fault is named only where the answer fails whatever that fault fails."""

from pathlib import Path

import pytest

from harness.model import Diagnosis, Evidence, Outcome
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.diagnosis import drop_refuted
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("kv_cache"))
NAMED = Diagnosis(words="agrees with `no causal mask`", established="agreement", mutant="no causal mask")


def evidence(criterion: str, outcome: Outcome, diagnosis: Diagnosis | None = None) -> Evidence:
    return Evidence.of(CODE.challenge.criterion(criterion), outcome, seed=3, title="", diagnosis=diagnosis)


@pytest.mark.parametrize(("passed", "kept"), [("first_token", True), ("causality", False)])
def test_a_name_stands_while_nothing_that_passed_contradicts_it(passed: str, kept: bool) -> None:
    """An answer without a mask returns first tokens as they are, and never passes `causality`."""
    failed = evidence("prefill_then_decode", Outcome.FAILED, NAMED)
    seen, _ = drop_refuted(CODE, [failed, evidence(passed, Outcome.PASSED)], LocalAnswer(CODE.import_source()))
    assert seen.diagnosis == (NAMED if kept else None)


def test_what_was_observed_is_no_name() -> None:
    """A pattern in the answer's own output stays, whatever passed."""
    observed = Diagnosis(words="every second row", established="observation")
    failed = evidence("prefill_then_decode", Outcome.FAILED, observed)
    seen, _ = drop_refuted(CODE, [failed, evidence("causality", Outcome.PASSED)], LocalAnswer(CODE.import_source()))
    assert seen.diagnosis == observed
