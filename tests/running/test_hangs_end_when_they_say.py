"""Whatever an answer waits or loops in, its grade ends within one bound of wall time, and says what was waited for.

What is counted is what the grader waits for, in tries and in seconds: both are the same on a busy machine.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.errors import BusyMachineError
from harness.executors.base import grade_all
from harness.executors.local import LocalExecutor
from harness.grading.job import Job, prepare_job
from harness.grading.options import Options
from harness.grading.retry import grade_with_retries
from harness.grading.submission_grade import grade_one
from harness.model import GradeProfile, Limits, Outcome, Record, Status
from harness.probing.submissions import opening
from harness.sandbox import CallStatus, Reply
from harness.sandbox.accounting import wall_bound
from harness.sandbox.session.worker_session import WorkerSession
from tests.toy import PROBES, TOML, add_submission, make_workspace

LIMITS = {"start_seconds": 1.0, "call_seconds": 0.5, "probes_seconds": 2.0}
ROOM = 15.0
"""Seconds beside the bound, for what is not waited for: the grader itself, on a machine that has much else to do."""
LOOP = "while True: pass"
SLEEP = "__import__('time').sleep(1e6)"
THREADS = "[threading.Thread(target=spin, daemon=True).start() for _ in range(6)]; spin()"
HEAD = "import threading\ndef spin():\n    while True: pass\n"
RIGHT = HEAD + "def scaled(x, scale):\n    return x.sum(axis=-1) * scale\n"


def in_call(how: str, when: str = "True") -> str:
    return HEAD + f"def scaled(x, scale):\n    if {when}:\n        {how}\n    return x.sum(axis=-1) * scale\n"


LOST = "class Endless:\n    def __del__(self):\n        while True: pass\n"


@dataclass
class Waits:
    """What the grader waited for in vain.

    Attributes:
        replies: that timed out.
    """

    replies: list[Reply] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """By the wall clock."""
        return sum(reply.seconds for reply in self.replies)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Of all that is graded in a test."""
    found, real = Waits(), WorkerSession._ask

    def asked(self: WorkerSession, *words: Any, **options: Any) -> Reply:
        reply = real(self, *words, **options)
        found.replies += [reply] if reply.status is CallStatus.TIMEOUT else []
        return reply

    monkeypatch.setattr(WorkerSession, "_ask", asked)
    return found


Graded = Callable[..., Record]


@pytest.fixture
def graded(toy, submit) -> Graded:
    def grade(source: str, profile: str = "reward", **options: Any) -> Record:
        options = {"limits": LIMITS, "profile": GradeProfile(profile)} | options
        return grade_with_retries(toy.workspace, submit("m", source), Options(**options)).record

    return grade


@pytest.mark.parametrize(
    ("source", "tries", "limit", "seen"),
    [
        (f"{LOOP}\n{RIGHT}", 1, "start_seconds", "no answer within 1 s: the import used "),
        (f"{SLEEP}\n{RIGHT}", 2, "start_seconds", "no answer within 1 s: the import waited, and used "),
        (in_call(LOOP), 1, "call_seconds", "no answer within 0.5 s: a call of `scaled` used "),
        (in_call(SLEEP), 2, "call_seconds", "no answer within 0.5 s: a call of `scaled` waited, and used "),
        (LOST + in_call("Endless()"), 1, "call_seconds", "no answer within 0.5 s: a call of `scaled` used "),
    ],
    ids=["import loops", "import sleeps", "call loops", "call sleeps", "destructor loops"],
)  # fmt: skip
def test_a_hang_is_waited_for_once_or_twice_within_its_bound(graded, waits, source, tries, limit, seen):
    start = time.monotonic()
    record = graded(source)
    assert time.monotonic() - start < wall_bound.wall_bound(3.0) + ROOM  # of its start and of all its calls
    assert len(waits.replies) == tries
    assert waits.seconds <= wall_bound.wall_bound(LIMITS[limit]) + 1.0
    assert record.reward == 0.0
    told = record.build.text if limit == "start_seconds" else record.evidence[0].detail
    assert told.startswith(seen) and " s of processor time in " in told


@pytest.mark.parametrize("source", [f"{HEAD}{THREADS}\n{RIGHT}", in_call(THREADS)], ids=["import", "call"])
def test_threads_that_keep_the_processor_from_each_other_end_like_one(graded, waits, source):
    """Python's threads run one at a time, and what one of them waits for another looks like waiting for anything."""
    record = graded(source)
    assert record.reward == 0.0
    assert len(waits.replies) <= 2 and waits.seconds <= wall_bound.wall_bound(waits.replies[0].limit) + 1.0


@pytest.mark.parametrize(("how", "cores", "tries"), [(LOOP, 1, 1), (LOOP, 2, 1), (SLEEP, 1, 2)])
def test_a_full_grade_waits_for_a_hang_no_more_often(graded, waits, how, cores, tries):
    record = graded(in_call(how, "scale == 1.0"), "full", cores=cores)
    assert [e.outcome for e in record.evidence] == [Outcome.PASSED, Outcome.FAILED]
    assert record.evidence[1].title == "`scaled` does not end in time"
    assert len(waits.replies) == tries


