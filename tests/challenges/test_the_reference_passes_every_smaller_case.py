"""The smallest failing input of a finding is never one that a right answer fails as well."""

from collections.abc import Iterator

import pytest

from harness.probing import ProbeFailure
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.failures import FaultElsewhere, TrivialOutput
from harness.probing.probe import Probe, once
from harness.probing.sizes import Case
from tests.checkout import WORKSPACE, code_of

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
