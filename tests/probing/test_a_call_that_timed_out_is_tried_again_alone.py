"""A call that used up its processor time counts at once; one that waited or was starved, only when it does so again, in
a fresh worker with no other grade beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from harness.model import Evidence, Outcome, SignalKind
from harness.mutation.checks.check import open_in_sandbox
from harness.probing import NotRun
from harness.probing.answers import SandboxedAnswer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.probe import run
from harness.probing.submissions.reply_failure import describe_wait, failure_of
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Array, CallStatus, Reply
from harness.sandbox.accounting import wall_bound
from harness.timing import exclusive

RIGHT = "def scaled(x, scale): return x.sum(axis=-1) * scale\n"
HANGS = "def scaled(x, scale):\n    while True: pass\n"
SLEEPS = "import time\ndef scaled(x, scale): time.sleep(1e6)\n"
HANGS_IN_PART = (
    "def scaled(x, scale):\n    if scale == 1.0:\n        while True: pass\n    return x.sum(axis=-1) * scale\n"
)


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    """Locks of this test's own, in processes that it starts too: no other grade of the machine is waited for."""
    monkeypatch.setenv(exclusive.FOLDER, str(tmp_path))


class StoppedAtFirst(AnswerWrapper):
    """The first worker is stopped before its first call; later ones are left alone."""

    answer: SandboxedAnswer
    stopped = 0

    def call(self, *args: Any, **options: Any) -> Any:
        if not self.stopped:
            self.stopped = self.answer.box().pid
            os.kill(self.stopped, signal.SIGSTOP)
        return super().call(*args, **options)


@contextmanager
def limited(toy: ChallengeCode, source: str) -> Iterator[SandboxedAnswer]:
    limits = toy.challenge.limits.model_copy(update={"call_seconds": 0.5})
    brief = ChallengeCode(toy.workspace, toy.challenge.model_copy(update={"limits": limits}))
    with open_in_sandbox(brief, source) as answer:
        assert isinstance(answer, SandboxedAnswer)
        yield answer


def judged(toy: ChallengeCode, answer: Any, criterion: str = "values") -> Evidence:
    return probe_criterion(toy, toy.challenge.criterion(criterion), answer, 7)


@pytest.mark.parametrize(("source", "tries", "seen"), [(HANGS, 1, "used 0.5 s"), (SLEEPS, 2, "waited, and used 0.0 s")])
def test_an_answer_that_loops_fails_at_once_and_one_that_waits_after_two_tries(toy, source, tries, seen):
    with limited(toy, source) as answer:
        evidence = judged(toy, answer)
        assert answer.calls == tries
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "`scaled` does not end in time")
    assert f"no answer within 0.5 s: a call of `scaled` {seen} of processor time in" in evidence.detail


def test_a_wait_that_is_cut_short_names_the_time_that_was_measured():
    reply = Reply(
        CallStatus.TIMEOUT, text="no answer within 10 s", seconds=0.2, processor=0.1, limit=10.0, starved=True
    )
    seen = describe_wait(reply, "a call of `scaled`")
    assert seen == "no answer in the 0.2 s that were left: a call of `scaled` used 0.1 s of processor time"


def test_a_limit_that_served_functions_used_up_names_their_time_too():
    reply = Reply(
        CallStatus.TIMEOUT,
        text="no answer within 10 s",
        seconds=12.5,
        processor=6.7,
        serving=3.3,
        limit=10.0,
        exhausted=True,
    )
    seen = describe_wait(reply, "a call of `prefill`")
    assert seen == (
        "no answer within 10 s: a call of `prefill` used 6.7 s of processor time, "
        "the functions that it calls 3.3 s, in 12.5 s"
    )


def test_a_probe_to_which_time_is_no_question_is_not_run_where_an_answer_hangs(toy):
    asked = replace(toy.probes["rows_match_the_oracle"], slow_fails=False)
    with limited(toy, HANGS) as answer, pytest.raises(NotRun, match="`scaled` does not end in time"):
        run(asked, answer, 7)


