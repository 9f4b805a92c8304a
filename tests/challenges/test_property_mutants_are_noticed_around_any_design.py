"""A fault that breaks one property fails its criterion around any design; the reference passes smaller cases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.languages import AnswerFiles
from harness.mutation.checks.check import CheckResult, check_around
from harness.probing import ProbeFailure, PropertyMutant
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.failures import FaultElsewhere, TrivialOutput
from harness.probing.probe import Probe, once
from harness.probing.sizes import Case
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


LONG = 256
"""A size that makes a case slow; it shrinks as one of a short case does."""
EVERY = [code_of(name) for name in WORKSPACE.challenges()]


def smaller_cases(probe: Probe) -> Iterator[Case]:
    """Yield the fixed cases of a probe with each size at its floor, and with all of them."""
    for case in probe.cases:
        sizes = (name for name, value in case.items() if type(value) is int and name not in probe.fixed)
        floors = {name: floor for name in sizes if (floor := probe.floors.get(name, 1)) < case[name]}
        if any(type(value) is int and value > LONG for value in case.values()):
            continue
        yield from ({**case, name: floor} for name, floor in floors.items())
        yield {**case, **floors}


@pytest.mark.parametrize(
    "code", [code for code in EVERY if code.language.runs_in_process], ids=lambda code: code.challenge.id
)
def test_no_case_shrinks_to_one_that_the_reference_fails(code: ChallengeCode) -> None:
    reference = LocalAnswer(code.import_source())
    for probe in code.probes.values():
        if probe.shrinker or probe.measures_cost or probe.clocked:
            continue
        for case in smaller_cases(probe):
            try:
                once(probe, reference, 1, case)
            except (TrivialOutput, FaultElsewhere):  # which are never shrunk
                continue
            except ProbeFailure as failure:
                pytest.fail(f"{probe.name}, {case}: {failure.title}: {failure.detail}")
            except Exception:  # it cannot draw these sizes, and they are not tried in a grade either
                continue
