"""What is wrong, refused, undefined or unseen assesses nothing else."""

import dataclasses
import json
import math
import types
from typing import Any

import numpy as np
import pytest

from harness.cuda.emulator.device_trace import parse
from harness.model import Outcome
from harness.probing import expect
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.checked import require_launches, require_same_work, require_sound_accesses
from harness.probing.diagnosis import Counts, distance
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.failures import CallRefused, NotMeasurable, NotRun, ProbeFailure, WrongOutputs
from harness.probing.launching import DeviceCall
from harness.sandbox import RemoteObject
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


REFUSED = {"kind": "invalid_launch", "severity": "error", "text": "60000 bytes of dynamic shared memory"}
OUTSIDE = {"kind": "out_of_bounds", "severity": "error", "text": "write of 4 bytes"}
RAN = [{"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "threads": 1}]


def call(code: int, *defects: dict[str, Any], launches: list[dict[str, Any]] | None = None) -> DeviceCall:
    report = parse(json.dumps({"version": 1, "mode": 1, "defects": defects, "launches": launches or []}).encode())
    assert report is not None
    return DeviceCall(code, "check", report, {})


@pytest.mark.parametrize("code", [0, 1])
def test_a_refused_launch_is_a_refused_call(code: int) -> None:
    with pytest.raises(CallRefused) as seen:
        require_launches(call(code, REFUSED), "here")
    assert seen.value.title == "a legal call is refused"
    assert seen.value.detail == f"here: it returns {code}; 60000 bytes of dynamic shared memory"


def test_a_launch_refused_before_another_is_no_access(local: LocalAnswer) -> None:
    report = require_launches(call(0, REFUSED, launches=RAN), "here")
    require_sound_accesses(local, report, "here")


def test_what_ran_is_assessed_although_the_call_failed(local: LocalAnswer) -> None:
    report = require_launches(call(1, OUTSIDE), "here")
    with pytest.raises(ProbeFailure, match="memory out of bounds is touched"):
        require_sound_accesses(local, report, "here")


@pytest.fixture
def local() -> LocalAnswer:
    return LocalAnswer(types.ModuleType("answer"))


def judge(run: int) -> None:
    if run != 1:
        raise ProbeFailure("values are wrong")


def raising(failure: ProbeFailure):
    def run() -> int:
        raise failure

    return run


UNWRITTEN = WrongOutputs("rows are never written")


def test_a_right_run_is_returned():
    assert require_same_work(judge, lambda: 1, lambda: 1) == 1


@pytest.mark.parametrize("run", [lambda: 2, raising(UNWRITTEN)], ids=["values", "unwritten"])
def test_what_is_wrong_in_either_run_is_not_assessed(run):
    with pytest.raises(NotMeasurable, match="the result is wrong here"):
        require_same_work(judge, run, run)


@pytest.mark.parametrize("run", [lambda: 2, raising(UNWRITTEN)], ids=["values", "unwritten"])
def test_what_is_wrong_under_watch_alone_is_a_fault(run):
    with pytest.raises(ProbeFailure, match="does other work"):
        require_same_work(judge, run, lambda: 1)


def test_a_refused_call_is_a_fault():
    with pytest.raises(ProbeFailure, match="refused"):
        require_same_work(judge, raising(ProbeFailure("a legal call is refused")), lambda: 1)


SEEN = (np.ones(2), (), Counts())
UNSEEN = (RemoteObject(1), (), Counts())


def test_a_trace_that_ends_in_an_unseen_result_agrees_with_none():
    assert distance([SEEN], [SEEN]) == 0.0
    assert distance([UNSEEN, SEEN], [UNSEEN, SEEN]) == 0.0
    assert distance([SEEN, UNSEEN], [SEEN, UNSEEN]) is None
