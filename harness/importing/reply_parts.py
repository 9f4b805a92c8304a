"""Files in one code block, named by lines that are no code or stand between them: it is taken apart there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from harness.importing.fences import FencedBlock
from harness.importing.reply_names import file_name, label_of

_RULED = re.compile(r"(={3,}|-{3,}|\*{3,})[ \t]*(?P<said>[^=*\n]{1,300}?)[ \t]*\1[=*-]*$")
_MAGIC = re.compile(r"%%(?:writefile|file)[ \t]{1,9}(?P<said>[^-\s].{0,300})$")
_REMARK = re.compile(r"(?:#|//|/\*\*?)[ \t]{0,9}(?P<said>\S.{0,300}?)[ \t*/]{0,9}$")


def parts_of(block: FencedBlock, broken: Callable[[str, str], bool]) -> Sequence[FencedBlock]:
    """The blocks of one file each that a block consists of, in order; itself where it is one file.

    Args:
        block: as it was found.
        broken: whether a text does not parse as the file of that path.
    """
    if block.nests or block.inner or not block.closed:
        return [block]
    lines = block.text.split("\n")
    marks = {at: name for at, line in enumerate(lines) if (name := _marked(line))}
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    own = marks.get(first) or (named.path if (named := file_name(block)) else "")
    starts = [at for at in marks if at != first]
    names = [own, *(marks[at] for at in starts)]
    if not own or len({*names}) < len(names) or not (starts or (first in marks and not _is_remark(lines[first]))):
        return [block]
    bounds = [first if first in marks else 0, *starts, len(lines)]
    parts = [_part(block, lines, begin, end) for begin, end in pairwise(bounds)]
    if not all(part.text.strip() for part in parts):
        return [block]
    if not broken(block.text, own) and any(broken(part.text, name) for part, name in zip(parts, names, strict=True)):
        return [block]  # the lines stand in a string or comment
    return parts


def _marked(line: str) -> str:
    """The file that a line names and says nothing else; empty where it is none such."""
    found = _MAGIC.match(line) or _RULED.match(line) or _REMARK.match(line)
    return label_of(found["said"]) if found else ""


def _is_remark(line: str) -> bool:
    return line.startswith(("#", "//", "/*"))


def _part(block: FencedBlock, lines: Sequence[str], begin: int, end: int) -> FencedBlock:
    """Lines of a block as a block of its own; a line that is no comment is a label above it."""
    mark = _marked(lines[begin])
    if not mark:  # named from outside the block
        return replace(block, text=_text(lines[begin:end]), last=block.line + 1 + end)
    ruled = not _is_remark(lines[begin])
    text = _text(lines[begin + ruled : end])
    above = (f"`{mark}`",) if ruled else ()
    return replace(block, line=block.line + begin + ruled, last=block.line + 1 + end, info="", text=text, above=above)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
