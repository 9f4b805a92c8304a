"""A fault is named only where the answer fails whatever that fault fails."""

from pathlib import Path

import pytest

from harness.model import Diagnosis, Evidence, Outcome
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.diagnosis import drop_refuted
from harness.probing.evidence.criteria import probe_criterion
from tests.checkout import answer_of, code_of
from tests.toy import CHALLENGE_ID, REFERENCE, TOML, make_workspace

CODE = code_of("kv_cache")
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


ROWS, DOUBLING = "rows_match_the_oracle", "doubling_doubles"
ADDS_ONE = """
from harness.probing import Mutant
MUTANTS = (Mutant("one added", "adds one", criterion="values", edits=(("total * scale", "total * scale + 1"),)),)
"""


@pytest.mark.parametrize(("probes", "added", "named"), [
    ((ROWS,), "(scale == 3)", "one added"),
    ((ROWS, DOUBLING), "(scale == 3)", None),
    ((ROWS, DOUBLING), "1", "one added"),
])  # fmt: skip
def test_no_name_fails_what_the_answer_passes_in_a_probe_beside(
    tmp_path: Path, probes: tuple[str, ...], added: str, named: str | None
) -> None:
    """Rows are scaled by 3 and doubled ones by 1: who adds one to every sum breaks both."""
    rubric = TOML.replace(f'["{ROWS}"]', str(list(probes)))
    workspace = make_workspace(tmp_path, toml=rubric, mutants=ADDS_ONE)
    code = ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))
    answer = answer_of(REFERENCE.replace("total * scale", f"total * scale + {added}"))
    seen = probe_criterion(code, code.challenge.criterion("values"), answer, seed=7)
    assert seen.counterexample is not None and seen.counterexample.probe == ROWS
    assert (seen.diagnosis.mutant if seen.diagnosis else None) == named
