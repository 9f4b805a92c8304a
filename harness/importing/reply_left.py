"""Why each block that became no file is none; one that may be the last word on a file is an error."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import PurePosixPath

from harness.importing.reply_announcements import changes_said, hints_change, says_change
from harness.importing.reply_blocks import BlockKind, ReplyBlock
from harness.importing.reply_patches import is_applied
from harness.importing.reply_taken import Choice, PassedOver, TakenFile
from harness.importing.reply_text import ReplyProblem
from harness.model.collection import SUBMISSION_FILE

_NEVER_FILES = {
    BlockKind.SHELL: PassedOver.COMMANDS, BlockKind.SCRIPT: PassedOver.COMMANDS, BlockKind.OUTPUT: PassedOver.TEXT,
    BlockKind.FOREIGN: PassedOver.FOREIGN, BlockKind.PARTIAL: PassedOver.DRAFT, BlockKind.PATCH: PassedOver.PATCH,
    BlockKind.STUBS: PassedOver.STUBS,
}  # fmt: skip
_REMARK = re.compile(r"(?:^|[ \t])[ \t]*(?:#|//).*$")
_ALIKE = 0.6
"""Share of two lines that is the same where one may be a change of the other."""
_FEW, _COMPARED = 10, 3000
"""Lines of a block, and of a file, that are compared."""
_EDITS = re.compile(r"\bsed[ ]+(?:-\w+[ ]+)*-\w*i|\bperl[ ]+(?:-\w+[ ]+)*-\w*i|\bpatch\b|\bgit apply\b|>>?|\btee\b")


def why_left(choice: Choice, block: ReplyBlock, entry: TakenFile) -> PassedOver:
    """Why a block is no file.

    Raises:
        ReplyError: it may be the last word on a file that is taken.
    """
    if block.path == SUBMISSION_FILE:
        return PassedOver.SETTINGS
    if id(block) in choice.aside:
        return choice.aside[id(block)]
    about = _about(choice, block, entry)
    if about is None:
        message = (
            f"line {block.line} is the last word on {block.path or block.patched[0]}, and it is no whole file; found"
        )
        raise choice.error(ReplyProblem.UNFINISHED, message)
    if block.line < min(b.line for b in about.blocks):
        return _NEVER_FILES.get(block.kind) or _earlier(block, about)
    if is_repeated(block, choice.taken.values()):
        return PassedOver.EXCERPT
    if (_changes(block, about) or _is_fragment(choice, block)) and not _sketches_tests(choice, block, about):
        message = f"line {block.line} is the last word on {about.name.path}, and it is no whole file; found"
        raise choice.error(ReplyProblem.UNFINISHED, message, [*about.blocks, block])
    return _NEVER_FILES.get(block.kind, PassedOver.EXAMPLE)


def is_repeated(block: ReplyBlock, files: Iterable[TakenFile]) -> bool:
    """Whether a block shows what stands in a file as it is taken."""
    if block.kind is BlockKind.PATCH:
        return any(is_applied(file.text, block.block.text) for file in files)
    return block.kind in (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.OUTPUT) and _repeats(block, files)


def _about(choice: Choice, block: ReplyBlock, entry: TakenFile) -> TakenFile | None:
    """The file that a block speaks of: the one it names, or else the entry; None of one that is not taken."""
    named = {PurePosixPath(path).name for path in (block.path, *block.patched) if path}
    for known, file in choice.taken.items():
        if PurePosixPath(known).name in named:
            return file
    return None if named and block.kind in (BlockKind.PARTIAL, BlockKind.PATCH) else entry


def _earlier(block: ReplyBlock, about: TakenFile) -> PassedOver:
    defined = frozenset[str]().union(*(b.outline.defines for b in about.blocks))
    return PassedOver.SUPERSEDED if block.name or block.outline.defines & defined else PassedOver.EXAMPLE


def _sketches_tests(choice: Choice, block: ReplyBlock, about: TakenFile) -> bool:
    """Whether a block only hints at tests, of which there are none: the answer is whole without it."""
    known = frozenset[str]().union(*(b.outline.functions for b in about.blocks))
    tested = any(b.kind is BlockKind.TESTS for file in choice.taken.values() for b in file.blocks)
    return (
        block.kind is BlockKind.PARTIAL
        and not block.name
        and block.outline.tests
        and not (tested or block.outline.functions & known)
    )


def _repeats(block: ReplyBlock, files: Iterable[TakenFile]) -> bool:
    """Whether all lines of a block stand in a file, in this order, and others between only where it leaves some out."""
    lines = block.block.text.split("\n")
    bounds = [0, *block.outline.gaps, len(lines) + 1]
    pieces = [_bare("\n".join(lines[begin : end - 1])) for begin, end in pairwise(bounds)]
    pieces = [piece for piece in pieces if piece.strip()]
    return bool(pieces) and any(_in_order(pieces, _bare(file.text)) for file in files)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece) - 1  # the line end is the next piece's as well
    return True


def _bare(text: str) -> str:
    return "\n" + "".join(f"{line}\n" for line in map(str.strip, text.split("\n")) if line)


def _is_fragment(choice: Choice, block: ReplyBlock) -> bool:
    """Whether lines of code are said to replace others, and are no example that uses the contract."""
    used = (block.outline.needs or frozenset()) | block.outline.imported
    if block.kind not in (BlockKind.SOURCE, BlockKind.OUTPUT) or block.name:
        return False
    if not used.isdisjoint(choice.challenge.contract.functions):
        return False
    if says_change(block) and block.kind is BlockKind.SOURCE:
        return True
    return hints_change(block) and any(_resembles(block, file.text) for file in choice.taken.values())


def _resembles(block: ReplyBlock, text: str) -> bool:
    """Whether a line of a block is almost one of a text."""
    known = [line.strip() for line in text.split("\n")[:_COMPARED] if line.strip()]
    lines = [bare for line in block.block.text.split("\n") if (bare := _REMARK.sub("", line).strip())][:_FEW]
    return any(get_close_matches(line, known, 1, _ALIKE) for line in lines if line not in known)


def refuse_changes_said(choice: Choice, entry: TakenFile) -> None:
    """Refuse a reply whose last words on the entry are a sentence that says what to replace in it.

    Raises:
        ReplyError: there is such a sentence.
    """
    last = max(b.line for b in (*entry.blocks, *entry.changes))
    for old, new in changes_said(line for number, line in choice.prose if number > last):
        if old in entry.text and new not in entry.text:
            message = f"a sentence says to replace `{old}` by `{new}` in {entry.name.path}, which is not done; found"
            raise choice.error(ReplyProblem.UNFINISHED, message, entry.blocks)


def _changes(block: ReplyBlock, about: TakenFile) -> bool:
    """Whether a block that follows a whole file is a change of it."""
    functions = frozenset[str]().union(*(b.outline.functions for b in about.blocks))
    match block.kind:
        case BlockKind.PARTIAL | BlockKind.PATCH:
            return True
        case BlockKind.SCRIPT | BlockKind.SHELL:
            named = [line for line in block.block.text.split("\n") if PurePosixPath(about.name.path).name in line]
            return bool(named) and (block.kind is BlockKind.SCRIPT or any(map(_EDITS.search, named)))
        case BlockKind.STUBS | BlockKind.FOREIGN:
            return False
        case BlockKind.TESTS:
            return bool(block.name)
        case _:
            return bool(block.shares(functions)) or bool(block.name and block.outline.defines)
