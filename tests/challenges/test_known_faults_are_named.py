"""A known fault is named where it is the cause, with a number only where no other agrees."""

import pytest

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.mutants import Mutant
from harness.probing.evidence.criteria import probe_criterion, seed_of
from tests import shares
from tests.checkout import answer_of, code_of

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


CODE = code_of("ternary_training")
FLUSHED = next(mutant for mutant in CODE.mutants if mutant.name == "tiny taken for zero")
ATTENTION = code_of("flash_attention")
POWERS = next(mutant for mutant in ATTENTION.mutants if mutant.name == "powers of two")


def evidence(source: str, criterion: str, code: ChallengeCode = CODE) -> Evidence:
    answer = answer_of(source)
    return probe_criterion(code, code.challenge.criterion(criterion), answer, seed_of(5, criterion))


def words(source: str, criterion: str, code: ChallengeCode = CODE) -> str:
    found = evidence(source, criterion, code)
    assert found.diagnosis is not None, found
    return found.diagnosis.words


def flushed(threshold: str) -> str:
    source = CODE.source(FLUSHED)
    assert source.count("1e-12") == 1
    return source.replace("1e-12", threshold)


@pytest.mark.parametrize("threshold", ["1e-12", "1.02e-12"])
def test_a_threshold_that_several_numbers_explain_is_an_example(threshold: str) -> None:
    seen = words(flushed(threshold), "extreme_scale")
    assert seen.endswith(": the answer takes weights below a number such as 1e-12 for zero")


def test_a_threshold_that_a_passed_case_refutes_is_not_named() -> None:
    seen = evidence(flushed("1e-15"), "extreme_scale")  # weights of 1e-12 pass, which the known fault takes for zero
    assert seen.outcome is Outcome.FAILED
    assert seen.diagnosis is None


def test_a_number_that_no_other_explains_is_stated() -> None:
    seen = words(ATTENTION.source(POWERS), POWERS.criterion, ATTENTION)
    assert seen.endswith(": the answer raises 2 instead of e to the scores")


def test_numbers_are_those_of_the_words_that_the_edits_hold() -> None:
    rows = Mutant(
        "many rows", "leaves 2,047 of 3 rows at 0.5", criterion="linear", edits=(("y", "y[2047:] = 5e-1 * x1"),)
    )
    assert rows.chosen_numbers == ("2,047", "0.5")
    assert rows.with_number_near("2,047", 1.01).edits == (("y", "y[2048:] = 5e-1 * x1"),)
    assert rows.with_number_near("0.5", 1.01).edits == (("y", "y[2047:] = 0.505 * x1"),)


def test_a_comma_behind_a_number_stays() -> None:
    blocks = Mutant("blocks", "sees blocks of 32", criterion="mask", edits=(("y", "range(32, size, 32)"),))
    assert blocks.with_number_near("32", 1.01).edits == (("y", "range(33, size, 33)"),)
