"""A busy machine fails no suite: what got too little time is run once more alone, and else left open."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.model import Criterion, Outcome, Severity, Submission
from harness.quality import boxed_suite, own_tests
from harness.quality.evidence import own_tests_evidence
from harness.quality.own_tests import SuiteStatus, grade_own_tests
from harness.sandbox import Completed, detect, run
from harness.sandbox.accounting.wall_bound import wall_bound
from harness.sandbox.session.command import CommandLimit
from harness.timing import exclusive

COMMAND = ("python", "-m", "pytest", "-q")
FILES = {"kernel": "def twice(x):\n    return x + x\n", "test_kernel": "from kernel import twice\n\n\ndef test_it():\n"}
RIGHT = FILES | {"test_kernel": FILES["test_kernel"] + "    assert twice(3) == 6\n"}


def ended(end: str) -> Completed:
    """The suite's server, with a first run that ended in a way of its own."""
    line = f'{{"run": 0, "end": "{end}", "status": null, "processor_seconds": 0.1}}\n'
    return Completed(0, "", line.encode(), 60.0, 0.2)


STARVED = {
    "a run that got no turn": ended("idle"),
    "a run that got too few turns": ended("cut"),
    "a server that got too few turns": Completed(None, "", b"", 6000.0, 0.1, CommandLimit.WALL_CLOCK),
}


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    """Locks of this test's own, in processes that it starts too: no other grade of the machine is waited for."""
    monkeypatch.setenv(exclusive.FOLDER, str(tmp_path))


@pytest.fixture
def asked(request, monkeypatch) -> list[Completed]:
    """The first server ends as the test's parameter says, later ones run; lists how each ended."""
    found = []

    def first_starved(*words, **options) -> Completed:
        found.append(run(*words, **options) if found else STARVED[request.param])
        return found[-1]

    monkeypatch.setattr(boxed_suite, "run_in_box", first_starved)
    return found


@contextmanager
def another_grade() -> Iterator[None]:
    """Work of another grade that does not end."""
    code = (
        "from harness.timing.exclusive import beside_others as held\nwith held():\n    print(flush=True)\n    input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline()
        yield
        other.communicate(b"\n")


@pytest.mark.parametrize("asked", STARVED, indirect=True)
def test_a_starved_suite_is_run_once_more_alone(answer, asked):
    result = grade_own_tests(answer(**RIGHT), COMMAND, tier=detect(), entries=("kernel.py",))
    assert result.status is SuiteStatus.PASSED and result.kill_rate is not None
    halves = min(2, len(os.sched_getaffinity(0)))
    assert len(asked) == 3 + halves  # the starved one, the same alone, the copies that must fail, the mutants


@pytest.mark.parametrize("asked", STARVED, indirect=True)
def test_a_suite_that_cannot_be_run_alone_is_left_open(answer, asked, monkeypatch):
    monkeypatch.setattr(own_tests, "alone", lambda wait: exclusive.alone(0.2))
    about = {"dimension": "tests", "severity": Severity.MAJOR, "title": "The suite is good."}
    criteria = [Criterion(id=name, tests=name, **about) for name in ("suite_passes", "kill_rate")]
    submission = Submission.model_validate(
        {
            "submission": {"model": "m", "challenge": "c", "entry": "kernel.py", "provenance": "model-output"},
            "tests": {"command": COMMAND},
        }
    )
    with another_grade():
        found = own_tests_evidence(criteria, submission, answer(**RIGHT), detect(), seed=7)
    assert len(asked) == 1
    assert {item.outcome for item in found.values()} == {Outcome.NOT_RUN}
    assert all(own_tests.TOO_BUSY in item.detail for item in found.values())


HANGING = {
    "a suite": (RIGHT | {"test_kernel": FILES["test_kernel"] + "    import time; time.sleep(1e6)\n"}, SuiteStatus.SLOW),
    "a faulty kernel": (
        {
            "kernel": "import time\n\n\ndef twice(x):\n    if x + x != 6:\n        time.sleep(1e6)\n    return x + x\n",
            "test_kernel": RIGHT["test_kernel"],
        },
        SuiteStatus.PASSED,
    ),
}


@pytest.mark.parametrize("what", HANGING)
def test_all_runs_of_a_suite_that_waits_end_within_one_bound(answer, what):
    files, status = HANGING[what]
    start = time.monotonic()
    result = grade_own_tests(answer(**files), COMMAND, tier=detect(), entries=("kernel.py",), seconds=4.0)
    assert time.monotonic() - start < wall_bound(4.0) + 15  # what starts and ends its sandboxes on a busy machine
    assert result.status in (status, SuiteStatus.UNDECIDED)
