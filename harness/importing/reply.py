"""A model's raw reply as a source of answers: the files in its Markdown, and the reply beside them."""

import contextlib
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w
from pydantic import ValidationError

from harness.errors import FilesError, ReplyError, SpecError, StoreError
from harness.importing.fences import Fenced, FencedBlock, between_rulers, fenced, indented
from harness.importing.importer import Importer
from harness.importing.reply_blocks import BlockKind, language_of, read_block
from harness.importing.reply_calls import blocks_of_calls
from harness.importing.reply_choice import choose
from harness.importing.reply_cut import choose_before, cut_error
from harness.importing.reply_dressing import undressed
from harness.importing.reply_names import file_name, named_below
from harness.importing.reply_parts import continued, parts_of
from harness.importing.reply_taken import NEXT, Choice, Extraction
from harness.importing.reply_text import ReplyProblem, ReplyText
from harness.languages import Language, Outline, language
from harness.model import Challenge, Provenance, Submission
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import REPLY_FILE
from harness.model.submission import Capability
from harness.model.submission_name import SubmissionName
from harness.stored_files import remedy
from harness.submission_folders import refuse_both_forms, write_files

MAX_BLOCKS = 1000
"""Code blocks of a reply that are read."""


@dataclass(frozen=True)
class ReadReply:
    """A submission taken from a reply.

    Attributes:
        extraction: its files, and the blocks that became none.
        submission: what its submission.toml says.
        unread: why the answer's own submission.toml was not read; empty where it was, or where there is none.
    """

    extraction: Extraction
    submission: Submission
    unread: str = ""


