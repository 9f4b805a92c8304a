"""A process that grades for the server, and keeps a grade's memory and damage out of it."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from harness import interpreter
from harness.grading.linear_algebra import compute_in_one_thread
from harness.grading.process_hardening import make_undumpable
from harness.sandbox.inside import process_control

if TYPE_CHECKING:
    from harness.executors.base import Executor, NotGraded
    from harness.grading.options import Options
    from harness.grading.submission_grade import Graded
    from harness.model import Record
    from harness.serving.requests import GradeRequest
    from harness.workspace import Workspace

LEAVE_SECONDS = 10
"""Seconds that a process has to exit after SIGTERM."""


@dataclass(frozen=True)
class GraderSettings:
    """Executor of the grades, and its options.

    Attributes:
        jobs: submissions that each grader grades at a time; None for one per processor of the cluster.
        address: cluster's address; None for this machine's.
    """

    executor: str = "local"
    jobs: int | None = 1
    address: str | None = None

    @property
    def clustered(self) -> bool:
        """True if a single grader spreads submissions over machines."""
        from harness.executors.registry import executor_kind

        return executor_kind(self.executor).enter is not None


class HeldExecutor:
    """Executor that outlives a group; a cluster's is kept while the options stay the same.

    Raises:
        PrerequisiteError: the address has no cluster.
    """

    def __init__(self, workspace: "Workspace", settings: GraderSettings) -> None:
        from harness.executors.registry import executor_kind

        self._workspace, self._settings = workspace, settings
        self._executor: Executor | None = None
        self._options: Options | None = None
        if enter := executor_kind(settings.executor).enter:
            enter(settings.address)

    def results(self, options: "Options", folders: Sequence[Path]) -> "Iterator[Graded | NotGraded]":
        """Yield one result per folder, in the order they finish.

        Raises:
            PrerequisiteError: grading is impossible now; finished grades are kept.
        """
        from harness.executors.registry import new_executor

        if self._executor is None or options != self._options or not self._settings.clustered:
            self.close()
            given = (self._settings.executor, self._workspace, options, self._settings.jobs, self._settings.address)
            self._executor, self._options = new_executor(*given), options
        try:
            for folder in folders:
                self._executor.submit(folder)
            yield from self._executor.results(lambda folder, stage: None)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Cancel running grades and release the nodes."""
        if self._executor is not None:
            self._executor.cancel()
        self._executor = None


def records(
    workspace: "Workspace", executor: HeldExecutor, requests: "Sequence[GradeRequest]"
) -> "Iterator[tuple[int, Record, bool]]":
    """Yield (index, record, reused) for each request, as the grades finish.

    A request that cannot be graded has a record with the reason. All options are equal.

    Raises:
        PrerequisiteError: grading is impossible now.
    """
    from harness.errors import as_own_error
    from harness.executors.base import NotGraded
    from harness.grading.rejection import record_rejection
    from harness.sandbox.confinement import scratch
    from harness.serving.answers import lay_out

    options = replace(requests[0].options, cores=1)  # each processor has a slot of its own
    with contextlib.ExitStack() as stack:
        places: dict[Path, int] = {}
        for place, request in enumerate(requests):
            folder = stack.enter_context(scratch.folder()) / request.model / request.challenge
            folder.mkdir(parents=True)
            try:
                lay_out(workspace, request, folder)
                places[folder] = place
            except Exception as error:
                own = as_own_error(error, "the answer")
                yield place, record_rejection(workspace, folder, own, options, request.challenge), False
        for result in executor.results(options, list(places)):
            place = places[result.folder]
            if isinstance(result, NotGraded):
                challenge = requests[place].challenge
                yield place, record_rejection(workspace, result.folder, result.error, options, challenge), False
            else:
                yield place, result.record, result.reused


