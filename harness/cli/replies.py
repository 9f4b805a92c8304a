"""Models' raw replies on the command line: what was taken of one is told, and one can be graded where it is."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.importing.reply import ReadReply
    from harness.importing.reply_taken import TakenFile
    from harness.model import Challenge
    from harness.workspace import Workspace

STANDARD_INPUT = "-"


def tell(found: "ReadReply", challenge: "Challenge", write: Callable[[str], None], again: str) -> None:
    """Say where each file comes from, which blocks became none and why, and which options are claimed.

    Args:
        found: what was taken.
        challenge: what is answered.
        write: prints a line about a file.
        again: how to bring the reply in with claims.
    """
    from harness.importing.claimed import OPTION, options_of

    for file in found.extraction.files:
        write(f"{file.name.path}: {', '.join(_facts(file, found.extraction.entries))}")
    for left in found.extraction.left:
        output.note(f"not a file: line {left.block.line}, {left.block.kind.value}: {left.why.value}")
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
    """Whether a file is an entry, where it stands, what named it, and where it does not parse."""
    if file.name.path in entries:
        yield "entry"
    places = [f"{b.block.line + 1}-{b.block.last - 1}" for b in file.blocks]
    yield f"lines {', '.join(places)} of the reply"
    yield f"named by {file.name.by.value}"
    for block in file.changes:
        yield f"changed as lines {block.block.line + 1}-{block.block.last - 1} say"
    for block in () if file.changes else file.blocks:
        if fault := block.outline.fault:
            yield f"does not parse in line {block.line + fault.line} ({fault.name}) and is graded as it is"


def is_reply(name: str) -> bool:
    """Whether a name given to `grade` is a reply's: a file, or standard input."""
    return name == STANDARD_INPUT or os.path.isfile(name)


@contextmanager
def laid_out(workspace: "Workspace", names: Sequence[str], challenge: str | None) -> Iterator[list[Path]]:
    """Folders for names given to `grade`: those of submissions, and for replies temporary ones outside submissions/.

    Args:
        workspace: holds challenges and submissions.
        names: as `Workspace.select` takes them, or files with replies.
        challenge: what the replies answer.

    Raises:
        HarnessError: a name fits nothing, or a reply holds no submission that can be told.
    """
    replies = [name for name in names if is_reply(name)]
    if replies and challenge is None:
        raise typer.BadParameter(
            f"{replies[0]} is no submission's folder; a model's reply is graded with its challenge:\n"
            f"  harness grade {replies[0]} --challenge CHALLENGE"
        )
    if challenge is not None and not replies:
        given = ", ".join(names) or "nothing"
        raise typer.BadParameter(f"--challenge says what a file with a reply answers, and {given} is no file")
    with ExitStack() as stack:
        made = [_laid_out(workspace, name, challenge or "", stack) for name in replies]
        yield [*made, *workspace.select([name for name in names if name not in replies])]


def _laid_out(workspace: "Workspace", name: str, challenge: str, stack: ExitStack) -> Path:
    from harness.importing.reply import ReplyImporter, lay_out_reply
    from harness.importing.reply_text import read_reply
    from harness.model import identifier
    from harness.sandbox import scratch

    task = workspace.challenge(challenge)
    model = identifier(Path(name).stem) or "reply"
    importer = ReplyImporter(read_reply(name), model, task)
    folder = stack.enter_context(scratch.folder()) / model / task.id
    lay_out_reply(importer, folder)
    tell(importer.found, task, output.note, f"harness import reply {name} --model {model} --challenge {task.id}")
    return folder
