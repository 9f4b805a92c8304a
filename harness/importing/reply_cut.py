"""A reply that ends within a block: what is whole before it is taken where nothing taken needs what was cut off."""

import re
from dataclasses import replace

from harness.errors import NoAnswerError, ReplyError
from harness.importing.fences import FencedBlock
from harness.importing.reply_announcements import is_optional
from harness.importing.reply_blocks import BlockKind, ReplyBlock, read_block
from harness.importing.reply_choice import choose
from harness.importing.reply_names import names_in
from harness.importing.reply_taken import Choice, Extraction, LeftBlock, PassedOver, imports
from harness.importing.reply_text import ReplyProblem

_CODE = re.compile(
    r"(?: {4}|\t)\S|(?:def|class|import|from|return|for|if|while|#include|template|__global__)\b|.*[;{}]$"
)
_BEGINS_FILE = re.compile(r"\s*(?:\"\"\"|'''|import\b|from\b|#include|#pragma|//|/\*|# -\*-)")
_DEMO = re.compile(r"(?:^|[_/])(?:demo|bench\w*|example\w*|usage|main)\b", re.IGNORECASE)


def choose_before(choice: Choice, block: FencedBlock) -> Extraction:
    """The files of a reply without its last block, which is cut off.

    Raises:
        ReplyError: they cannot be told, or may need what was cut off.
    """
    error = cut_error(choice.reply, block)
    cut = _read(choice, block)
    try:
        found = choose(choice)
    except ReplyError:
        raise error from None
    if _is_needed(choice, found, cut):
        raise error
    return replace(found, left=(*found.left, LeftBlock(cut, PassedOver.CUT_OFF)))


def cut_error(reply: str, block: FencedBlock) -> NoAnswerError:
    """The error about a reply that ends within a block."""
    return NoAnswerError(
        reply, ReplyProblem.CUT_OFF,
        f"is cut off: the code block that begins in line {block.line} never ends",
        hint="ask the model again with room for a longer reply, and import that",
    )  # fmt: skip


def _read(choice: Choice, block: FencedBlock) -> ReplyBlock:
    """What a block that is cut off is, told by all of it that is whole."""
    last, first = (
        read_block(replace(block, text=text), choice.challenge, choice.language, choice.reply)
        for text in (block.text, _whole_lines(block.text))
    )
    outline = replace(first.outline, functions=first.outline.functions | last.outline.functions)
    kind = first.kind if last.kind is BlockKind.SOURCE else last.kind
    return replace(last, kind=kind, name=last.name or first.name, outline=outline)


def _whole_lines(text: str) -> str:
    """A text that was cut off, up to the last statement at its top level, which may not be whole."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if line[:1].strip() and line[0] not in ")]}#@"]
    return "\n".join(lines[: starts[-1]]) + "\n" if starts else ""


def _is_needed(choice: Choice, found: Extraction, cut: ReplyBlock) -> bool:
    """Whether the files taken may need the block that is cut off, or one that would have followed it."""
    paths = [file.name.path for file in found.files]
    sources = [block for file in found.files for block in file.blocks]
    announced = {name for _, line in choice.prose for name in names_in(line)} | {cut.path} - {""}
    lacking = [path for path in announced if path.rpartition("/")[2] not in {p.rpartition("/")[2] for p in paths}]
    if any(imports(block, path) for block in sources for path in lacking):
        return True
    if is_optional(cut):
        return False
    if not cut.block.text.strip() and not cut.block.info:  # one fence too many
        return any(map(_CODE.match, cut.block.above))
    if cut.path in paths:
        return cut.kind is BlockKind.SOURCE and not _BEGINS_FILE.match(cut.block.text)
    if cut.name:
        return cut.kind is not BlockKind.DOCUMENT and not _stands_alone(choice, cut)
    match cut.kind:
        case BlockKind.SHELL | BlockKind.FOREIGN:
            return False
        case BlockKind.OUTPUT:
            return any(map(_CODE.match, cut.block.above)) or any(map(_CODE.match, cut.block.text.split("\n")))
        case BlockKind.TESTS:
            return False
        case BlockKind.SOURCE:
            entry = next(file for file in found.files if file.name.path == found.entries[0])
            begins = _BEGINS_FILE.match(cut.block.text)
            again = cut.outline.functions & {*choice.challenge.contract.functions}
            return not (imports(cut, entry.name.path) or (begins and again))
    return True


def _stands_alone(choice: Choice, cut: ReplyBlock) -> bool:
    """Whether a file that is imported by none is no part of the answer: in C it could be compiled beside it."""
    used = cut.language
    if cut.kind in (BlockKind.PATCH, BlockKind.PARTIAL, BlockKind.STUBS, BlockKind.SCRIPT):
        return False
    return used is None or not used.several_entries or used.syntax.is_test(cut.path) or bool(_DEMO.search(cut.path))