def serve(answers: TextIO, workspace: "Workspace", settings: GraderSettings) -> None:
    """Report whether this machine can isolate submissions, then grade groups of requests from standard input."""
    from harness.errors import HarnessError, PrerequisiteError
    from harness.sandbox.self_test import assert_holds
    from harness.sandbox.session.tiers import choose

    def say(**message: object) -> None:
        print(json.dumps(message), file=answers, flush=True)

    try:
        isolation = choose()
        assert_holds(isolation.tier)
        executor = HeldExecutor(workspace, settings)
        signal.signal(signal.SIGTERM, _leave)  # after HeldExecutor: Ray installs a handler of its own
        say(ready=isolation.tier, warning=isolation.warning)
    except HarnessError as error:
        say(unready=str(error))
        return
    try:
        for line in sys.stdin:
            group = json.loads(line)
            for place, record, reused in grade_group(workspace, executor, group["requests"], group["lost"]):
                seconds = 0.0 if reused else sum(spent for stage, spent in record.seconds.items() if stage != "box")
                text = without_places(_strip_reasons(record).to_json())
                say(place=place, record=text, status=record.status, seconds=seconds, reused=reused)
    except PrerequisiteError as error:
        say(unready=str(error))
    finally:
        executor.close()


def grade_group(
    workspace: "Workspace", executor: HeldExecutor, texts: "Sequence[str]", lost: str
) -> "Iterator[tuple[int, Record, bool]]":
    """Yield one record per request, even after a failure of ours: the next grader would fail on it again.

    Args:
        texts: requests as JSON.
        lost: reason to give all up, or "".

    Raises:
        PrerequisiteError: grading is impossible now; the next grader should do the rest.
    """
    from harness.errors import JudgeError, PrerequisiteError
    from harness.grading.options import Options
    from harness.grading.rejection import record_rejection
    from harness.serving.requests import GradeRequest

    left = dict(enumerate(texts))
    try:
        if lost:
            raise JudgeError(lost)
        for place, record, reused in records(workspace, executor, [GradeRequest.model_validate_json(t) for t in texts]):
            del left[place]
            yield place, record, reused
    except PrerequisiteError:
        raise
    except Exception as error:  # a bug of ours, or a request that another version accepted
        failed = error if isinstance(error, JudgeError) else JudgeError(f"{type(error).__name__}: {error}")
        for place, text in left.items():
            challenge = json.loads(text).get("challenge")
            yield place, record_rejection(workspace, Path("answer"), failed, Options(), challenge), False


def _strip_reasons(record: "Record") -> "Record":
    """Cut failure texts, which name paths of this machine, to their causes."""
    where = record.environment
    unused = where.unused_tiers and tuple(u.model_copy(update={"reason": u.cause.value}) for u in where.unused_tiers)
    update = {"unused_tiers": unused, "passed_over": where.passed_over.partition(":")[0]}
    return record.model_copy(update={"environment": where.model_copy(update=update)})


def without_places(text: str) -> str:
    """Replace paths of temporary folders in a record's JSON by "answer"."""
    import re
    import tempfile

    return re.sub(rf"{re.escape(tempfile.gettempdir())}/harness-[\w.-]+(?:/[a-z0-9._-]+)?(?:/[\w.-]+)?", "answer", text)


def _end_with(parent: int) -> None:
    signal.signal(signal.SIGTERM, _leave)
    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # the parent exited before prctl took effect
        sys.exit(143)


def _leave(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LEAVE_SECONDS)
    sys.exit(143)


def command(root: Path, settings: GraderSettings) -> list[str]:
    """Return the command that starts a grader as a child of this process."""
    # -P keeps the current folder off the import path
    program = [interpreter.EXECUTABLE, "-P", "-m", "harness.serving.slot_process"]
    return [*program, os.fspath(root), json.dumps(asdict(settings)), str(os.getpid())]


def _main(root: str, settings: str, parent: str) -> None:
    _end_with(int(parent))
    make_undumpable()
    compute_in_one_thread()
    from harness.workspace import Workspace

    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # a probe's prints must not mix with the messages
        serve(answers, Workspace(Path(root)), GraderSettings(**json.loads(settings)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
