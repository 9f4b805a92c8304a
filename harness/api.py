"""The Python API: grading for training loops; `records`, `evidence` and `scoreboard` for notebooks.

Each grade draws new inputs, runs the submission in the box, and leaves `reports/` alone unless asked to publish. All
are safe to call from many processes and threads at once.
"""

import asyncio
import logging
import os
import warnings
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from harness.errors import FilesError, HarnessError, SpecError, as_own_error, nearest
from harness.executors.base import NotGraded, grade_all
from harness.executors.registry import executor_kind, new_executor
from harness.grading.options import Options
from harness.grading.rejection import record_rejection
from harness.grading.retry import grade_with_retries
from harness.grading.submission_grade import Graded
from harness.importing.bare_files import render_submission
from harness.model import GradeProfile, Record
from harness.report.exports.data_frames import data_frame
from harness.report.exports.data_tables import evidence_table, record_table
from harness.sandbox import hash_folder, snapshot
from harness.store.own_suite import ranking_suite
from harness.store.record_store import Store
from harness.workspace import Workspace

if TYPE_CHECKING:
    import pandas

__all__ = ["Record", "evidence", "grade", "grade_many", "grade_many_async", "grade_stream", "records", "scoreboard"]

Folder = str | os.PathLike[str]
OnError = Literal["record", "raise"]
_log = logging.getLogger(__name__)


class BatchOptions(TypedDict, total=False):
    """Options for grading many folders.

    Attributes:
        jobs: parallel grades; by default the processors available to this process, or the cluster's.
        executor: "local" (default) for processes on this machine, "ray" for the nodes of a Ray cluster.
        address: address of the cluster; by default this program's or machine's, or else a new one.
        on_error: treatment of a folder that cannot be graded. "record" (default) gives it a record: of a failed build
            (reward 0) if its files are at fault, else of a judge error (reward None). "raise" raises for the first such
            folder, if possible before grading any.
        entry, seed, force, full, limits, publish, workspace, profile, criteria, seconds: as in `grade`, for all
            folders.
    """

    jobs: int | None
    executor: str
    address: str | None
    on_error: OnError
    entry: str | None
    seed: int | None
    force: bool
    full: bool
    limits: Mapping[str, float] | None
    publish: bool
    workspace: Folder | None
    profile: str
    criteria: Sequence[str]
    seconds: float | None


def grade(
    folder: Folder,
    challenge: str | None = None,
    *,
    entry: str | None = None,
    seed: int | None = None,
    force: bool = False,
    full: bool = False,
    limits: Mapping[str, float] | None = None,
    publish: bool = False,
    workspace: Folder | None = None,
    profile: str = "full",
    criteria: Sequence[str] = (),
    seconds: float | None = None,
) -> Record:
    """Grade one submission.

    Args:
        folder: the submission's files. Without a submission.toml, a copy gets one from `challenge` and `entry`.
        challenge: id of the challenge; by default that in submission.toml.
        entry: module with the contract's functions, for a folder without submission.toml; by default its only .py file.
        seed: fixed seed of the inputs. Omit it in training: a model that can learn the inputs can learn the outputs.
        force: grade again even if the same files were graded on this machine before.
        full: run the submission's own tests without a time limit.
        limits: overrides of the challenge's limits, such as `{"call_seconds": 2.0}`.
        publish: keep the record under reports/records/ for `harness report`; needs the profile "full".
        workspace: folder with challenges/; by default found from the current folder.
        profile: "full"; "correctness" for the criteria that gate marks; "reward" for a brief form of these.
        criteria: ids of criteria to run instead of the profile's; the anchor always runs.
        seconds: wall time after which the grade is cut off, with reward None.

    Returns:
        The record. A submission that does not build, crashes or hangs has one too; files that cannot be graded (a link,
        a special file, too many bytes) have reward 0. If our side fails repeatedly, the status is `judge_error`,
        without marks. Failed writes are a `RuntimeWarning`. Weaker isolation than the machine is set up for is logged
        once, with its reason in the record.

    Raises:
        SpecError: the submission.toml is malformed, the entry is ambiguous, or an argument is wrong.
        NotFoundError: there is no such challenge, or no workspace.
        PrerequisiteError: the machine lacks something that the challenge needs.
        JudgeError: nothing could be graded here at all.
    """
    place = _workspace(workspace)
    options = _options(seed, force, full, limits, publish, profile, criteria, seconds)
    try:
        with _submission(place, Path(folder), challenge, entry) as submission:
            return _record(grade_with_retries(place, submission, options))
    except FilesError as error:
        return record_rejection(place, Path(folder), error, options, challenge)


