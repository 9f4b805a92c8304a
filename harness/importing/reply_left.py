"""Why each block that became no file is none; one that may be the last word on a file is an error."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import PurePosixPath

from harness.importing.reply_announcements import changes_said, hints_change, is_left_out, is_supposed, says_change
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
_HASH_REMARK = re.compile(r"(?:^|[ \t])[ \t]*#[^\"']*$")
_LOG = re.compile(
    r"^(?:E  |> {2,}|Traceback \(most recent|={3,} .{1,60} ={3,}$|_{3,} .{1,60} _{3,}$|FAILED |PASSED )", re.MULTILINE
)
_ALIKE = 0.6
"""Share of two lines that is the same where one may be a change of the other."""
_BETWEEN = 60
"""Characters between two blocks of which the second may take the place of the first."""
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
    if (
        _changes(choice, block, about) or _is_fragment(choice, block) or _is_other_half(choice, block)
    ) and not _sketches_tests(choice, block, about):
        if is_left_out(block) and not block.block.adds:
            return PassedOver.OPTIONAL
        message = f"line {block.line} is the last word on {about.name.path}, and it is no whole file; found"
        raise choice.error(ReplyProblem.UNFINISHED, message, [*about.blocks, block])
    return _NEVER_FILES.get(block.kind, PassedOver.EXAMPLE)


def is_repeated(block: ReplyBlock, files: Iterable[TakenFile]) -> bool:
    """Whether a block shows what stands in a file as it is taken."""
    if block.kind is BlockKind.PATCH:
        return any(is_applied(file.text, block.block.text) for file in files)
    return block.kind in (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.OUTPUT) and _repeats(block, files)


def _about(choice: Choice, block: ReplyBlock, entry: TakenFile) -> TakenFile | None:
    """The file that a block speaks of: the one it names or whose functions it has, or else the entry; None of one that
    is not taken."""
    named = {PurePosixPath(path).name for path in (block.path, *block.patched) if path}
    for known, file in choice.taken.items():
        if PurePosixPath(known).name in named:
            return file
    if named and block.kind in (BlockKind.PARTIAL, BlockKind.PATCH):
        return None
    if block.shares(_functions(entry)) or block.language is None:
        return entry
    return next((file for file in choice.taken.values() if block.shares(_functions(file))), entry)


def _functions(file: TakenFile) -> frozenset[str]:
    return frozenset[str]().union(*(b.outline.functions for b in file.blocks))


def _earlier(block: ReplyBlock, about: TakenFile) -> PassedOver:
    defined = frozenset[str]().union(*(b.outline.defines for b in about.blocks))
    return PassedOver.SUPERSEDED if block.name or block.outline.defines & defined else PassedOver.EXAMPLE


def _sketches_tests(choice: Choice, block: ReplyBlock, about: TakenFile) -> bool:
    """Whether a block only hints at tests, of which there are none: the answer is whole without it."""
    known = _functions(about)
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
    found = ["\n".join(lines[begin : end - 1]) for begin, end in pairwise(bounds)]
    pieces = [piece for piece in map(_bare, found) if piece.strip()]
    if pieces and any(_in_order(pieces, _bare(file.text)) for file in files):
        return True
    pieces = [piece for each in found if (piece := _bare(_uncommented(each, block))).strip()]
    return bool(pieces) and any(_in_order(pieces, _bare(_uncommented(file.text, block))) for file in files)


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


def _uncommented(text: str, block: ReplyBlock) -> str:
    """A text without the comments behind code and above it, where `#` begins one."""
    known = block.language is None or not any(block.language.syntax.code_lines("# said\n"))
    return "\n".join(_HASH_REMARK.sub("", line) for line in text.split("\n")) if known else text


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


def _is_other_half(choice: Choice, block: ReplyBlock) -> bool:
    """Whether an excerpt of a file stands just before a block that is almost the same, with few words between: it may
    be what the excerpt becomes."""
    at = choice.blocks.index(block)
    before = choice.blocks[at - 1] if at else None
    kinds = (BlockKind.SOURCE, BlockKind.OUTPUT)
    if before is None or before.kind not in kinds or block.kind not in kinds or before.name or block.name:
        return False
    files = choice.taken.values()
    said = "".join(block.block.above).strip()
    if len(said) > _BETWEEN or is_supposed(block) or any(before in file.blocks for file in files):
        return False
    return is_repeated(before, files) and _resembles(block, before.block.text)


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


def _changes(choice: Choice, block: ReplyBlock, about: TakenFile) -> bool:
    """Whether a block that follows a whole file is a change of it."""
    functions = _functions(about)
    match block.kind:
        case BlockKind.PARTIAL | BlockKind.PATCH:
            return True
        case BlockKind.SCRIPT | BlockKind.SHELL:
            named = [line for line in block.block.text.split("\n") if PurePosixPath(about.name.path).name in line]
            return bool(named) and (block.kind is BlockKind.SCRIPT or any(map(_EDITS.search, named)))
        case BlockKind.STUBS | BlockKind.FOREIGN:
            return False
        case BlockKind.OUTPUT if _LOG.search(block.block.text):
            return False
        case BlockKind.TESTS:
            return bool(block.name)
        case _:
            return bool(block.shares(functions)) or bool(block.name and block.outline.defines) or _adds(choice, block)


def _adds(choice: Choice, block: ReplyBlock) -> bool:
    """Whether a block defines an optional function of the contract that no file has."""
    given = frozenset[str]().union(*(b.outline.defines for file in choice.taken.values() for b in file.blocks))
    return bool(block.outline.defines & {*choice.challenge.contract.optional} - given) and not block.outline.tests
