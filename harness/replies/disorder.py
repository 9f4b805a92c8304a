"""Detection of misleading blocks."""

import re

from harness.replies.blocks import EDITS, NEW, OUTPUT, SHELL
from harness.replies.found import BlocksOfReply, ReadBlock
from harness.replies.names import labels_within, names_in

_ENTITIES = re.compile(r"&(?:lt|gt|amp|quot|#39);")
_INCLUDE = re.compile(r"^#include[ ]?&(?:lt|quot);", re.MULTILINE)


def refuse_disorder(asked: BlocksOfReply) -> None:
    """Refuse code outside blocks, and blocks that may hold more or less than one file.

    Raises:
        ReplyError: the reply is refused.
    """
    outside = asked.language.syntax.outline("\n".join(asked.prose))
    if outside is not None and outside.functions & asked.contract - outside.stubs:
        raise asked.ambiguous(f"defines {min(outside.functions & asked.contract)} outside its code blocks")
    given: dict[str, str] = {}
    for read in asked.blocks:
        if read.block.inner:
            message = f"opens a block in line {read.block.inner}, within the one of line {read.block.line}"
            raise asked.ambiguous(message)
        if problem := _find_problem(read, given):
            raise asked.ambiguous(problem)
        given.setdefault(read.path, read.block.text)


def _find_problem(read: ReadBlock, given: dict[str, str]) -> str:
    block = read.block
    if read.language is not None and (second := next(labels_within(block.text, read.path), 0)):
        return f"names another file in line {block.first + second - 1}, within the block of line {block.line}"
    if _INCLUDE.search(block.text) or (read.outline.fault and _ENTITIES.search(block.text)):
        return f"holds HTML entities in place of characters in the block of line {block.line}"
    if block.tongue == NEW and given.get(read.path, block.text) != block.text:
        return f"creates {read.path} in line {block.line}, but an earlier block already gave it"
    if block.tongue in SHELL and any(map(_writes_file, block.text.split("\n"))):
        return f"changes files with shell commands in the block of line {block.line}"
    return ""


def _writes_file(command: str) -> bool:
    written = command if EDITS.search(command) else " ".join(match["file"] for match in OUTPUT.finditer(command))
    # `*.py` names files as well
    return bool(names_in(written.replace("*.", "any.")))
