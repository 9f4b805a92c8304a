"""Ownership of published records."""

from pathlib import Path

from harness.errors import StoreError
from harness.model import Record, Submission
from harness.workspace import Workspace
from harness.workspace.stored_files import read_stored

OUTSIDE = "a folder outside submissions/"


def other_home(workspace: Workspace, folder: Path, submission: Submission) -> str:
    """Return which other submission owns the record that a grade of `folder` would replace, or an empty string.

    A record whose submission is gone has no owner.
    """
    path = workspace.record_path(submission.about.model, submission.about.challenge, submission.about.attempt)
    try:
        published = read_stored(path, Record) if path.is_file() else None
    except StoreError:  # damaged: a new record repairs it
        return ""
    if published is None:
        return ""
    if published.outside:
        return OUTSIDE if workspace.holds(folder) else ""
    home = workspace.folder_of(published)
    if home.resolve() == folder.resolve() or not (published.origin or home.is_dir()):
        return ""
    return f"collection {published.origin.collection}" if published.origin else f"submissions/{published.name}"
