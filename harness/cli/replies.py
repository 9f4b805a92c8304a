"""Raw replies on the command line: report what was extracted, and lay replies out for `harness grade`."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.executors.base import NotGraded
    from harness.importing.reply import ReplyImporter
    from harness.importing.unanswered import UnansweredReply
    from harness.model import Challenge
    from harness.replies.found import TakenFile
    from harness.workspace import Workspace

STANDARD_INPUT = "-"
_TAKE = re.compile(r"(?P<number>[1-9][0-9]{0,5})(?:=(?P<name>.+))?")


def read_choices(given: Sequence[str]) -> dict[int, str]:
    """Return the blocks that --take selects, with their names or "", by number."""
    found = {}
    for text in given:
        parts = _TAKE.fullmatch(text)
        if parts is None:
            raise typer.BadParameter(
                f"--take {text!r} is no number of a block, as 3, and no number with a name, as 2=a.py"
            )
        found[int(parts["number"])] = parts["name"] or ""
    return found


def settle_attempt(workspace: "Workspace", importer: "ReplyImporter | UnansweredReply", folder: Path) -> bool:
    """Replace an ambiguous attempt by the chosen blocks of its reply; return whether there was one."""
    from harness.importing.reply import ReplyImporter, settle_reply
    from harness.model.submissions.collection import SUBMISSION_FILE

    unread = workspace.submission(folder) if (folder / SUBMISSION_FILE).is_file() else None
    if unread is None or not unread.about.unread or not isinstance(importer, ReplyImporter):
        return False
    settle_reply(importer, folder, unread)
    return True


def tell(
    importer: "ReplyImporter | UnansweredReply", challenge: "Challenge", write: Callable[[str], None], again: str
) -> None:
    """Print where each file comes from, why blocks became none, and which options are claimed.

    Args:
        write: prints a line about a file.
        again: command that imports the reply with claims.
    """
    from harness.importing.claimed import OPTION, options_of
    from harness.importing.unanswered import UnansweredReply

    if isinstance(importer, UnansweredReply):
        listed = "".join(f"\n  {line}" for line in importer.found)
        output.note(f"no answer, so this attempt meets nothing: the reply {importer.reason}{listed}")
        return
    found = importer.found
    for file in found.extraction.files:
        write(f"{file.name.path}: {', '.join(_facts(file, found.extraction.entries))}")
    for left in found.extraction.left:
        output.note(f"not a file: block {left.block.number}, line {left.block.line}: {left.why.value}")
    if found.unread:
        output.note(f"the reply's own submission.toml was not read: {found.unread}")
    offered = options_of(challenge)
    if claimed := ", ".join(found.submission.capabilities):
        output.note(f"options claimed: {claimed}")
    elif offered:
        output.note(
            f"claims none of {', '.join(offered)}: what an answer does not claim earns nothing\n"
            f"  try: {again} {OPTION} {offered[0]}, and so on for what the reply offers"
        )


def _facts(file: "TakenFile", entries: Sequence[str]) -> Iterator[str]:
    if file.name.path in entries:
        yield "entry"
    places = [f"{block.first}-{block.last - 1}" for block in file.blocks]
    yield f"lines {', '.join(places)} of the reply"
    yield f"named by {file.name.by.value}"
    for block in file.changes:
        yield f"changed as lines {block.first}-{block.last - 1} say"
    if fault := file.outline.fault:
        yield f"does not parse in its line {fault.line} ({fault.name}) and is graded as it is"


def format_place(names: Sequence[str], entry: str | None) -> str:
    """Return the arguments of `grade` that name its only submission by path; empty without one."""
    if len(names) != 1 or names[0] == STANDARD_INPUT:
        return ""
    return shlex.join([*names, *(["--entry", entry] if entry else [])])


def is_reply(name: str) -> bool:
    """Return whether an argument of `grade` is a reply: a file, or standard input."""
    return name == STANDARD_INPUT or os.path.isfile(name)


@contextmanager
def lay_out_names(
    workspace: "Workspace", names: Sequence[str], challenge: str | None, entry: str | None = None
) -> Iterator[tuple[list[Path], dict[Path, str], list["NotGraded"]]]:
    """Yield the folders to grade for arguments of `grade`, which of them are replies, and arguments without submission.

    Replies and folders of bare files get temporary folders outside submissions/.

    Args:
        names: names for `Workspace.select`, reply files, or folders without a submission.toml.
        challenge: challenge of the replies and bare folders.
        entry: file with the contract's functions in a bare folder.

    Raises:
        HarnessError: a name matches nothing, or the challenge is unknown.
    """
    from harness.errors import ReplyError, SpecError
    from harness.executors.base import NotGraded
    from harness.sandbox.confinement import scratch

    bare = [name for name in names if _is_bare(name)] if challenge is not None else []
    replies = [name for name in names if is_reply(name)]
    _check_options(names, replies, bare, challenge, entry)
    folders = workspace.select([name for name in names if name not in (*replies, *bare)])
    _check_challenge(workspace, folders, challenge)
    given, refused = dict[Path, str](), []
    with ExitStack() as stack:
        for name in (*replies, *bare):
            task, place = workspace.challenge(challenge or ""), stack.enter_context(scratch.folder())
            try:
                if name in bare:
                    folders.append(_lay_out_folder(name, task, entry, place))
                else:
                    folders.append(_lay_out(name, task, place))
                    given[folders[-1]] = name
            except (ReplyError, SpecError) as error:
                refused.append(NotGraded(Path(name), error))
        yield folders, given, refused


def _check_options(
    names: Sequence[str], replies: Sequence[str], bare: Sequence[str], challenge: str | None, entry: str | None
) -> None:
    given = ", ".join(names) or "nothing"
    if replies and challenge is None:
        raise typer.BadParameter(
            f"{replies[0]} is no submission's folder; a model's reply is graded with its challenge:\n"
            f"  harness grade {replies[0]} --challenge CHALLENGE"
        )
    if entry is not None and not bare:
        raise typer.BadParameter(f"--entry names a file of a folder without submission.toml, and {given} is none")


def _check_challenge(workspace: "Workspace", folders: Sequence[Path], challenge: str | None) -> None:
    for folder in folders if challenge is not None else ():
        if (own := workspace.submission(folder).about.challenge) != challenge:
            raise typer.BadParameter(
                f"--challenge {challenge}: {folder} answers {own}, as its submission.toml says; leave --challenge out"
            )


def _is_bare(name: str) -> bool:
    from harness.model.submissions.collection import SUBMISSION_FILE
    from harness.workspace.submission_folders import attempt_folders

    folder = Path(name)
    return folder.is_dir() and not os.path.lexists(folder / SUBMISSION_FILE) and not attempt_folders(folder)


def _lay_out(name: str, challenge: "Challenge", place: Path) -> Path:
    from harness.importing.reply import lay_out_reply
    from harness.importing.unanswered import importer_of
    from harness.model import identifier
    from harness.model.submissions.name import SubmissionName
    from harness.replies.text import read_bytes

    submission = SubmissionName(identifier(Path(name).stem) or "reply", challenge.id)
    importer = importer_of(*read_bytes(name), submission, challenge)
    folder = place.joinpath(*submission.parts)
    lay_out_reply(importer, folder)
    again = f"harness import reply {name} --model {submission.model} --challenge {challenge.id}"
    tell(importer, challenge, output.note, again)
    return folder


def _lay_out_folder(name: str, challenge: "Challenge", entry: str | None, place: Path) -> Path:
    from harness.errors import SpecError
    from harness.importing.bare_files import render_submission
    from harness.model import identifier
    from harness.model.submissions.collection import SUBMISSION_FILE
    from harness.sandbox import read_folder
    from harness.workspace.submission_folders import instead_of, write_files

    files, model = read_folder(Path(name)), identifier(Path(name).resolve().name) or "candidate"
    stated = render_submission(name, challenge, entry, files, model).encode(errors="backslashreplace")
    folder = place / model / challenge.id
    write_files(folder, files | {SUBMISSION_FILE: stated})
    if entry is not None and entry not in files:
        raise SpecError(name, f"holds no file {entry!r}", hint=instead_of(Path(name), entry))
    return folder