def grade_many(
    folders: Iterable[Folder], challenge: str | None = None, **options: Unpack[BatchOptions]
) -> list[Record]:
    """Grade many submissions in parallel.

    Args:
        challenge: as in `grade`, for all folders.
        **options: see `BatchOptions`.

    Returns:
        One record per folder, in order, as from `grade`.

    Raises:
        NotFoundError: unknown challenge, or no workspace.
        HarnessError: with `on_error="raise"`, the first folder that cannot be graded; the next call reuses finished
            grades.
    """
    return list(grade_stream(folders, challenge, **options))


def grade_stream(
    folders: Iterable[Folder], challenge: str | None = None, **options: Unpack[BatchOptions]
) -> Generator[Record, None, None]:
    """Yield the records of `grade_many` in order, each as soon as it is ready.

    Closing the generator stops the grades still running.
    """
    return _stream(folders, challenge, **options)


async def grade_many_async(
    folders: Iterable[Folder], challenge: str | None = None, **options: Unpack[BatchOptions]
) -> list[Record]:
    """Grade as `grade_many` does, without blocking the event loop; cancellation stops the grading."""
    async with aclosing(_iterate_in_thread(grade_stream(folders, challenge, **options))) as records:
        return [record async for record in records]


async def _iterate_in_thread(records: Generator[Record, None, None]) -> AsyncGenerator[Record, None]:
    waiting: asyncio.Future[Record | None] | None = None
    try:
        while True:
            waiting = asyncio.ensure_future(asyncio.to_thread(next, records, None))
            record = await asyncio.shield(waiting)
            if record is None:
                return
            yield record
    finally:
        if waiting is not None:
            await asyncio.wait([waiting])  # a running generator cannot be closed
        await asyncio.to_thread(records.close)


def _stream(
    folders: Iterable[Folder],
    challenge: str | None,
    *,
    jobs: int | None = None,
    executor: str = "local",
    address: str | None = None,
    on_error: OnError = "record",
    entry: str | None = None,
    workspace: Folder | None = None,
    seed: int | None = None,
    force: bool = False,
    full: bool = False,
    limits: Mapping[str, float] | None = None,
    publish: bool = False,
    profile: str = "full",
    criteria: Sequence[str] = (),
    seconds: float | None = None,
) -> Generator[Record, None, None]:
    place = _workspace(workspace)
    options = _options(seed, force, full, limits, publish, profile, criteria, seconds)
    if challenge is not None:
        place.challenge(challenge)  # raises for a mistake in the call, before any folder is graded
    runner = new_executor(executor, place, options, jobs or executor_kind(executor).batch(), address)
    batch = _Batch(place, options, challenge, entry, on_error)
    with ExitStack() as stack:
        submissions = [batch.lay_out(stack, Path(folder)) for folder in folders]
        distinct = list(dict.fromkeys(s for s in submissions if isinstance(s, Path)))
        results = stack.enter_context(closing(grade_all(runner, distinct)))
        done: dict[Path, Record] = {}
        left = Counter(s for s in submissions if isinstance(s, Path))
        for submission in submissions:
            if isinstance(submission, Record):
                yield submission
                continue
            while submission not in done:
                result = next(results)
                done[result.folder] = batch.record(result)
            left[submission] -= 1
            # of thousands of records, keep only those still to be yielded
            yield done[submission] if left[submission] else done.pop(submission)


@dataclass(frozen=True)
class _Batch:
    workspace: Workspace
    options: Options
    challenge: str | None
    entry: str | None
    on_error: OnError

    def lay_out(self, stack: ExitStack, folder: Path) -> Path | Record:
        """Return the submission in a folder, kept as long as `stack`, or the record of a failure."""
        try:
            return stack.enter_context(_submission(self.workspace, folder, self.challenge, self.entry))
        except Exception as error:
            return self._reject(folder, as_own_error(error, folder))

    def record(self, result: Graded | NotGraded) -> Record:
        if isinstance(result, Graded):
            return _record(result)
        return self._reject(result.folder, result.error)

    def _reject(self, folder: Path, error: HarnessError) -> Record:
        if self.on_error == "raise":
            raise error
        return record_rejection(self.workspace, folder, error, self.options, self.challenge)


