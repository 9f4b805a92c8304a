"""A diagnosis states a number of the known fault only where a fault with another number does not agree as well."""

import pytest

from harness.model import Evidence, Outcome
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.mutants import Mutant
from harness.probing.evidence.criteria import probe_criterion, seed_of
from tests.checkout import answer_of, code_of

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
