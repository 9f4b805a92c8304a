"""A model's raw reply as a source of one submission."""

import contextlib
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w
from pydantic import ValidationError

from harness.errors import FilesError, SpecError, StoreError
from harness.importing.importer import Importer
from harness.languages import Language, language
from harness.model import ASKED_FILE, Challenge, Provenance, Submission
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import REPLY_FILE
from harness.model.submissions.name import SubmissionName
from harness.model.submissions.submission import Capability
from harness.replies.found import Extraction
from harness.replies.reader import extract
from harness.replies.text import ReplyText
from harness.workspace.stored_files import remedy
from harness.workspace.submission_folders import refuse_both_forms, write_files


@dataclass(frozen=True)
class ReadReply:
    """A submission taken from a reply.

    Attributes:
        unread: why the reply's own submission.toml was ignored, or "".
    """

    extraction: Extraction
    submission: Submission
    unread: str = ""


class ReplyImporter:
    """An `Importer` of the submission in a reply, which is parsed on construction.

    Args:
        attempt: None for a single submission.
        claimed: capabilities besides those of the reply's own submission.toml.
        take: numbers of the blocks to take, with their names or ""; if empty, the reply decides.

    Raises:
        ReplyError: the reply holds no unambiguous submission.
    """

    def __init__(
        self,
        reply: ReplyText,
        model: str,
        challenge: Challenge,
        attempt: int | None = None,
        claimed: Mapping[str, Capability] = MappingProxyType({}),
        take: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self._reply = reply
        self.name = SubmissionName(model, challenge.id, attempt)
        used = language(challenge.language)
        extraction = extract(reply, challenge, used, take)
        submission, unread = _build_submission(extraction, self.name, used, challenge)
        capabilities = {**submission.capabilities, **claimed}
        self.found = ReadReply(extraction, submission.model_copy(update={"capabilities": capabilities}), unread)

    def discover(self) -> Sequence[str]:
        """See `Importer`."""
        return [str(self.name)]

    def read(self, name: str) -> Mapping[str, bytes]:
        """See `Importer`; the reply is included."""
        files = {file.name.path: file.text.encode() for file in self.found.extraction.files}
        return files | {SUBMISSION_FILE: submission_toml(self.found.submission).encode(), REPLY_FILE: self._reply.data}


def _build_submission(
    extraction: Extraction, name: SubmissionName, used: Language, challenge: Challenge
) -> tuple[Submission, str]:
    entry = list(extraction.entries) if used.several_entries else extraction.entries[0]
    about = {
        "model": name.model,
        "challenge": name.challenge,
        "language": used.name,
        "entry": entry,
        "provenance": Provenance.MODEL_OUTPUT.value,
        "attempt": name.attempt,
    }
    table: dict[str, Any] = {"submission": about}
    if command := _find_test_command(extraction, frozenset(challenge.contract.functions)):
        table["tests"] = {"command": list(command)}
    if extraction.settings is None:
        return Submission.model_validate(table), ""
    try:
        own = tomllib.loads(extraction.settings)
        kept = {name: own[name] for name in ("capabilities", "tests", "claims") if own.get(name)}
        submission = Submission.model_validate(table | kept)
        names = {file.name.path for file in extraction.files}
        if lacking := next((c.where for c in submission.claims if c.where and c.where not in names), ""):
            raise ValueError(f"claims: names {lacking!r}, which is no file of the reply")
        return submission, ""
    except (ValueError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        return Submission.model_validate(table), why


def _find_test_command(extraction: Extraction, contract: frozenset[str]) -> tuple[str, ...]:
    for file in extraction.files:
        used = file.language
        # a test file that defines the contract is the submission itself
        if used and used.syntax.is_test(file.name.path) and file.outline.tests and not contract <= file.outline.defines:
            return used.test_command
    return ()


def submission_toml(submission: Submission) -> str:
    """Return the text of a submission.toml."""
    table = submission.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not table["claims"]:
        del table["claims"]
    if submission.about.turns == 1:
        del table["submission"]["turns"]
    return tomli_w.dumps(table)


def lay_out_reply(importer: Importer, folder: Path) -> None:
    """Write an imported reply to a new folder, all or none.

    Raises:
        SpecError: the folder exists, or a single submission would lie beside attempts.
        StoreError: the folder cannot be written.
    """
    (name,) = importer.discover()
    lay_out_files(importer.read(name), folder)


def settle_reply(importer: ReplyImporter, folder: Path, unread: Submission) -> None:
    """Replace an ambiguous attempt by the chosen blocks of its reply, and keep how it was asked for.

    `unread` is the attempt's submission.toml. A failed write raises `StoreError` and leaves the attempt unchanged.
    """
    (name,) = importer.discover()
    kept = {"turns": unread.about.turns, "date": unread.about.date, "generator": unread.about.generator}
    submission = importer.found.submission
    stated = submission.model_copy(update={"about": submission.about.model_copy(update=kept)})
    files = {**importer.read(name), SUBMISSION_FILE: submission_toml(stated).encode()}
    if (folder / ASKED_FILE).is_file():
        files[ASKED_FILE] = (folder / ASKED_FILE).read_bytes()
    former = folder.with_name(f".{folder.name}.old.{os.getpid()}")
    folder.rename(former)
    try:
        lay_out_files(files, folder)
    except BaseException:
        former.rename(folder)
        raise
    shutil.rmtree(former, ignore_errors=True)


def lay_out_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files as `lay_out_reply` does."""
    refuse_both_forms(folder)
    if os.path.lexists(folder):
        raise SpecError(
            folder,
            "exists already; nothing was changed",
            hint=f"{_suggest_name(SubmissionName.of_folder(folder))}; to replace it, remove it first:  rm -r {folder}",
        )
    above = next(place for place in folder.parents if place.exists())
    made = folder.with_name(f".{folder.name}.new.{os.getpid()}")
    try:
        write_files(made, files)
        made.rename(folder)
    except (OSError, FilesError) as error:
        shutil.rmtree(made, ignore_errors=True)
        for place in folder.parents:
            if place == above:
                break
            with contextlib.suppress(OSError):
                place.rmdir()
        if isinstance(error, FilesError):
            raise
        raise StoreError(f"{folder}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def _suggest_name(name: SubmissionName) -> str:
    if name.attempt is not None:
        return "under a number of its own"
    return f"under a name of its own:  --model ANOTHER-NAME; or, as another attempt, after  harness attempt {name}"
