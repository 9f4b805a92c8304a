"""Removal of a submission with its records."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import NotFoundError, SpecError, StoreError, nearest
from harness.model import Record
from harness.model.submissions.name import SubmissionName
from harness.sandbox import hash_folder
from harness.store.record_store import Store
from harness.workspace import COLLECTIONS, Workspace
from harness.workspace.signatures import signature_path
from harness.workspace.stored_files import read_stored, remedy


@dataclass(frozen=True)
class Removal:
    """Parts of one submission to remove.

    Attributes:
        folder: None if only a record is left.
        collection: source of fetched files; None for a submission of the workspace.
        kept: number of its records in the store.
    """

    name: SubmissionName
    folder: Path | None
    collection: str | None
    record: Path | None
    kept: int


def removals(workspace: Workspace, names: Sequence[str]) -> list[Removal]:
    """Find what to remove for submissions of these names, once each, sorted by name.

    Args:
        names: MODEL/CHALLENGE (all attempts), MODEL/CHALLENGE/attempt-N, MODEL, CHALLENGE, or a path in the workspace.

    Raises:
        NotFoundError: a name has no match.
        SpecError: a path, or the target of a name, is outside the workspace.
    """
    known = _find_homes(workspace)
    chosen = {found for name in names for found in _match(workspace, known, name)}
    return [_make_removal(workspace, name, known[name]) for name in sorted(chosen, key=lambda name: name.order)]


def remove(workspace: Workspace, removal: Removal) -> None:
    """Remove a submission, its folder last, so that an interrupted removal can be repeated.

    Raises:
        StoreError: a part cannot be removed.
    """
    store = Store(workspace)
    store.forget(removal.name)
    if removal.folder:
        with suppress(SpecError):  # files that cannot be graded have no failing seeds
            store.failing_seeds(removal.name.challenge, hash_folder(removal.folder)).forget()
    try:
        if removal.record:
            signature_path(removal.record).unlink(missing_ok=True)
            removal.record.unlink(missing_ok=True)
            _remove_empty(removal.record.parent, workspace.records_folder)
        if removal.folder and removal.folder.is_symlink():
            removal.folder.unlink()
        elif removal.folder:
            shutil.rmtree(removal.folder)
        if removal.folder:
            _remove_empty(removal.folder.parent, removal.folder.parents[len(removal.name.parts) - 1])
    except OSError as error:
        place = removal.folder / error.filename if removal.folder else error.filename  # rmtree gives a bare file name
        raise StoreError(f"{place}: cannot be removed: {error.strerror}\n  {remedy(error)}") from error


def _find_homes(workspace: Workspace) -> dict[SubmissionName, Path | None]:
    records = workspace.records_folder
    files = (SubmissionName.of_record(path.relative_to(records)) for path in records.rglob("*.json"))
    folders = {SubmissionName.of_folder(folder): folder for folder in workspace.submissions()}
    return {**dict.fromkeys(name for name in files if name), **folders}


def _match(workspace: Workspace, known: dict[SubmissionName, Path | None], wanted: str) -> Iterable[SubmissionName]:
    text = wanted.rstrip("/")
    if found := [name for name in known if text in (str(name), name.answer, name.model, name.challenge)]:
        return found
    path = Path(os.path.abspath(wanted))
    if path.is_dir() and not workspace.holds(path):
        raise SpecError(
            wanted, "is no submission of this workspace; nothing was removed", hint="try: harness ls submissions"
        )
    by_path = [name for name, folder in known.items() if folder == path]
    if not by_path:
        names = [part for name in known for part in (str(name), name.model, name.challenge)]
        raise NotFoundError(
            f"no submission or record {wanted!r}{nearest(wanted, names)}\n  try: harness ls submissions"
        )
    return by_path


def _make_removal(workspace: Workspace, name: SubmissionName, folder: Path | None) -> Removal:
    collection = None
    if folder is not None:
        _refuse_outside(workspace, folder)
        fetched = workspace.cache_folder / COLLECTIONS
        collection = folder.relative_to(fetched).parts[0] if fetched in folder.parents else None
    record = _find_record(workspace, name, folder, collection)
    return Removal(name, folder, collection, record, Store(workspace).count(name))


def _refuse_outside(workspace: Workspace, folder: Path) -> None:
    place, root = folder.parent.resolve(), workspace.root.resolve()
    if root not in place.parents:
        raise SpecError(folder, f"lies in {place}, outside the workspace; nothing was removed")


def _find_record(
    workspace: Workspace, name: SubmissionName, folder: Path | None, collection: str | None
) -> Path | None:
    path = workspace.records_folder / name.record
    if not path.is_file():
        return None
    try:
        origin = read_stored(path, Record).origin
    except StoreError:  # damaged: its origin is unknown, so it goes too
        return path
    of = origin.collection if origin else None
    return path if folder is None or of == collection else None


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and root in folder.parents and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def describe_removal(removal: Removal, shown: Callable[[Path], str] = str) -> Iterator[str]:
    """Yield a line for each part to remove; `shown` formats paths."""
    if removal.folder and removal.folder.is_symlink():
        yield f"the link {shown(removal.folder)}, not what it leads to"
    elif removal.folder:
        files = [path for path in removal.folder.rglob("*") if not path.is_dir()]
        of = f" of collection {removal.collection}, which can be fetched again" if removal.collection else ""
        yield f"{shown(removal.folder)}: {len(files)} file{'' if len(files) == 1 else 's'}{of}"
    if removal.record:
        yield f"{shown(removal.record)}: its published record"
    if removal.kept:
        yield f"{removal.kept} record{'' if removal.kept == 1 else 's'} made on this machine"
