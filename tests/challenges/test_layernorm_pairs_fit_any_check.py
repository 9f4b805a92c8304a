"""The pairs that an answer's gradient check is tried on are right, or wrong, at whatever shape the check asks about."""

import numpy as np
import pytest

from harness.numerics import check_gradients
from harness.probing import Draw, Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.probe import run
from tests.checkout import code_of

CODE = code_of("layernorm_backward")
QUESTIONS, VARIED, PLANTED = map(CODE.module, ("questions", "varied_questions", "planted"))
VERDICT = "    return bool(dgamma_agrees.all() and dbeta_agrees.all() and dx_agrees)\n"
ORDINARY = """
    given, found = [x, gamma, beta], backward(dy, forward(x, gamma, beta, eps)[1])
    for number, gradient in enumerate(found):
        for place in np.ndindex(gradient.shape):
            ends = []
            for move in (1e-5, -1e-5):
                moved = [np.array(values) for values in given]
                moved[number][place] += move
                ends.append((dy * forward(*moved, eps)[0]).sum())
            if abs((ends[0] - ends[1]) / 2e-5 - gradient[place]) > 1e-3 * abs(gradient).max():
                return False
    return True
"""
"""A check of every element with a tolerance of 1e-3 of the largest."""
DRAWN = """
    rng = np.random.default_rng(42)
    x, dy, gamma = (rng.standard_normal(values.shape) for values in (x, dy, gamma))
"""
SHAPES = [(2, 3, 5), (1, 4, 3), (4, 5, 16)]


def agrees(question, shape) -> bool:
    """Whether a pair made for one shape is right at another, by finite differences."""
    rng = np.random.default_rng(7)
    forward, backward = PLANTED.pair(*question.numbers)
    x, dy = rng.standard_normal(shape), rng.standard_normal(shape)
    gamma, beta = 1.0 + rng.uniform(0.1, 1.0, shape[-1]), rng.standard_normal(shape[-1])
    _, cache = forward(x, gamma, beta, 1e-5)
    report = check_gradients(
        lambda x, gamma, beta, eps: forward(x, gamma, beta, eps)[0], backward(dy, cache),
        x=x, gamma=gamma, beta=beta, dy=dy, eps=1e-5, rng=rng,
    )  # fmt: skip
    return not report.faults


def outputs(pair, given) -> tuple:
    """What a pair returns at a point: y and its gradients."""
    forward, backward = pair
    y, cache = forward(given.x, given.gamma, given.beta, given.eps)
    return y, *backward(given.dy, cache)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_right_pair_is_right_at_any_shape(shape) -> None:
    for question in VARIED.right_questions(Draw(1, "pairs")):
        assert agrees(question, shape), question.name


@pytest.mark.parametrize("shape", SHAPES)
def test_a_wrong_pair_is_wrong_at_any_shape(shape) -> None:
    for fault, question in VARIED.wrong_questions(Draw(2, "pairs")):
        assert not agrees(question, shape), fault


@pytest.mark.parametrize("seed", range(8))
def test_every_fault_shows_beyond_an_ordinary_absolute_tolerance(seed: int) -> None:
    for fault, question in VARIED.wrong_questions(Draw(seed, "pairs")):
        given = question.given
        weights, own = question.numbers[0], question.numbers[2:]
        whole = VARIED.parts(Draw(seed, "whole"), given, None)
        right = PLANTED.pair(weights, weights, *whole, VARIED.twist(Draw(seed, "twist")))
        found = [outputs(pair, given) for pair in (right, PLANTED.pair(weights, weights, *own))]
        assert not all(np.allclose(one, other, rtol=0.0, atol=1e-4) for one, other in zip(*found, strict=True)), fault


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("inputs", ["", DRAWN], ids=["inputs as given", "inputs of its own"])
def test_an_ordinary_check_has_the_same_verdict_by_every_seed(inputs: str, seed: int) -> None:
    """What it cannot see at inputs of its own is counted beside what it rejects."""
    check = Mutant("ordinary", "has a tolerance", criterion="catches_planted", edits=((VERDICT, inputs + ORDINARY),))
    found = run(CODE.probes["wrong_pairs_are_rejected"], LocalAnswer(CODE.import_source(check)), seed, shrink=False)
    seen = found.figures
    assert found.passed and found.fraction == 1 and seen["planted_caught"] == seen["planted_tried"]
    assert seen["planted_tried"] + seen["planted_hidden"] == len(QUESTIONS.FAULTS)
    assert inputs or not seen["planted_hidden"]
