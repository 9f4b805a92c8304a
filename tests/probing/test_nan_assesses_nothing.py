"""A figure of ours that is NaN assesses nothing; an answer's output that is NaN is a failure."""

import dataclasses
import math

import pytest

from harness.model import Outcome
from harness.probing import expect
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.failures import NotRun
from tests.checkout import answer_of


def assess(toy, body):
    """Evidence of a criterion whose only probe is `body`."""
    criterion = toy.challenge.criterion("values")
    name = criterion.probes[0]
    toy.probes[name] = dataclasses.replace(toy.probes[name], body=body)
    return probe_criterion(toy, criterion, answer_of(toy.source()), 7, explain=False)


def test_nothing_passes_on_nan(toy):
    evidence = assess(toy, lambda answer, draw, **sizes: {"exponent": math.nan})
    assert evidence.outcome is Outcome.NOT_RUN
    assert "`exponent` is NaN" in evidence.detail


def test_nothing_fails_on_nan(toy):
    def body(answer, draw, **sizes):
        expect.that(math.nan <= 1.2, "grows too fast", exponent=math.nan)

    assert assess(toy, body).outcome is Outcome.NOT_RUN
    with pytest.raises(NotRun):
        expect.that(True, "grows too fast", exponent=math.nan)


def test_an_output_that_is_nan_is_a_failure(toy):
    source = "def scaled(x, scale):\n    return x.sum(axis=-1) * float('nan')\n"
    answer = answer_of(source)
    evidence = probe_criterion(toy, toy.challenge.criterion("values"), answer, 7)
    assert evidence.outcome is Outcome.FAILED
    assert not any(isinstance(v, float) and math.isnan(v) for v in evidence.measured.values())
