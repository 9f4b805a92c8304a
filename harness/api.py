"""From Python: grading for training loops, `records` and `evidence` for notebooks.

`grade` grades one folder; `grade_many`, `grade_stream` and `grade_many_async` grade many. All draw their inputs anew
for every grade, run the answer in the box, and write nothing under `reports/` unless asked to. They may be called from
many processes and threads at once.
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
from harness.importing.bare_files import stated_submission
from harness.model import GradeProfile, Record
from harness.report.data_frames import data_frame
from harness.report.data_tables import evidence_table, record_table
from harness.running.executor import NotGraded, grade_all
from harness.running.executors import executor_kind, new_executor
from harness.running.options import Options
from harness.running.rejected import rejected
from harness.running.retry import grade_with_retries
from harness.running.store import Store
from harness.running.submission_grade import Graded
from harness.sandbox import hash_folder, snapshot
from harness.workspace import Workspace

if TYPE_CHECKING:
    import pandas

__all__ = ["Record", "evidence", "grade", "grade_many", "grade_many_async", "grade_stream", "records"]

Folder = str | os.PathLike[str]
OnError = Literal["record", "raise"]
_log = logging.getLogger(__name__)


class BatchOptions(TypedDict, total=False):
    """What the functions that grade many take besides the folders and the challenge.

    Attributes:
        jobs: how many at a time; the number of processors this process may use by default, or of the cluster.
        executor: "local", the default, for this machine's processes; "ray" for the nodes of a Ray cluster.
        address: of the cluster; by default the one that this program or this machine is in, or else a new one.
        on_error: what becomes of a folder that cannot be graded at all. "record", the default: it has a record like
            any other, of an answer that does not build where its files are at fault (reward 0), else of a judge error
            (reward None). "raise": the first such folder is an exception, before anything is graded where that shows.
        entry, seed, force, full, limits, publish, workspace, profile, criteria, seconds: as for `grade`, the same for
            all.
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
        folder: its files; without a submission.toml one is made up from `challenge` and `entry`, for a copy.
        challenge: id of the challenge; what submission.toml says by default.
        entry: module with the contract's functions, for a folder without submission.toml; by default its only .py file.
        seed: fixes the inputs. Leave it out in training: an answer that can learn the inputs can learn the outputs.
        force: grade anew although the same files were graded on this machine before.
        full: run the answer's own tests without a bound on their time.
        limits: overrides of the challenge's limits by name, such as `{"call_seconds": 2.0}`.
        publish: keep the record under reports/records/ for `harness report`; only one of the profile "full" is.
        workspace: folder that holds challenges/; found from the current folder by default.
        profile: "full"; "correctness", the criteria that gate marks; "reward", the same in brief.
        criteria: ids of the criteria to run in place of the profile's own; the anchor always is.
        seconds: wall time after which the grade is cut off; its reward is then None.

    Returns:
        The record. A submission that does not build, crashes or hangs has one too, and so has one whose files are none
        that can be graded (a link, a special file, too many bytes): its reward is 0. Where our own side failed, again
        and again, its status is `judge_error` and it has no marks. What could not be written is a `RuntimeWarning`; a
        weaker tier of isolation than this machine is set up for is logged once, with its reason in the record.

    Raises:
        SpecError: the submission.toml is malformed, it cannot be told which file is the entry, or an argument is wrong.
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
        return rejected(place, Path(folder), error, options, challenge)


def grade_many(
    folders: Iterable[Folder], challenge: str | None = None, **options: Unpack[BatchOptions]
) -> list[Record]:
    """Grade many submissions, several at a time.

    Args:
        folders: the submissions.
        challenge: as for `grade`, the same for all.
        **options: see `BatchOptions`.

    Returns:
        One record for each folder, in their order, as `grade` gives it.

    Raises:
        NotFoundError: there is no such challenge, or no workspace.
        HarnessError: with `on_error="raise"`, the first folder that cannot be graded; finished grades are kept and
            reused by the next call.
    """
    return list(grade_stream(folders, challenge, **options))


def grade_stream(
    folders: Iterable[Folder], challenge: str | None = None, **options: Unpack[BatchOptions]
) -> Generator[Record, None, None]:
    """As `grade_many`, one record after the other: each as soon as it and all before it are done.

    Closing the generator stops what still runs.
    """
    return _stream(folders, challenge, **options)


async def grade_many_async(
    folders: Iterable[Folder], challenge: str | None = None, **options: Unpack[BatchOptions]
) -> list[Record]:
    """As `grade_many`, without keeping the event loop from other work. Where it is cancelled, grading stops."""
    async with aclosing(_in_thread(grade_stream(folders, challenge, **options))) as records:
        return [record async for record in records]


