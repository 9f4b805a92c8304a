"""An answer that fails the anchor earns nothing from relations that happen to hold for it."""

from collections import Counter

import pytest

from harness.model import Evidence, Obstacle, Outcome
from harness.mutation.checks.check import assess, check
from harness.mutation.checks.null_answer import NullAnswer
from harness.mutation.checks.tampering import TAMPERINGS


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