class ReplyImporter:
    """An `Importer` of the one answer that a reply holds. It is read when it is made.

    Args:
        reply: the text.
        model: who answered.
        challenge: what is answered.
        attempt: which of several answers it is; None for the only one.
        claimed: options it offers, beside those that its own submission.toml claims.

    Attributes:
        name: of the submission.
        found: what was taken.

    Raises:
        ReplyError: the reply holds no submission that can be told.
    """

    def __init__(
        self, reply: ReplyText, model: str, challenge: Challenge, attempt: int | None = None,
        claimed: Mapping[str, Capability] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._reply = reply
        self.name = SubmissionName(model, challenge.id, attempt)
        used = language(challenge.language)
        extraction = extract(reply, challenge, used)
        submission, unread = _submission(extraction, self.name, used)
        capabilities = {**submission.capabilities, **claimed}
        self.found = ReadReply(extraction, submission.model_copy(update={"capabilities": capabilities}), unread)

    def discover(self) -> Sequence[str]:
        """As `Importer.discover`."""
        return [str(self.name)]

    def read(self, name: str) -> Mapping[str, bytes]:
        """As `Importer.read`, the reply itself included."""
        files = {file.name.path: file.text.encode() for file in self.found.extraction.files}
        return files | {
            SUBMISSION_FILE: submission_toml(self.found.submission).encode(),
            REPLY_FILE: self._reply.data,
        }


def extract(reply: ReplyText, challenge: Challenge, used: Language) -> Extraction:
    """The files of a reply.

    Raises:
        ReplyError: they cannot be told.
    """

    def whole(block: FencedBlock) -> bool:
        known = language_of(block.tongue, "", used)
        return known is None or not known.syntax.is_open(block.text)

    found = fenced(reply, whole)
    _refuse_open_fences(reply, found, used)
    while (inner := _wrapped(reply, found)) is not None:
        reply = inner
        found = fenced(reply, whole)
        _refuse_open_fences(reply, found, used)
    closed = named_below([block for block in found.blocks if block.closed], found.prose)
    cut = next((block for block in found.blocks if not block.closed), None)
    if cut and not closed:
        raise cut_error(reply.path, cut)
    blocks = blocks_of_calls(closed) or _bare(reply, used) or _ruled(reply, used) or _indented(reply, used)
    bare = [undressed(block, lambda text: _is_broken(text, used.entry, used)) for block in blocks]
    parts = [part for block in bare for part in parts_of(block, lambda text, path: _is_broken(text, path, used))]
    _refuse_too_many(reply, parts)
    parts = continued(parts, lambda text, path: _outline(text, path, used))
    read = [read_block(block, challenge, used, reply.path) for block in parts]
    choice = Choice(reply.path, read, found.prose, found.html, challenge, used)
    if cut is None:
        return choose(choice)
    return choose_before(choice, cut)


def _wrapped(reply: ReplyText, found: Fenced) -> ReplyText | None:
    """What is within the one block of Markdown that a whole reply was put into; lines keep their numbers."""
    if len(found.blocks) != 1 or not found.blocks[0].nests or file_name(found.blocks[0]):
        return None
    block = found.blocks[0]
    return replace(reply, lines=("",) * block.line + tuple(block.text.split("\n")))


def _bare(reply: ReplyText, used: Language) -> list[FencedBlock]:
    """A reply that is code from its first line to its last, as a block."""
    said = ["" if number in reply.thoughts else line for number, line in enumerate(reply.lines, 1)]
    text = "\n".join(said).strip("\n") + "\n"
    first = next((number for number, line in enumerate(said) if line.strip()), 0)
    return [FencedBlock(first, len(said), used.name, text)] if used.syntax.is_code(text) else []


def _ruled(reply: ReplyText, used: Language) -> list[FencedBlock]:
    """The code that a reply without fences puts between two rulers."""
    block = between_rulers(reply)
    return [block] if block and used.syntax.is_code(block.text) else []


def _indented(reply: ReplyText, used: Language) -> list[FencedBlock]:
    """The indented blocks of a reply without fences; none where no one of them is code.

    Raises:
        ReplyError: the reply ends within the last one.
    """
    blocks = list(indented(reply))
    if not any(used.syntax.is_code(block.text) for block in blocks):
        return []
    if blocks[-1].last > len(reply.lines):
        raise ReplyError(
            reply.path, ReplyProblem.CUT_OFF,
            f"ends within the indented code that begins in line {blocks[-1].line + 1}, and may be cut off",
            hint="where it is whole, put the code between ``` lines and import it again",
        )  # fmt: skip
    return blocks


def _is_broken(text: str, path: str, used: Language) -> bool:
    """Whether a text does not parse as the file of that path, or ends within a comment or string."""
    known, outline = language_of("", path, used), _outline(text, path, used)
    return known is not None and (known.syntax.is_open(text) or (outline is not None and outline.fault is not None))


def _outline(text: str, path: str, used: Language) -> Outline | None:
    known = language_of("", path, used)
    return known.syntax.outline(text) if known else None


def _refuse_open_fences(reply: ReplyText, found: Fenced, used: Language) -> None:
    """Refuse a reply of too many blocks, and one whose blocks have run into each other.

    Raises:
        ReplyError: it does.
    """
    _refuse_too_many(reply, found.blocks)
    for block in found.blocks:
        if block.inner:
            known = language_of(block.tongue, "", used)
            outline = known.syntax.outline(block.text) if known else None
            if outline is None or outline.fault or not block.closed:
                raise ReplyError(
                    reply.path, ReplyProblem.UNCLOSED,
                    f"the code block of line {block.line} is not closed before the one of line {block.inner} begins",
                    hint=f"close the block above line {block.inner} in the reply, and import it again",
                )  # fmt: skip


def _refuse_too_many(reply: ReplyText, blocks: Sequence[FencedBlock]) -> None:
    if len(blocks) > MAX_BLOCKS:
        raise ReplyError(
            reply.path, ReplyProblem.TOO_LARGE, f"holds more than {MAX_BLOCKS} code blocks, and replies do not",
            hint="keep the reply itself, without logs and data, and import that",
        )  # fmt: skip


def _submission(extraction: Extraction, name: SubmissionName, used: Language) -> tuple[Submission, str]:
    """What submission.toml says, and why the answer's own was not read."""
    entry = list(extraction.entries) if used.several_entries else extraction.entries[0]
    about = {
        "model": name.model, "challenge": name.challenge, "language": used.name, "entry": entry,
        "provenance": Provenance.MODEL_OUTPUT.value, "attempt": name.attempt,
    }  # fmt: skip
    table: dict[str, Any] = {"submission": about}
    if command := _test_command(extraction):
        table["tests"] = {"command": list(command)}
    if extraction.settings is None:
        return _validated(table), ""
    try:
        own = tomllib.loads(extraction.settings.block.text)
        kept = {name: own[name] for name in ("capabilities", "tests", "claims") if own.get(name)}
        submission = _validated(table | kept)
        names = {file.name.path for file in extraction.files}
        if lacking := next((c.where for c in submission.claims if c.where and c.where not in names), ""):
            raise ValueError(f"claims: names {lacking!r}, which is no file of the reply")
        return submission, ""
    except (ValueError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        return _validated(table), why


def _validated(table: Mapping[str, Any]) -> Submission:
    return Submission.model_validate(table)


def _test_command(extraction: Extraction) -> tuple[str, ...]:
    """What runs the answer's own tests, where some are named as such or came with the answer."""
    for file in extraction.files:
        for block in file.blocks:
            if block.kind is BlockKind.TESTS and block.language and block.outline.tests:
                return block.language.test_command
    return ()


def submission_toml(submission: Submission) -> str:
    """The text of a submission.toml."""
    table = submission.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not table["claims"]:
        del table["claims"]
    if submission.about.turns == 1:
        del table["submission"]["turns"]
    return tomli_w.dumps(table)


def lay_out_reply(importer: Importer, folder: Path) -> None:
    """Write what is imported of a reply into a folder that is not there yet, all or none.

    Raises:
        SpecError: there is such a folder already, or a single answer would lie beside attempts.
        StoreError: it cannot be written; nothing of it is left.
    """
    (name,) = importer.discover()
    lay_out_files(importer.read(name), folder)


def lay_out_files(files: Mapping[str, bytes], folder: Path) -> None:
    """As `lay_out_reply`, of files by relative path."""
    refuse_both_forms(folder)
    if os.path.lexists(folder):
        raise SpecError(
            folder, "exists already; nothing was changed",
            hint=f"{_another_name(SubmissionName.of_folder(folder))}; to replace it, remove it first:  rm -r {folder}",
        )  # fmt: skip
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


def _another_name(name: SubmissionName) -> str:
    if name.attempt is not None:
        return "under a number of its own"
    return f"under a name of its own:  --model ANOTHER-NAME; or, as another attempt, after  harness attempt {name}"


__all__ = ["NEXT", "ReadReply", "ReplyImporter", "extract", "lay_out_files", "lay_out_reply", "submission_toml"]
