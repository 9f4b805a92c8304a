"""Signing of published records."""

from collections.abc import Sequence
from functools import partial

from harness.errors import NotFoundError, StoreError, nearest
from harness.model import Record
from harness.model.submissions.name import SubmissionName
from harness.scoring.doubts import describe_refusal, find_doubts
from harness.store.content_key import probe_set
from harness.workspace import Workspace
from harness.workspace.signatures import PUBLIC_SUFFIX, SecretKey, sign
from harness.workspace.stored_files import read_stored, write_atomically


def match_records(workspace: Workspace, names: Sequence[str]) -> list[SubmissionName]:
    """Return the submissions with published records that match these names; all without names.

    Args:
        names: as for `removal.removals`, without paths.

    Raises:
        NotFoundError: a name has no match.
    """
    known = workspace.list_recorded()
    chosen: dict[SubmissionName, None] = {} if names else dict.fromkeys(known)
    for text in (name.rstrip("/") for name in names):
        found = [name for name in known if text in (str(name), name.answer, name.model, name.challenge)]
        if not found:
            every = [word for name in known for word in (str(name), name.model, name.challenge)]
            raise NotFoundError(f"no published record {text!r}{nearest(text, every)}\n  try: harness grade {text}")
        chosen |= dict.fromkeys(found)
    return list(chosen)


def sign_records(workspace: Workspace, key: SecretKey, names: Sequence[SubmissionName]) -> None:
    """Sign the published records of these submissions, replacing earlier signatures.

    Args:
        key: signing key, whose public key is saved in keys/.

    Raises:
        PrerequisiteError: cryptography is not installed.
        StoreError: a record is unreadable or refused; the records before it are signed.
    """
    public = workspace.keys_folder / f"{key.public.name}{PUBLIC_SUFFIX}"
    if names and not public.exists():
        write_atomically(public, key.public.text)
    for name in names:
        path = workspace.records_folder / name.record
        record = read_stored(path, Record)
        rubric = workspace.challenge(name.challenge) if name.challenge in workspace.challenges() else None
        if problem := describe_refusal(find_doubts(record, rubric, partial(probe_set, workspace, name.challenge))):
            raise StoreError(f"{path}: {problem}\n  not signed; harness grade {name} --force makes a new one")
        sign(path, key)
