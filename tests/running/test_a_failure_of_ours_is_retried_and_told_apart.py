"""A failure of our own is tried again, and then recorded apart from all marks: it never counts against an answer."""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import BoxError, HarnessError, JudgeError, PrerequisiteError, SpecError, StoreError
from harness.executors.base import grade_all
from harness.executors.local import LocalExecutor
from harness.grading import retry as retrying
from harness.grading.options import Options
from harness.grading.retry import RETRIES, grade_with_retries
from harness.grading.submission_grade import grade_one
from harness.model import Outcome, Record, Status
from harness.workspace.stored_files import read_stored

FORCED = Options(force=True)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "PAUSE", 0.0)


class Failing:
    """Grades, but for the first `times` attempts, which end in `error`."""

    def __init__(self, times: int, error: HarnessError) -> None:
        self.times, self.error, self.attempts = times, error, 0

    def __call__(self, *given):
        self.attempts += 1
        if self.attempts <= self.times:
            raise self.error
        return grade_one(*given)


@pytest.mark.parametrize("times", [1, RETRIES])
def test_a_failure_that_passes_costs_nothing_and_is_told(toy, submit, times):
    folder, attempt = submit("m", toy.source()), Failing(times, BoxError("no room\nfor a worker"))
    stages: list[str] = []
    graded = grade_with_retries(toy.workspace, folder, Options(), stages.append, attempt)
    assert graded.record.overall.score == 100 and attempt.attempts == times + 1
    assert f"attempt {times + 1} of {RETRIES + 1}, after: no room" in stages
    assert graded.reason.endswith(f"at attempt {times + 1}, after: no room")


def test_a_failure_that_stays_is_recorded_without_any_mark(toy, submit):
    folder, attempt = submit("m", "def nothing(): pass"), Failing(99, BoxError("no room"))
    graded = grade_with_retries(toy.workspace, folder, Options(), attempt=attempt)
    assert attempt.attempts == RETRIES + 1 == 4
    published = read_stored(toy.workspace.record_path("m", "scaled_sum"), Record)
    assert published == graded.record
    assert (published.status, published.error) == (Status.JUDGE_ERROR, "no room\n  tried 4 times")
    assert {e.outcome for e in published.evidence} == {Outcome.JUDGE_ERROR}
    assert (published.overall.score, published.overall.low, published.overall.high) == (None, 0, 100)
    assert not published.findings and not published.gates
    assert grade_one(toy.workspace, folder).record.status is Status.BUILD_FAILED, "and is never reused"


@pytest.mark.parametrize("error", [SpecError("x", "is odd"), PrerequisiteError("no GPU"), StoreError("no")], ids=repr)
def test_what_trying_again_cannot_help_is_not_tried_again(toy, submit, error):
    attempt = Failing(1, error)
    with pytest.raises(type(error)):
        grade_with_retries(toy.workspace, submit("m", toy.source()), Options(), attempt=attempt)
    assert attempt.attempts == 1


def test_a_mistake_of_ours_that_nobody_foresaw_is_a_failure_of_ours(toy, submit):
    def stage(name: str) -> None:
        if name == "values":
            raise ZeroDivisionError("ours")

    with pytest.raises(JudgeError, match="ZeroDivisionError: ours"):
        grade_one(toy.workspace, submit("m", toy.source()), Options(), stage)


def test_a_failure_of_ours_does_not_displace_the_finished_grade_of_the_same_files(toy, submit):
    folder = submit("m", toy.source())
    finished = grade_one(toy.workspace, folder).record
    path = toy.workspace.record_path("m", "scaled_sum")
    failing = Failing(99, BoxError("no room"))
    failed = grade_with_retries(toy.workspace, folder, FORCED, attempt=failing).record
    assert failed.status is Status.JUDGE_ERROR and read_stored(path, Record) == finished
    (folder / "answer.py").write_text(toy.source() + "\n# changed\n")
    failed = grade_with_retries(toy.workspace, folder, FORCED, attempt=failing).record
    assert read_stored(path, Record) == failed


