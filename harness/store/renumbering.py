"""Conversion of a single submission into the first of several attempts."""

import os
from dataclasses import replace
from pathlib import Path

from harness.errors import NotFoundError, StoreError, nearest
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.name import SubmissionName
from harness.store.removal import removals, remove
from harness.workspace import Workspace
from harness.workspace.stored_files import remedy
from harness.workspace.submission_folders import attempt_folders, first_free


def make_attempt(workspace: Workspace, name: str) -> SubmissionName:
    """Move the single submission MODEL/CHALLENGE to its first free attempt number and remove its record.

    Raises:
        NotFoundError: submissions/ has no such single submission.
        StoreError: a file cannot be moved, and all stay in place; or the record cannot be removed.
    """
    single = SubmissionName.parse(name.rstrip("/"))
    folder = workspace.submissions_folder.joinpath(*single.parts) if single else None
    if single is None or folder is None or single.attempt or not (folder / SUBMISSION_FILE).is_file():
        singles = [str(one) for one in map(SubmissionName.of_folder, workspace.submissions()) if not one.attempt]
        raise NotFoundError(
            f"submissions/ has no single answer {name!r}{nearest(name, singles)}\n  try: harness ls submissions"
        )
    records = [replace(one, folder=None) for one in removals(workspace, [str(single)]) if one.name == single]
    attempts = attempt_folders(folder)
    place = folder / first_free(each.name for each in attempts)
    _move(folder, place, set(attempts))
    for record in records:
        remove(workspace, record)
    return SubmissionName.of_folder(place)


def _move(folder: Path, place: Path, kept: set[Path]) -> None:
    aside = folder / f".{place.name}.new.{os.getpid()}"
    moved: list[Path] = []
    try:
        aside.mkdir()
        for path in sorted(set(folder.iterdir()) - {aside, *kept}):
            path.rename(aside / path.name)
            moved.append(path)
        aside.rename(place)
    except OSError as error:
        for path in moved:
            (aside / path.name).rename(path)
        aside.rmdir()
        raise StoreError(f"{folder}: cannot be moved to {place.name}: {error.strerror}\n  {remedy(error)}") from error
