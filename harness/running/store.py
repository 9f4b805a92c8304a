"""Records on disk: where finished grades are kept."""

from pathlib import Path

from harness.errors import StoreError
from harness.model import Record, Status
from harness.workspace import Workspace, read_stored, write_atomically


def reusable(workspace: Workspace, key: str) -> Record | None:
    """The record made on this machine under this key, when it may stand for a new grade."""
    path = _kept(workspace, key)
    if not path.is_file():
        return None
    try:
        record = read_stored(path, Record)
    except StoreError:
        return None
    return record if record.key == key and record.ranked and record.status is not Status.JUDGE_ERROR else None


def remember(workspace: Workspace, record: Record) -> None:
    """Keep a record for reuse on this machine.

    Raises:
        StoreError: it cannot be written.
    """
    if record.ranked and record.status is not Status.JUDGE_ERROR:
        write_atomically(_kept(workspace, record.key), record.to_json())


def publish(workspace: Workspace, record: Record) -> Path:
    """Put a record under reports/records/, where reports are made from.

    A failure of ours does not take the place of a finished grade of the same files in the same environment.

    Raises:
        StoreError: it cannot be written.
    """
    path = workspace.record_path(record.model, record.challenge)
    text = record.to_json()
    try:
        published = path.read_bytes()
    except OSError:
        published = b""
    if published != text.encode() and not (record.status is Status.JUDGE_ERROR and _outlives(published, record.key)):
        write_atomically(path, text)
    return path


def _outlives(published: bytes, key: str) -> bool:
    """Whether these bytes are a finished record of that key."""
    try:
        before = Record.from_json(published)
    except ValueError:
        return False
    return before.key == key and before.status is not Status.JUDGE_ERROR


def _kept(workspace: Workspace, key: str) -> Path:
    return workspace.cache_folder / "records" / f"{key}.json"
