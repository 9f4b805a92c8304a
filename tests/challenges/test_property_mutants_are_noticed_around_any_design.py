"""A fault that breaks one property fails the criterion of that property, whatever right answer it is put around."""

from pathlib import Path

import pytest

from harness.languages import AnswerFiles
from harness.mutation.checks.check import CheckResult, check_around
from harness.probing import PropertyMutant
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace
from tests import shares

WORKSPACE = Workspace(Path(__file__).parents[2])
CODES = [ChallengeCode(WORKSPACE, WORKSPACE.challenge(id)) for id in WORKSPACE.challenges()]
CASES = {
    f"{code.challenge.id}, {mutant.criterion}: {mutant.name} around {design.name if design else 'reference'}": (
        code, mutant, design
    )
    for code in CODES for mutant in code.property_mutants for design in code.designs(mutant.criterion)
}  # fmt: skip
ONE_IN = 8
"""Of how many pairs of fault and design one is tried in one run of the tests."""


def noticed(code: ChallengeCode, mutant: PropertyMutant, source: str, folder: Path) -> CheckResult:
    name = code.language.entry
    (folder / name).write_text(source, encoding="utf-8")
    return check_around(code, shares.number(), mutant, "a design", AnswerFiles(folder, (name,)))


@pytest.mark.parametrize("case", shares.share(CASES, ONE_IN, lambda case: case.partition(":")[0]))
def test_a_fault_around_a_right_answer_is_noticed(case: str, tmp_path) -> None:
    code, mutant, design = CASES[case]
    result = noticed(code, mutant, code.source(design), tmp_path)
    assert result.right, result.detail


def test_a_fault_that_only_fails_calls_is_not_taken_for_a_broken_property(tmp_path) -> None:
    code = next(code for code in CODES if code.challenge.id == "beam_search")
    fails = "\n\ndef batched_beam_search(*args):\n    raise RuntimeError\n"
    mutant = PropertyMutant("every call fails", criterion="independent_prompts", around=fails)
    assert not noticed(code, mutant, code.source(), tmp_path).right


def test_every_fault_is_tried_around_three_designs_at_least() -> None:
    few = [(c.challenge.id, m.name) for c in CODES for m in c.property_mutants if len(c.designs(m.criterion)) < 3]
    assert few == []
