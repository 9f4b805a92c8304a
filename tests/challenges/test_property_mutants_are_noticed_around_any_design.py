"""A fault that breaks one property fails the criterion of that property, whatever right answer it is put around."""

from pathlib import Path

import pytest

from harness.languages import AnswerFiles
from harness.mutation.checks.check import CheckResult, check_around
from harness.probing import PropertyMutant
from harness.probing.challenge_code.code import ChallengeCode
from tests import shares
from tests.checkout import WORKSPACE, code_of

CODES = [code_of(id) for id in WORKSPACE.challenges()]
CASES = {
    f"{code.challenge.id}, {mutant.criterion}: {mutant.name} around {design.name if design else 'reference'}": (
        code, mutant, design
    )
    for code in CODES for mutant in code.property_mutants for design in code.designs(mutant.criterion)
}  # fmt: skip
IN_EVERY_RUN = shares.one_of_each(CASES, lambda case: CASES[case][0].challenge.id)


def noticed(code: ChallengeCode, mutant: PropertyMutant, source: str, folder: Path) -> CheckResult:
    name = code.language.entry
    (folder / name).write_text(source, encoding="utf-8")
    return check_around(code, shares.number(), mutant, "a design", AnswerFiles(folder, (name,)))


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.every_run if case in IN_EVERY_RUN else ()) for case in CASES]
)
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