def _options(
    seed: int | None,
    force: bool,
    full: bool,
    limits: Mapping[str, float] | None,
    publish: bool,
    profile: str,
    criteria: Sequence[str],
    seconds: float | None,
) -> Options:
    if profile not in list(GradeProfile):
        known = ", ".join(GradeProfile)
        raise SpecError(
            "profile", f"is {profile!r}{nearest(profile, map(str, GradeProfile))}", hint=f"profiles are {known}"
        )
    if isinstance(criteria, str):
        raise SpecError("criteria", f"is the text {criteria!r}; give a list of ids")
    return Options(
        seed, force, full, limits or {}, publish, profile=GradeProfile(profile), only=tuple(criteria), seconds=seconds
    )


def records(workspace: Folder | None = None) -> "pandas.DataFrame":
    """Return the published records, one row per grade; docs/data.md describes the columns.

    Unreadable and untrusted records are left out, with a `logging` warning.

    Args:
        workspace: folder with challenges/ or harness.toml; found from the current folder by default.

    Raises:
        NotFoundError: there is no workspace.
    """
    published = Store(_workspace(workspace)).published.read()
    return data_frame(record_table(published.records, published.doubts))


def evidence(workspace: Folder | None = None) -> "pandas.DataFrame":
    """Return the published evidence, one row per criterion of a grade; see `records`."""
    published = Store(_workspace(workspace)).published.read()
    return data_frame(evidence_table(published.records, published.doubts))


def scoreboard(workspace: Folder | None = None, suite: str | None = None) -> "pandas.DataFrame":
    """Return the board of measured marks, best model first, with a column for the overall on each challenge.

    Args:
        workspace: as in `records`.
        suite: challenges to rank over, as in `harness scoreboard --suite`; the workspace's own choice by default.

    Raises:
        NotFoundError: there is no workspace, or no such suite.
    """
    # loaded here: grading needs no boards
    import pandas

    from harness.report.views.board.scoreboard import measured_scoreboard

    place = _workspace(workspace)
    board = measured_scoreboard(Store(place).published.read_marks(), ranking_suite(place, suite))
    rows = [(row.standing, {e.challenge: e.overall.score for e in row.entries if e.overall}) for row in board.rows]
    own = {"rank": "Int64", "medal": "string", "model": "string", "mean": "float64", "graded": "Int64"}
    columns = {n: pandas.Series([getattr(s, n) for s, _ in rows], dtype=dtype) for n, dtype in own.items()}
    for challenge in board.challenges:
        columns[challenge.id] = pandas.Series([marks.get(challenge.id) for _, marks in rows], dtype="float64")
    return pandas.DataFrame(columns)


def _record(graded: Graded) -> Record:
    if graded.save_error:
        warnings.warn(graded.save_error, RuntimeWarning, stacklevel=3)
    for warning in graded.record.environment.warnings:
        _warn_once(warning)
    return graded.record


@cache
def _warn_once(warning: str) -> None:
    _log.warning("note: %s; harness doctor says more", warning)


def _workspace(folder: Folder | None) -> Workspace:
    if folder is None:
        return Workspace.find()
    return Workspace.at(Path(folder))


@contextmanager
def _submission(workspace: Workspace, folder: Path, challenge: str | None, entry: str | None) -> Iterator[Path]:
    """Yield the folder itself if it has a valid submission.toml, else a copy with one."""
    if not folder.is_dir():
        raise SpecError(folder, "is no folder")
    if challenge is None or (folder / "submission.toml").exists():
        about = workspace.submission(folder).about
        if challenge not in (None, about.challenge):
            path = folder / "submission.toml"
            raise SpecError(path, f"is {about.challenge!r}, not {challenge!r}", field="submission.challenge")
        hash_folder(folder)  # refuse ungradable files before any grading
        yield folder
        return
    with snapshot(folder) as copy:
        stated = render_submission(folder, workspace.challenge(challenge), entry, copy.hashes)
        (copy.path / "submission.toml").write_bytes(stated.encode(errors="backslashreplace"))
        workspace.submission(copy.path)
        yield copy.path
