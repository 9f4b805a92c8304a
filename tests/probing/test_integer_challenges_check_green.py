"""Challenges of integers check green, and null answers earn nothing."""

from collections import Counter

import pytest
from integer_challenges import OPERATIONS, made

from harness.cuda.compilers.host_compiler import host_compiler
from harness.model import Evidence, Obstacle, Outcome
from harness.mutation.checks.check import assess, check, open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer, NullValues
from harness.mutation.checks.tampering import TAMPERINGS, TamperedAnswer
from tests import shares

NARROWED = {"float16 inside", "float32 inside float64"}
"""What no integer can lose; the argmax of floats can be that of narrower ones."""
APPLIES = {"argmax": {"float16 inside"}}
NEEDS_COMPILER = pytest.mark.skipif(host_compiler() is None, reason="the emulated device needs a C++ compiler")


def require_green(code, name):
    verdicts = list(check(code, shares.number()))
    assert [v for v in verdicts if not v.right] == []
    kinds = {"reference": 1, "variant": 1, "mutant": 4, "null": len(NullAnswer.KINDS), "tampered": len(TAMPERINGS)}
    assert Counter(v.kind for v in verdicts) == kinds
    assert {v.name for v in verdicts if not v.applies} == NARROWED - APPLIES.get(name, set())


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_challenge_in_python(tmp_path, name):
    require_green(made(tmp_path, name, "python"), name)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_challenge_in_cuda(tmp_path, name):
    require_green(made(tmp_path, name, "cuda"), name)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", OPERATIONS)
def test_worthless_results_of_a_kernel_are_wrong_by_their_values(tmp_path, name):
    code = made(tmp_path, name, "cuda")
    with open_in_sandbox(code, code.source()) as reference:
        for kind in NullAnswer.KINDS:
            null = TamperedAnswer(reference, NullValues(kind))
            (anchor,) = assess(code, null, shares.number(), "values")
            assert anchor.outcome is Outcome.FAILED
            assert anchor.counterexample.where.startswith("out["), anchor


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_has_no_credit(toy, kind):
    evidence = assess(toy, NullAnswer(kind), seed=1)
    assert [e.satisfied for e in evidence] == [0, 0]


def test_a_relation_that_held_says_what_it_rests_on(toy):
    linear = next(e for e in assess(toy, NullAnswer("zeros"), seed=1) if e.criterion == "linear")
    assert (linear.outcome, linear.rests_on) == (Outcome.FAILED, "values")


def test_a_null_answer_that_only_fails_a_call_shows_nothing(toy, monkeypatch):
    """`check` must see the anchor fail for what an answer returns: a call that fails is no proof of that."""
    failing = Evidence.of(toy.challenge.criterion("values"), Outcome.FAILED, title="it raises", obstacle=Obstacle.CALL)
    monkeypatch.setattr("harness.mutation.checks.check.assess", lambda *given, **more: [failing])
    nulls = [v for v in check(toy, seed=3) if v.kind == "null"]
    assert len(nulls) == len(NullAnswer.KINDS)
    assert all(not v.right and "not for its results" in v.detail for v in nulls)


def test_check_finds_every_answer_of_ours_as_declared(toy):
    verdicts = list(check(toy, seed=3))
    expected = {"reference": 1, "variant": 1, "mutant": 3, "null": len(NullAnswer.KINDS), "tampered": len(TAMPERINGS)}
    assert Counter(v.kind for v in verdicts) == expected
    assert all(v.right and v.applies for v in verdicts), verdicts


def test_check_tells_a_mutant_that_lives(toy):
    path = toy.workspace.root / "challenges" / "scaled_sum" / "mutants.py"
    path.write_text(path.read_text().replace("x[:, :-1].sum(axis=-1)", "x[:, :].sum(axis=-1)"))
    wrong = [v for v in check(toy, seed=3) if not v.right]
    assert [(v.kind, v.name) for v in wrong] == [("mutant", "last column dropped")]
    assert "is passed" in wrong[0].detail