def test_a_worker_that_stood_still_once_fails_nothing(toy):
    with limited(toy, RIGHT) as answer:
        stopped = StoppedAtFirst(answer)
        evidence = judged(toy, stopped)
        assert answer.box().pid != stopped.stopped
    assert stopped.stopped
    assert evidence.outcome is Outcome.PASSED


def test_a_worker_that_stood_still_is_no_answer_that_replies_differently(toy):
    from harness.probing.evidence.determinism import nondeterminism

    with limited(toy, RIGHT) as answer:
        found = nondeterminism(StoppedAtFirst(answer), toy.probes["rows_match_the_oracle"], 7)
    assert found is None or found.kind is not SignalKind.NONDETERMINISTIC


def test_without_quiet_a_timeout_is_not_run_and_never_a_failure(toy, monkeypatch):
    monkeypatch.setattr(wall_bound, "EXTRA", 0.0)  # half a second for the others to end
    held = "from harness.timing.exclusive import beside_others\nwith beside_others():\n    print('held', flush=True)\n"
    with limited(toy, SLEEPS) as answer:
        other = subprocess.Popen([sys.executable, "-c", f"{held}    input()"], stdin=-1, stdout=-1)
        try:
            assert other.stdout.readline() == b"held\n"
            evidence = judged(toy, answer)
        finally:
            other.communicate(b"\n")
    assert evidence.outcome is Outcome.NOT_RUN
    assert "`scaled` does not end in time" in evidence.detail
    assert "could not be tried again alone: other grades of this machine did not end in time" in evidence.detail


def test_what_hangs_in_one_probe_only_fails_that_one(toy):
    with limited(toy, HANGS_IN_PART) as answer:
        assert judged(toy, answer).outcome is Outcome.PASSED
        assert judged(toy, answer, "linear").outcome is Outcome.FAILED


def test_waiting_for_a_processor_is_not_counted_as_the_calls_time(toy):
    works = "import time\ndef scaled(x, scale):\n    start = time.thread_time()\n"
    works += "    while time.thread_time() - start < 0.35: pass\n    return x.sum(axis=-1) * scale\n"
    processor = sorted(os.sched_getaffinity(0))[0]
    loop = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nprint(flush=True)\nwhile True: pass"
    with limited(toy, works) as answer:
        answer.fresh()
        os.sched_setaffinity(answer.box().pid, {processor})
        others = [subprocess.Popen([sys.executable, "-c", loop], stdout=-1) for _ in range(4)]
        try:
            assert all(other.stdout.readline() for other in others)
            import numpy as np

            answer.call("scaled", np.ones((2, 3)), 1.0, returns=Array((2,), "float64"))
        finally:
            for other in others:
                other.kill()
                other.communicate()
        assert answer.cost.seconds > answer.cost.processor + 0.05
        assert answer.charged_seconds < 0.5


class Starved(AnswerWrapper):
    """Every call times out, for want of a processor."""

    def call(self, *args: Any, **options: Any) -> Any:
        text = "no answer within 0.5 s"
        reply = Reply(CallStatus.TIMEOUT, text=text, seconds=3.0, queued=2.9, limit=0.5, starved=True)
        raise failure_of(reply, "scaled")


def test_what_other_work_starves_twice_is_not_run(toy):
    with limited(toy, RIGHT) as answer:
        evidence = judged(toy, Starved(answer))
    assert evidence.outcome is Outcome.NOT_RUN
    assert "other work had the processor" in evidence.detail


def test_threads_that_starve_each_other_are_no_excuse(toy):
    crowd = "import threading\ndef spin():\n    while True: pass\n"
    crowd += "def scaled(x, scale):\n    for _ in range(8): threading.Thread(target=spin, daemon=True).start()\n"
    with limited(toy, crowd + "    spin()\n") as answer:
        assert judged(toy, answer).outcome is Outcome.FAILED


@pytest.mark.parametrize("kind", ["alone", "beside_others"])
def test_nothing_runs_beside_what_runs_alone(kind):
    with exclusive.alone():
        code = f"from harness.timing.exclusive import {kind}\nwith {kind}(): print('in', flush=True)"
        other = subprocess.Popen([sys.executable, "-c", code], stdout=-1)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.0)
    assert other.communicate(timeout=30)[0] == b"in\n"
