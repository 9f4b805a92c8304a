"""However slow an answer is, its grade ends in the time the limits allow; the record says so and with which limits."""

import time

import pytest

from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Limits, Outcome
from harness.report import formatting

SLOW = "import time\ndef scaled(x, scale):\n    time.sleep(0.2)\n    return {result}\n"
LIMITS = {"call_seconds": 0.5, "probes_seconds": 1.0}


@pytest.mark.parametrize("result", ["x.sum(-1) * scale * 2", "x.sum(-1) * x.sum(-1)"], ids=["linear", "square"])
def test_looking_for_a_smaller_input_stops_with_the_time(toy, submit, result):
    start = time.monotonic()
    record = grade_one(toy.workspace, submit("m", SLOW.format(result=result)), Options(limits=LIMITS)).record
    assert time.monotonic() - start < 8  # 1 s of calls, the last call, workers and the other stages
    values, linear = record.evidence
    assert "is wrong" in values.seen and values.counterexample is not None
    assert (linear.own_outcome, linear.rests_on) == (Outcome.NOT_RUN, "values")  # the anchor took the time


def test_time_spent_waiting_for_a_hung_call_counts(toy, submit):
    hung = SLOW.format(result="time.sleep(60)")
    limits = {"call_seconds": 2.0, "probes_seconds": 1.5}  # what a call waited for a processor is not charged
    record = grade_one(toy.workspace, submit("m", hung), Options(limits=limits)).record
    values, linear = record.evidence
    # the first try of the hung call takes all the time there is, so that no second one can follow
    assert (values.outcome, linear.own_outcome) == (Outcome.FAILED, Outcome.NOT_RUN)
    assert "does not end in time" in values.seen
    assert record.seconds["box"] > 2.0


def test_the_limits_in_force_are_in_the_record(toy, submit):
    record = grade_one(toy.workspace, submit("m", toy.source()), Options(limits=LIMITS)).record
    assert record.limits == Limits(**LIMITS)
    assert "the limit probes_seconds was set to 1 by hand" in record.remarks
    assert "0.5 s a call, 1 s for all probes" in formatting.limits(record.limits)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0, -1, 1e9])
def test_no_limit_is_without_end(value):
    with pytest.raises(ValueError, match="probes_seconds"):
        Limits(probes_seconds=value)
