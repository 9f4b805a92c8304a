"""Somebody's board: the records they published and the answers behind them, read and never believed."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, NotFoundError, SpecError, StoreError
from harness.model import Record
from harness.model.submission_name import SubmissionName
from harness.running.content_key import probe_set
from harness.scoring.doubts import describe_refusal, find_doubts
from harness.signatures import PublicKey, signer_of, trusted_keys, verify
from harness.stored_files import read_stored
from harness.workspace import Workspace

RECORDS = ("reports/records", "records")
"""Where the records of a board may lie below its folder: of a workspace, and of a folder of exported ones."""
UNSIGNED = "unsigned"


@dataclass(frozen=True)
class BoardRecord:
    """A record of the board.

    Attributes:
        name: of the submission, by the place of the file.
        path: the file.
        record: what it says; None where it is refused.
        refused: why it is not believed: not readable, in a wrong place, a signature that does not hold, or a doubt that
            refuses it, see `harness.scoring.doubts`. Empty where nothing speaks against it.
        signature: `unsigned`, or by which key, and whether that is known here.
    """

    name: SubmissionName
    path: Path
    record: Record | None
    refused: str
    signature: str


class Board:
    """A folder with records and submissions: a workspace, or what was exported of one.

    Nothing of its challenges is read: answers are held to those of the auditor's own workspace.

    Args:
        folder: the board.
        auditor: the workspace whose challenges count.
        keys: public keys that are trusted beside those of that workspace.

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
        self._keys = (*keys, *trusted_keys(auditor.keys_folder))

    def names(self) -> list[SubmissionName]:
        """Of all records, sorted by model, challenge and attempt."""
        root = self._records
        paths = (path.relative_to(root) for depth in ("*/*.json", "*/*/*.json") for path in root.glob(depth))
        return sorted((name for path in paths if (name := SubmissionName.of_record(path))), key=lambda name: name.order)

    def read(self, name: SubmissionName) -> BoardRecord:
        """The record of a submission, and what speaks against believing it.

        Raises:
            PrerequisiteError: it is signed, and what verifies it is not installed.
        """
        path = self._records / name.record
        try:
            signature = self._signature(path)
            record = read_stored(path, Record)
        except StoreError as error:
            return BoardRecord(name, path, None, _problem(path, error), "")
        if record.submission_name != name:
            return BoardRecord(name, path, None, f"is the record of {record.name}", signature)
        refused = self._refused(record)
        return BoardRecord(name, path, None if refused else record, refused, signature)

    def _refused(self, record: Record) -> str:
        """What a record says that cannot be; empty where nothing is."""
        known = record.challenge in self._auditor.challenges()
        rubric = self._auditor.challenge(record.challenge) if known else None
        return describe_refusal(find_doubts(record, rubric, lambda: probe_set(self._auditor, record.challenge)))

    def folder_of(self, record: Record) -> Path:
        """Where the answer lies.

        Raises:
            SpecError: it is not there, or lies outside the board.
            HarnessError: it is of a collection whose manifest, which says what is charged to it, is not the auditor's.
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

    def _signature(self, path: Path) -> str:
        """Who signed a record.

        Raises:
            StoreError: the signature does not hold.
        """
        claimed = signer_of(path)
        if not claimed:
            return UNSIGNED
        if claimed not in {key.name for key in self._keys}:
            return f"signed by key {claimed}, which is not known here: not verified"
        return f"signed by key {verify(path, self._keys)}"


def sample(names: Sequence[SubmissionName], size: int, seed: int) -> list[SubmissionName]:
    """So many of the names, drawn by the seed alone, in their order: a larger sample holds every smaller one."""
    drawn = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:size]
    return sorted(drawn, key=lambda name: name.order)


def _problem(path: Path, error: StoreError) -> str:
    """What is wrong with a file, without the path and what to do about it in one's own workspace."""
    return str(error).partition("\n")[0].removeprefix(f"{path}: ").rstrip("; ")
