"""What an answer kept in one probe is gone in the next: every probe, of one criterion or of several, starts anew."""

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.evidence.criteria import probe_criterion, seed_of

WRONG_AFTER_TWO_CALLS = """
calls = []

def scaled(x, scale):
    calls.append(1)
    return x.sum(axis=-1) * scale * (1.0 if len(calls) <= 2 else 1.5)
"""
PROBES = ("rows_match_the_oracle", "doubling_doubles")
"""Each of two calls."""


@pytest.mark.parametrize("probes", [PROBES, PROBES[::-1]], ids=["as listed", "reversed"])
def test_the_probes_of_one_criterion_see_no_state_of_each_other(toy, probes):
    criterion = toy.challenge.criterion("values").model_copy(update={"probes": probes})
    with open_in_sandbox(toy, WRONG_AFTER_TWO_CALLS) as answer:
        evidence = probe_criterion(toy, criterion, answer, 3)
    assert (evidence.outcome, evidence.detail) == (Outcome.PASSED, "")


def test_a_criterion_sees_no_state_of_an_earlier_one(toy):
    with open_in_sandbox(toy, WRONG_AFTER_TWO_CALLS) as answer:
        outcomes = [probe_criterion(toy, c, answer, seed_of(3, c.id)).outcome for c in toy.challenge.criteria]
    assert outcomes == [Outcome.PASSED] * 2


def test_the_answer_is_wrong_within_one_worker(toy):
    criterion = toy.challenge.criterion("values")
    with open_in_sandbox(toy, WRONG_AFTER_TWO_CALLS.replace("<= 2", "<= 1")) as answer:
        assert probe_criterion(toy, criterion, answer, 3).outcome is Outcome.FAILED
