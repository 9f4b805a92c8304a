"""A known fault in a cache is found again under its name, on the smallest input that shows it."""

from pathlib import Path

import pytest

from harness.probing.check import sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion, seed_of
from harness.workspace import Workspace
from tests import shares

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("kv_cache"))
NAMED: list[tuple[str, dict[str, int]]] = [
    ("prefill not stored", {"S": 1, "H": 1}),
    ("cache never grows", {"steps": 3, "H": 1}),
    ("chunk mask without offset", {"chunk": 2, "H": 1}),
    ("layers share storage", {"layers": 2, "H": 1, "D": 1}),
    ("float16 store", {"H": 1, "D": 1}),
    ("silent wrap", {"room": 2}),
    ("window one too long", {"H": 1, "D": 1}),
    ("int4 halves swapped", {}),
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