async def _in_thread(records: Generator[Record, None, None]) -> AsyncGenerator[Record, None]:
    """What a generator yields, each waited for in a thread."""
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
            await asyncio.wait([waiting])  # a generator cannot be closed while it runs
        await asyncio.to_thread(records.close)


def _stream(
    folders: Iterable[Folder], challenge: str | None, *, jobs: int | None = None, executor: str = "local",
    address: str | None = None, on_error: OnError = "record",
    entry: str | None = None, workspace: Folder | None = None, seed: int | None = None, force: bool = False,
    full: bool = False, limits: Mapping[str, float] | None = None, publish: bool = False, profile: str = "full",
    criteria: Sequence[str] = (), seconds: float | None = None,
) -> Generator[Record, None, None]:  # fmt: skip
    place = _workspace(workspace)
    options = _options(seed, force, full, limits, publish, profile, criteria, seconds)
    if challenge is not None:
        place.challenge(challenge)  # a mistake of the call, not of a folder
    runner = new_executor(executor, place, options, jobs or executor_kind(executor).batch(), address)
    batch = _Batch(place, options, challenge, entry, on_error)
    with ExitStack() as stack:
        submissions = [batch.laid_out(stack, Path(folder)) for folder in folders]
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
            # of thousands of records only those are held that wait for one before them
            yield done[submission] if left[submission] else done.pop(submission)


@dataclass(frozen=True)
class _Batch:
    """What holds for all folders of a batch."""

    workspace: Workspace
    options: Options
    challenge: str | None
    entry: str | None
    on_error: OnError

    def laid_out(self, stack: ExitStack, folder: Path) -> Path | Record:
        """The submission in a folder, kept as long as `stack`; its record where there is none."""
        try:
            return stack.enter_context(_submission(self.workspace, folder, self.challenge, self.entry))
        except Exception as error:
            return self._rejected(folder, as_own_error(error, folder))

    def record(self, result: Graded | NotGraded) -> Record:
        """The record of a result."""
        if isinstance(result, Graded):
            return _record(result)
        return self._rejected(result.folder, result.error)

    def _rejected(self, folder: Path, error: HarnessError) -> Record:
        if self.on_error == "raise":
            raise error
        return rejected(self.workspace, folder, error, self.options, self.challenge)


def _options(
    seed: int | None, force: bool, full: bool, limits: Mapping[str, float] | None, publish: bool, profile: str,
    criteria: Sequence[str], seconds: float | None,
) -> Options:  # fmt: skip
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
    """The published records, one row a grade; docs/data.md describes the columns.

    One that cannot be read, or be believed, is left out with a warning of `logging`.

    Args:
        workspace: folder that holds challenges/ or harness.toml; found from the current folder by default.

    Raises:
        NotFoundError: no workspace.
    """
    published = Store(_workspace(workspace)).published.read()
    return data_frame(record_table(published.records, published.doubts))


def evidence(workspace: Folder | None = None) -> "pandas.DataFrame":
    """The evidence of the published records, one row a criterion of a grade; docs/data.md describes the columns.

    One that cannot be read, or be believed, is left out with a warning of `logging`.

    Args:
        workspace: folder that holds challenges/ or harness.toml; found from the current folder by default.

    Raises:
        NotFoundError: no workspace.
    """
    published = Store(_workspace(workspace)).published.read()
    return data_frame(evidence_table(published.records, published.doubts))


def _record(graded: Graded) -> Record:
    if graded.save_error:
        warnings.warn(graded.save_error, RuntimeWarning, stacklevel=3)
    for warning in graded.record.environment.warnings:
        _warn_once(warning)
    return graded.record


@cache
def _warn_once(warning: str) -> None:
    """Log what a user should know of the machine, once a process."""
    _log.warning("note: %s; harness doctor says more", warning)


def _workspace(folder: Folder | None) -> Workspace:
    if folder is None:
        return Workspace.find()
    return Workspace.at(Path(folder))


@contextmanager
def _submission(workspace: Workspace, folder: Path, challenge: str | None, entry: str | None) -> Iterator[Path]:
    """The folder, checked, if it says what it is; else a copy that does."""
    if not folder.is_dir():
        raise SpecError(folder, "is no folder")
    if challenge is None or (folder / "submission.toml").exists():
        about = workspace.submission(folder).about
        if challenge not in (None, about.challenge):
            path = folder / "submission.toml"
            raise SpecError(path, f"is {about.challenge!r}, not {challenge!r}", field="submission.challenge")
        hash_folder(folder)  # what cannot be graded is refused before anything is
        yield folder
        return
    with snapshot(folder) as copy:
        stated = stated_submission(folder, workspace.challenge(challenge), entry, copy.hashes)
        (copy.path / "submission.toml").write_bytes(stated.encode(errors="backslashreplace"))
        workspace.submission(copy.path)
        yield copy.path
