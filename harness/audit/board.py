"""Somebody's board, read without trust."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, NotFoundError, SpecError, StoreError
from harness.model import Record
from harness.model.submissions.name import SubmissionName
from harness.scoring.doubts import describe_refusal, find_doubts
from harness.store.content_key import probe_set
from harness.workspace import Workspace
from harness.workspace.signatures import PublicKey, read_public_keys, signer_of, verify
from harness.workspace.stored_files import read_stored

RECORDS = ("reports/records", "records")
"""Places of the records in a workspace, and in an exported folder."""
UNSIGNED = "unsigned"


@dataclass(frozen=True)
class BoardRecord:
    """A record of a board.

    Attributes:
        name: name by the file's path.
        record: None if refused.
        refused: reason for refusal: unreadable, misplaced, badly signed, or a doubt.
        signature: `unsigned`, or the signing key and whether it is trusted here.
    """

    name: SubmissionName
    path: Path
    record: Record | None
    refused: str
    signature: str


class Board:
    """A folder with records and submissions: a workspace or an export.

    Args:
        auditor: workspace whose challenges count, in place of the board's own.
        keys: trusted public keys besides those of that workspace.

    Raises:
        NotFoundError: the folder has no records.
    """

    def __init__(self, folder: Path, auditor: Workspace, keys: Iterable[PublicKey] = ()) -> None:
        places = [folder / place for place in RECORDS if (folder / place).is_dir()]
        if not places:
            raise NotFoundError(
                f"{folder} holds no records: neither {' nor '.join(f'{place}/' for place in RECORDS)}\n"
                "  name a workspace, or a folder with records/CHALLENGE/MODEL.json and submissions/MODEL/CHALLENGE/"
            )
        self._folder = folder
        self._records = places[0]
        self._auditor = auditor
        self._keys = (*keys, *read_public_keys(auditor.keys_folder))

    def names(self) -> list[SubmissionName]:
        """Return the names of all records, sorted by model, challenge and attempt."""
        root = self._records
        paths = (path.relative_to(root) for depth in ("*/*.json", "*/*/*.json") for path in root.glob(depth))
        return sorted((name for path in paths if (name := SubmissionName.of_record(path))), key=lambda name: name.order)

    def read(self, name: SubmissionName) -> BoardRecord:
        """Read and check a submission's record.

        Raises:
            PrerequisiteError: the record is signed and cryptography is not installed.
        """
        path = self._records / name.record
        try:
            signature = self._describe_signature(path)
            record = read_stored(path, Record)
        except StoreError as error:
            return BoardRecord(name, path, None, _describe_problem(path, error), "")
        if record.submission_name != name:
            return BoardRecord(name, path, None, f"is the record of {record.name}", signature)
        refused = self._explain_refusal(record)
        return BoardRecord(name, path, None if refused else record, refused, signature)

    def _explain_refusal(self, record: Record) -> str:
        known = record.challenge in self._auditor.challenges()
        rubric = self._auditor.challenge(record.challenge) if known else None
        return describe_refusal(find_doubts(record, rubric, lambda: probe_set(self._auditor, record.challenge)))

    def folder_of(self, record: Record) -> Path:
        """Return the folder of a record's submission.

        Raises:
            SpecError: the folder is missing or outside the board.
            HarnessError: the submission is of a collection. The manifest decides what is charged, so only its own
                workspace can audit it.
        """
        if self._folder.resolve() == self._auditor.root:
            folder = self._auditor.folder_of(record)
        elif record.origin:
            raise HarnessError(f"is an answer of the collection {record.origin.collection}: audit it in its workspace")
        else:
            folder = self._folder.joinpath("submissions", *record.submission_name.parts)
        if not folder.is_dir():
            raise SpecError(folder, "is not there")
        if not folder.resolve().is_relative_to(self._folder.resolve()):
            raise SpecError(folder, "lies outside the board")
        return folder

    def _describe_signature(self, path: Path) -> str:
        claimed = signer_of(path)
        if not claimed:
            return UNSIGNED
        if claimed not in {key.name for key in self._keys}:
            return f"signed by key {claimed}, which is not known here: not verified"
        return f"signed by key {verify(path, self._keys)}"


def sample(names: Sequence[SubmissionName], size: int, seed: int) -> list[SubmissionName]:
    """Draw `size` names by seed, sorted. A larger sample contains every smaller one."""
    drawn = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:size]
    return sorted(drawn, key=lambda name: name.order)


def _describe_problem(path: Path, error: StoreError) -> str:
    # the lines after the first advise the owner of the workspace
    return str(error).partition("\n")[0].removeprefix(f"{path}: ").rstrip("; ")
