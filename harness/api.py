"""Grading from Python: `harness.grade` and `harness.grade_many`, made for training loops and notebooks.

Both draw their inputs anew for every grade, run the answer in the box, and write nothing under `reports/` unless
asked to. They may be called from many processes and threads at once.
"""

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.errors import NotFoundError, SpecError
from harness.languages import language
from harness.model import Challenge, Record
from harness.running.executor import grade_all
from harness.running.local import LocalExecutor
from harness.running.options import Options
from harness.running.retry import grade_with_retries
from harness.running.submission_grade import Graded
from harness.sandbox import hash_folder, snapshot
from harness.workspace import Workspace

__all__ = ["Record", "grade", "grade_many"]

Folder = str | os.PathLike[str]


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
) -> Record:
    """Grade one submission.

    Args:
        folder: its files. Where it has no submission.toml, one is made up from `challenge` and `entry` for a copy.
        challenge: id of the challenge; what submission.toml says by default.
        entry: module with the contract's functions, for a folder without submission.toml; its only .py file by
            default.
        seed: fixes the inputs. Leave it out in training: an answer that can learn the inputs can learn the outputs.
        force: grade anew although the same files were graded on this machine before.
        full: run the answer's own tests without a bound on their time.
        limits: overrides of the challenge's limits by name, such as `{"call_seconds": 2.0}`.
        publish: keep the record under reports/records/ for `harness report`.
        workspace: folder that holds challenges/; found from the current folder by default.

    Returns:
        The record. A submission that does not build, crashes or hangs has one too; where our own side failed, again
        and again, its status is `judge_error` and it has no marks. What could not be written is a `RuntimeWarning`.

    Raises:
        SpecError: the submission is malformed: its submission.toml, a link or a special file, too many bytes.
        NotFoundError: there is no such challenge, or no workspace.
        PrerequisiteError: the machine lacks something that the challenge needs.
        JudgeError: nothing could be graded here at all.
    """
    place = _workspace(workspace)
    with _submission(place, Path(folder), challenge, entry) as submission:
        return _record(grade_with_retries(place, submission, Options(seed, force, full, limits or {}, publish)))


def grade_many(
    folders: Sequence[Folder],
    challenge: str | None = None,
    *,
    jobs: int | None = None,
    entry: str | None = None,
    seed: int | None = None,
    force: bool = False,
    full: bool = False,
    limits: Mapping[str, float] | None = None,
    publish: bool = False,
    workspace: Folder | None = None,
) -> list[Record]:
    """Grade many submissions, several at a time.

    Args:
        folders: the submissions.
        jobs: how many at a time; the number of processors this process may use by default.
        challenge, entry, seed, force, full, limits, publish, workspace: as for `grade`, the same for all.

    Returns:
        One record for each folder, in their order, as `grade` gives it.

    Raises:
        SpecError, NotFoundError: a submission is malformed; nothing was graded.
        JudgeError: one could not even be recorded as failed; finished grades are kept and reused by the next call.
    """
    place = _workspace(workspace)
    options = Options(seed, force, full, limits or {}, publish)
    records: dict[Path, Record] = {}
    with ExitStack() as stack:
        submissions = [stack.enter_context(_submission(place, Path(f), challenge, entry)) for f in folders]
        executor = LocalExecutor(place, options, jobs or len(os.sched_getaffinity(0)))
        distinct = list(dict.fromkeys(submissions))
        for result in grade_all(executor, distinct):
            if not isinstance(result, Graded):
                raise result.error
            records[result.folder] = _record(result)
    return [records[submission] for submission in submissions]


def _record(graded: Graded) -> Record:
    if graded.save_error:
        warnings.warn(graded.save_error, RuntimeWarning, stacklevel=3)
    return graded.record


def _workspace(folder: Folder | None) -> Workspace:
    if folder is None:
        return Workspace.find()
    place = Path(folder).resolve()
    if not (place / "challenges").is_dir():
        raise NotFoundError(f"{place} holds no challenges/")
    return Workspace(place)


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
        stated = _stated(folder, workspace.challenge(challenge), entry, copy.hashes)
        (copy.path / "submission.toml").write_bytes(stated.encode(errors="backslashreplace"))
        workspace.submission(copy.path)
        yield copy.path


def _stated(folder: Path, challenge: Challenge, entry: str | None, names: Mapping[str, str]) -> str:
    """A submission.toml for files that came without one."""
    suffix = language(challenge.language).suffix
    files = [name for name in names if name.endswith(suffix)]
    if entry is None and len(files) != 1:
        raise SpecError(folder, f"has {len(files)} {suffix} files and no submission.toml; say which is the entry")
    # a JSON string that is not escaped to ASCII is a TOML string
    task, file = (json.dumps(text, ensure_ascii=False) for text in (challenge.id, entry or files[0]))
    about = f'model = "candidate"\nchallenge = {task}\nlanguage = "{challenge.language}"\n'
    return f'[submission]\n{about}entry = {file}\nprovenance = "model-output"\n'
