"""A known fault is found again under its name, on the smallest input that shows it."""

import pytest

from harness.mutation.checks.check import open_in_sandbox
from harness.probing.evidence.criteria import probe_criterion, seed_of
from tests import shares
from tests.checkout import code_of

NAMED: list[tuple[str, str, dict[str, int]]] = [
    ("kv_cache", "prefill not stored", {"S": 1, "H": 1}),
    ("kv_cache", "cache never grows", {"steps": 3, "H": 1}),
    ("kv_cache", "chunk mask without offset", {"chunk": 2, "H": 1}),
    ("kv_cache", "layers share storage", {"layers": 2, "H": 1, "D": 1}),
    ("kv_cache", "float16 store", {"H": 1, "D": 1}),
    ("kv_cache", "silent wrap", {"room": 2}),
    ("kv_cache", "window one too long", {"H": 1, "D": 1}),
    ("kv_cache", "int4 halves swapped", {}),
    ("layernorm_backward", "no mean term", {"B": 1, "T": 1, "D": 3}),
    ("layernorm_backward", "dgamma over the batch only", {"B": 1, "T": 2, "D": 3}),
    ("layernorm_backward", "centres in place", {"B": 1, "T": 1, "D": 1}),
    ("layernorm_backward", "dx buffer reused", {"B": 1, "T": 1, "D": 2}),
    ("layernorm_backward", "eps outside the root", {"B": 1, "T": 1, "D": 3}),
    ("layernorm_backward", "naive variance", {"B": 1, "T": 1, "D": 3}),
    ("layernorm_backward", "small gradients zeroed", {"B": 1, "T": 1, "D": 3}),
    ("layernorm_backward", "check in place", {"B": 2, "T": 2, "D": 3}),
]
"""Mutants of a challenge, and what the smallest case that shows them has."""


@pytest.mark.parametrize(("challenge", "name", "smallest"), shares.share(NAMED, 6, lambda known: known[0]))
def test_the_diagnosis_names_the_fault(challenge: str, name: str, smallest: dict[str, int]) -> None:
    code = code_of(challenge)
    (mutant,) = (m for m in code.mutants if m.name == name)
    criterion = code.challenge.criterion(mutant.criterion)
    with open_in_sandbox(code, code.source(mutant)) as answer:
        evidence = probe_criterion(code, criterion, answer, seed_of(20, criterion.id))
    assert evidence.diagnosis is not None
    assert evidence.diagnosis.mutant == name
    # another number in the fault's place may explain the answer as well
    assert evidence.diagnosis.words.replace("a number such as ", "").endswith(mutant.fault)
    assert evidence.counterexample is not None
    assert smallest.items() <= evidence.counterexample.case.items()