KEEPING = """
from harness.sandbox import Keep

"""
KEEPS = """
@probe({{}})
def keeps_{n}(answer, draw):
    answer.call("scaled", draw.normal(2, 3), 1.0, returns=Keep())
"""


def test_what_hangs_as_it_is_forgotten_is_waited_for_once(tmp_path, waits):
    probes = PROBES + KEEPING + "".join(KEEPS.format(n=n) for n in range(4))
    toml = TOML.replace('"doubling_doubles"', ", ".join(f'"keeps_{n}"' for n in range(4)))
    source = LOST + RIGHT.replace("return", "if scale == 1.0: return Endless()\n    return")
    workspace = make_workspace(tmp_path, toml=toml, probes=probes)
    folder = add_submission(workspace, "m", source)
    record = grade_one(workspace, folder, Options(limits=LIMITS, profile=GradeProfile.FULL, cores=1)).record
    assert [e.detail for e in record.evidence if e.outcome is not Outcome.PASSED] == []
    assert len(waits.replies) == 1


def test_what_is_asked_after_the_time_for_all_probes_is_not_run(graded):
    slow = in_call("import time; time.sleep(0.2)")
    values, linear = graded(slow, "full", limits=LIMITS | {"probes_seconds": 0.4}, cores=1).evidence[:2]
    assert (values.outcome, linear.outcome) == (Outcome.PASSED, Outcome.NOT_RUN)
    assert "the time for all probes is used up" in linear.seen


def test_an_import_that_other_work_starved_is_our_failure_and_not_begun_anew(toy, submit, monkeypatch):
    tries = []

    def starved(answer) -> Reply:
        tries.append(answer)
        raise BusyMachineError("other work left the import 0.1 s of processor time in 8 s")

    monkeypatch.setattr(opening, "_first_opening", starved)
    graded = grade_with_retries(toy.workspace, submit("m", RIGHT), Options(profile=GradeProfile.REWARD))
    assert (graded.record.status, graded.record.reward) == (Status.JUDGE_ERROR, None)
    assert len(tries) == 1 and graded.reason == "tried 1 time"
    assert "other work left the import 0.1 s" in (graded.record.error or "")


@pytest.mark.parametrize("jobs", [1, 2], ids=["in this process", "in processes of their own"])
def test_what_took_all_the_time_there_is_is_not_begun_anew(tmp_path, jobs):
    tried = tmp_path / "tried"
    starve = (
        "def rows_match_the_oracle(answer, draw, *, B, D):\n    from harness.errors import BusyMachineError\n"
        f"    with open({str(tried)!r}, 'a') as tried: tried.write('.')\n"
        "    raise BusyMachineError('the machine is busy')\n"
    )
    workspace = make_workspace(
        tmp_path, probes=PROBES.replace("def rows_match_the_oracle(answer, draw, *, B, D):\n", starve)
    )
    folders = [add_submission(workspace, name, RIGHT + f"# {name}\n") for name in ("m", "n")]
    results = list(grade_all(LocalExecutor(workspace, Options(profile=GradeProfile.REWARD), jobs), folders))
    assert [r.record.status for r in results] == [Status.JUDGE_ERROR] * 2
    assert tried.read_text() == ".."


def test_an_import_that_is_starved_twice_fails_nobody(toy, submit, monkeypatch):
    """The worker is stopped from outside for most of its time, as a busy machine would have it."""
    starved = Reply(CallStatus.TIMEOUT, text="no answer within 1 s", seconds=4.0, queued=3.9, limit=1.0, starved=True)
    monkeypatch.setattr(WorkerSession, "_import", lambda self, folder: starved)
    record = grade_with_retries(toy.workspace, submit("m", RIGHT), Options(profile=GradeProfile.REWARD)).record
    assert record.status is Status.JUDGE_ERROR
    assert "other work left the import 0.0 s of processor time in 4.0 s" in (record.error or "")


def test_the_whole_grade_ends_within_the_bound_of_its_limits_and_says_so(graded, monkeypatch):
    monkeypatch.setattr(Job, "wall_seconds", 2.0)
    start = time.monotonic()
    record = graded(f"{SLEEP}\n{RIGHT}", limits={"start_seconds": 600.0})
    assert time.monotonic() - start < 2.0 + ROOM
    assert (record.cut_off, record.reward) == (True, None)
    assert "the whole grade was waited for, and not over after 2 s" in record.evidence[0].detail


@pytest.mark.parametrize("profile", ["reward", "full"])
def test_the_bound_of_a_grade_is_that_of_the_sum_of_its_limits(toy, submit, profile):
    limits = Limits()
    seconds = limits.start_seconds + limits.probes_seconds  # no criterion of this challenge is fed by tests
    with prepare_job(toy.workspace, submit("m", RIGHT), Options(profile=GradeProfile(profile))) as job:
        assert job.wall_seconds == 3 * seconds + 5 == job.deadline - job.begun
    with prepare_job(toy.workspace, submit("n", RIGHT), Options(profile=GradeProfile(profile), seconds=7.0)) as job:
        assert job.wall_seconds == 7.0