def breaking(toy, times: int) -> None:
    """Let the probe of `linear` break in its first `times` runs."""
    path = toy.workspace.challenge_folder("scaled_sum") / "probes.py"
    count = toy.workspace.root / "count"
    count.write_text("0")
    fault = (
        f"def doubling_doubles(answer, draw, *, B, D):\n    import pathlib\n    count = pathlib.Path({str(count)!r})\n"
        f"    n = int(count.read_text()) + 1\n    count.write_text(str(n))\n    assert n > {times}, 'ours'\n"
    )
    path.write_text(path.read_text().replace("def doubling_doubles(answer, draw, *, B, D):\n", fault))


def test_a_probe_that_breaks_has_one_more_chance(toy, submit):
    breaking(toy, 1)
    stages: list[str] = []
    record = grade_one(toy.workspace, submit("m", toy.source()), Options(), stages.append).record
    assert record.status is Status.GRADED and record.overall.score == 100
    assert "linear, again: the probe failed: AssertionError: ours" in stages


def test_a_probe_that_breaks_twice_costs_its_criterion_only(toy, submit):
    breaking(toy, 99)
    record = grade_with_retries(toy.workspace, submit("m", toy.source()), Options()).record
    values, linear = record.evidence
    assert (values.outcome, linear.outcome) == (Outcome.PASSED, Outcome.JUDGE_ERROR)
    assert record.status is Status.JUDGE_ERROR and "AssertionError: ours; twice on the same inputs" in record.error
    assert (toy.workspace.root / "count").read_text() == "2", "a mistake that repeats itself needs no third run"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("error", [BoxError, PrerequisiteError])
def test_it_is_the_same_in_a_process_of_its_own(toy, submit, jobs, error):
    path = toy.workspace.challenge_folder("scaled_sum") / "probes.py"
    fault = f"raise __import__('harness.errors').errors.{error.__name__}('ours')\n    x = draw"
    path.write_text(path.read_text().replace("x = draw", fault))
    folders = [submit("a", toy.source()), submit("b", toy.source())]
    results = list(grade_all(LocalExecutor(toy.workspace, Options(), jobs), folders))
    if error is BoxError:
        assert [r.record.error for r in results] == ["ours\n  tried 4 times"] * 2
    else:
        assert [(type(r.error), str(r.error)) for r in results] == [(PrerequisiteError, "ours")] * 2


def processes(words: str) -> list[int]:
    """Children of this process whose command line holds `words`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and words in (entry / "cmdline").read_text():
                found.append(int(entry.name))
    return found


def killing(times: int) -> Callable[[Path, str], None]:
    """Progress that kills the grading processes at the first word of `bad`, long before its grade is done."""
    killed: list[int] = []

    def progress(folder: Path, stage: str) -> None:
        if folder.parent.name == "bad" and len(killed) < times:
            killed.append(1)
            for pid in processes("harness.executors.grading_process"):
                os.kill(pid, signal.SIGKILL)

    return progress


def test_a_lost_grading_process_is_a_failure_that_passes(toy, submit):
    folders = [submit("bad", toy.source()), submit("good", toy.source())]
    results = list(grade_all(LocalExecutor(toy.workspace, Options(), 2), folders, killing(1)))
    assert [r.record.overall.score for r in results] == [100, 100]
    assert any("the grading process ended" in r.reason for r in results)
    assert not processes("harness.executors.grading_process")


def test_files_that_somebody_cleans_away_are_not_the_answers_fault(toy, submit, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone: list[Path] = []

    def clean(stage: str) -> None:
        if stage == "building" and not gone:
            for copy in tmp_path.glob("harness-*/answer.py"):
                gone.append(copy)
                copy.unlink()

    graded = grade_with_retries(toy.workspace, submit("m", toy.source()), Options(), clean)
    assert gone and graded.record.overall.score == 100
    assert "at attempt 2, after" in graded.reason


def test_a_mistake_beside_a_grading_process_ends_the_wait_for_its_result(toy, submit, monkeypatch):
    """A folder without a result would keep the whole run waiting."""

    def broken(*given):
        raise TypeError("ours")

    monkeypatch.setattr("harness.executors.local.grade_with_retries", broken)
    folders = [submit("a", toy.source()), submit("b", toy.source())]
    results = list(grade_all(LocalExecutor(toy.workspace, Options(), 2), folders))
    assert sorted(str(r.error) for r in results) == sorted(f"{folder}: TypeError: ours" for folder in folders)
