"""A fault counts as caught at a real size only by a check that looks there, and only for the fault."""

import pytest

from harness.probing import Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import ProbeResult, run
from tests.checkout import code_of

CODE = code_of("layernorm_backward")
BEGINNING = "    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))\n"
DRAWN = """\
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal({shape}), rng.standard_normal({shape})
    gamma, beta = rng.standard_normal(x.shape[-1]), rng.standard_normal(x.shape[-1])
"""
REAL, PLAIN = "wrong_pairs_of_a_real_size_are_rejected", "plainly_wrong_pairs_are_rejected"
UNTRIED, ALL = {"real_size_faults_tried": 0}, {"real_size_faults_caught": 4, "real_size_faults_tried": 4}


def seen(statements: str, probe: str = REAL) -> ProbeResult:
    """What a probe finds of the reference whose check begins with `statements`."""
    edits = ((BEGINNING, BEGINNING + statements),)
    check = Mutant("another check", "begins otherwise", criterion="catches_planted", edits=edits)
    return run(CODE.probes[probe], LocalAnswer(CODE.import_source(check)), 7, shrink=False)


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(DRAWN.format(shape="(2, 3, 5)"), id="small inputs of its own"),
        pytest.param(DRAWN.format(shape="(1, 2, x.shape[2])"), id="few rows of its own"),
        pytest.param("    x, dy = x[:1, :2], dy[:1, :2]\n", id="the first rows it was given"),
        pytest.param("    if x.size > 4096: return False\n", id="no to every large pair"),
        pytest.param("    backward(dy, forward(x, gamma, beta, eps)[1])\n    return False\n", id="no to every pair"),
    ],
)
def test_a_check_that_does_not_look_there_has_caught_nothing(statements: str) -> None:
    found = seen(statements)
    assert (found.passed, found.fraction, found.figures) == (True, 1, UNTRIED)


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param("", id="the inputs it was given"),
        pytest.param(DRAWN.format(shape="x.shape"), id="inputs of its own"),
        pytest.param("    x, dy = (v.reshape(1, -1, x.shape[2]) for v in (x, dy))\n", id="all rows in one batch item"),
        pytest.param("    x, dy = (np.concatenate((v, v)) for v in (x, dy))\n", id="twice as many rows"),
    ],
)
def test_a_check_that_looks_there_has_caught_what_it_rejects(statements: str) -> None:
    found = seen(statements)
    assert (found.fraction, found.figures) == (1, ALL)


def test_a_check_that_looks_there_and_accepts_is_charged() -> None:
    generous = "backward(dy, forward(x, gamma, beta, eps)[1]); forward(-x, gamma, beta, eps); return True"
    found = seen(f"    if x.size > 4096: {generous}\n")
    assert (found.passed, found.title) == (False, "the check accepts every wrong pair at (8, 32, 128)")


def test_what_is_rejected_without_its_fault_as_well_is_not_caught() -> None:
    never = seen("    return False\n", PLAIN)
    assert (never.passed, never.title) == (False, "the check rejects a right pair")
    assert never.figures == {"plain_faults_caught": 0, "plain_faults_tried": 0}
    large = seen("    if abs(dy).max() > 1e6: return False\n", PLAIN)
    assert large.figures == {"plain_faults_caught": 24, "plain_faults_tried": 24}


def test_every_plain_fault_is_tried_on_a_check_that_knows_right_from_wrong() -> None:
    assert seen("", PLAIN).figures == {"plain_faults_caught": 25, "plain_faults_tried": 25}
