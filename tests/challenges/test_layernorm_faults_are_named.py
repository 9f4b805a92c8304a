"""A known fault in a layer norm is found again under its name, on the smallest input that shows it."""

from pathlib import Path

import pytest

from harness.probing.check import sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion, seed_of
from harness.workspace import Workspace
from tests import shares

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("layernorm_backward"))
NAMED: list[tuple[str, dict[str, int]]] = [
    ("no mean term", {"B": 1, "T": 1, "D": 3}),
    ("dgamma over the batch only", {"B": 1, "T": 2, "D": 3}),
    ("centres in place", {"B": 1, "T": 1, "D": 1}),
    ("dx buffer reused", {"B": 1, "T": 1, "D": 2}),
    ("eps outside the root", {"B": 1, "T": 1, "D": 3}),
    ("naive variance", {"B": 1, "T": 1, "D": 3}),
    ("small gradients zeroed", {"B": 1, "T": 1, "D": 3}),
    ("check in place", {"B": 2, "T": 2, "D": 3}),
]
"""Mutants, and what the smallest case that shows them has."""


@pytest.mark.parametrize(("name", "smallest"), shares.share(NAMED, 3))
def test_the_diagnosis_names_the_fault(name: str, smallest: dict[str, int]) -> None:
    (mutant,) = (m for m in CODE.mutants if m.name == name)
    criterion = CODE.challenge.criterion(mutant.criterion)
    with sandboxed(CODE, CODE.source(mutant)) as answer:
        evidence = probe_criterion(CODE, criterion, answer, seed_of(20, criterion.id))
    assert evidence.diagnosis is not None
    assert evidence.diagnosis.mutant == name
    assert evidence.diagnosis.words.endswith(mutant.fault)
    assert evidence.counterexample is not None
    assert smallest.items() <= evidence.counterexample.case.items()
