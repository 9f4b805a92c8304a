"""Folders of submissions: `<model>/<challenge>/`, or several attempts below it."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from harness.errors import FilesError, SpecError
from harness.model import Submission
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import NAME_ERRORS, find_clash
from harness.model.submissions.name import ATTEMPT, SubmissionName

SHOWN = 5
"""Most files that a message lists."""


def subfolders(root: Path, marker: str | None = None) -> list[str]:
    """Return the sorted visible folders in `root`, only those with a file `marker` if given."""
    if not root.is_dir():
        return []
    found = (p for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "_")))
    return sorted(p.name for p in found if marker is None or (p / marker).exists())


def submission_folders(place: Path, models: Iterable[str]) -> dict[SubmissionName, Path]:
    """Return the folders of these models' submissions below `place`."""
    found: dict[SubmissionName, Path] = {}
    for answer in (place / model / challenge for model in models for challenge in subfolders(place / model)):
        attempts = attempt_folders(answer)
        plain = [answer] if not attempts or (answer / SUBMISSION_FILE).exists() else []
        found |= {SubmissionName.of_folder(folder): folder for folder in (*plain, *attempts)}
    return found


def attempt_folders(answer: Path) -> list[Path]:
    """Return the attempts below `<model>/<challenge>/` by number; a submission may have own folders of such names."""
    own = SUBMISSION_FILE if (answer / SUBMISSION_FILE).exists() else None
    named = [answer / name for name in subfolders(answer, own) if ATTEMPT.fullmatch(name)]
    return sorted(named, key=lambda folder: SubmissionName.of_folder(folder).order)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, by valid relative path, below a folder without other writers.

    Raises:
        FilesError: the names collide, or are invalid on this file system.
    """
    if found := find_clash(files):
        raise FilesError(folder, f"{found[0]!r} is a file, and the folder of {found[1]!r}")
    for name, data in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            if error.errno in NAME_ERRORS:
                raise FilesError(folder, f"no file can be called {name!r} here: {error.strerror}") from error
            raise


def in_its_place(folder: Path, submission: Submission) -> Submission:
    """Return the submission with its attempt's number, if it belongs in this folder.

    Raises:
        SpecError: it contradicts its place, or a single submission lies beside attempts.
    """
    path, about = folder / SUBMISSION_FILE, submission.about
    place = SubmissionName.of_folder(folder)
    for field in ("model", "challenge"):
        if getattr(about, field) != getattr(place, field):
            problem = f"is {getattr(about, field)!r}, but the folder is {getattr(place, field)!r}"
            raise SpecError(path, problem, field=f"submission.{field}")
    if about.attempt not in (None, place.attempt):
        hint = f"move it to {place.answer}/attempt-{about.attempt}/, or correct the number"
        raise SpecError(
            path, f"is {about.attempt}, but the folder is {folder.name!r}", field="submission.attempt", hint=hint
        )
    refuse_both_forms(folder)
    return submission.model_copy(update={"about": about.model_copy(update={"attempt": place.attempt})})


def refuse_both_forms(folder: Path) -> None:
    """Raise `SpecError` if a folder, possibly missing, puts attempts beside a single submission."""
    name = SubmissionName.of_folder(folder)
    answer = folder.parent if name.attempt else folder
    attempts = [each.name for each in attempt_folders(answer) or ([folder] if name.attempt else [])]
    if attempts and (name.attempt is None or (answer / SUBMISSION_FILE).exists()):
        raise SpecError(
            answer,
            f"cannot be a submission itself ({SUBMISSION_FILE}) and hold attempts ({', '.join(attempts)})",
            hint=f"try: harness attempt {name.answer}, which makes the single answer {first_free(attempts)}",
        )


def first_free(attempts: Iterable[str]) -> str:
    """Return the first free attempt name."""
    taken = set(attempts)
    return next(name for name in map("attempt-{}".format, count(1)) if name not in taken)


def instead_of(folder: Path, entry: str) -> str:
    """Suggest files in place of a missing entry."""
    with suppress(OSError):
        there = sorted(path.name for path in folder.iterdir() if path.suffix == Path(entry).suffix and path.is_file())
        if len(there) == 1:
            return f"it holds {there[0]}: say  entry = {json.dumps(there[0])}"
        if there:
            return f"it holds {', '.join(there[:SHOWN])}: name one as the entry"
    return "put the answer there, or name its file as the entry"
