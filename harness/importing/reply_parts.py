"""Files in one code block, named by lines that are no code or stand between them: it is taken apart there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from harness.importing.fences import FencedBlock
from harness.importing.reply_names import file_name, label_of
from harness.importing.reply_patches import patch_parts
from harness.importing.reply_shell import shell_parts
from harness.languages import Outline

_RULED = re.compile(r"(={3,}|-{3,}|\*{3,})[ \t]*(?P<said>[^=*\n]{1,300}?)[ \t]*\1[=*-]*$")
_RULER = re.compile(r"(?:#|//)[ \t]{0,9}[-=*#/~]{3,200}[ \t]*$")
_CONTINUES = re.compile(
    r"\b(?:part|section)[ ]?(?:[2-9]|two|three|ii)\b|\b(?:continu(?:ed|ing|ation)|cont'?d)\b", re.IGNORECASE
)
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
    for parts in (patch_parts(block), shell_parts(block)):
        if list(parts) != [block]:
            return parts
    return _ruled_parts(block, broken)


def continued(blocks: Sequence[FencedBlock], outline: Callable[[str, str], Outline | None]) -> list[FencedBlock]:
    """The blocks, with those that say they continue a file put to the end of it.

    Args:
        blocks: in order.
        outline: of a text as the file of a path.
    """
    made = list[FencedBlock]()
    for block in blocks:
        named = file_name(block)
        before = next((b for b in reversed(made) if named and (n := file_name(b)) and n.path == named.path), None)
        if named is None or before is None or not _CONTINUES.search(" ".join((*block.above[:2], block.info))):
            made.append(block)
            continue
        text = f"{before.text.rstrip()}\n\n{'' if block.text[:1].isspace() else chr(10)}{block.text.lstrip(chr(10))}"
        first, second, both = (outline(each, named.path) for each in (before.text, block.text, text))
        if both is None or both.fault or (first and second and first.defines & second.defines):
            made.append(block)
        else:
            made[made.index(before)] = replace(before, text=text, last=block.last)
    return made


def _ruled_parts(block: FencedBlock, broken: Callable[[str, str], bool]) -> Sequence[FencedBlock]:
    """As `parts_of`, by lines that name each file."""
    lines = block.text.split("\n")
    marks = {_above(lines, at): name for at, line in enumerate(lines) if (name := _marked(line))}
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


def _above(lines: Sequence[str], at: int) -> int:
    """The line where the head of a file begins that is named in a line: a comment that rules it off above."""
    return at - 1 if at and _RULER.match(lines[at - 1]) and _is_remark(lines[at]) else at


def _is_remark(line: str) -> bool:
    return line.startswith(("#", "//", "/*"))


def _part(block: FencedBlock, lines: Sequence[str], begin: int, end: int) -> FencedBlock:
    """Lines of a block as a block of its own; a line that is no comment is a label above it."""
    mark = _marked(lines[begin]) or (_marked(lines[begin + 1]) if _RULER.match(lines[begin]) else "")
    if not mark:  # named from outside the block
        return replace(block, text=_text(lines[begin:end]), last=block.line + 1 + end)
    ruled = not _is_remark(lines[begin])
    text = _text(lines[begin + ruled : end])
    above = (f"`{mark}`",) if ruled or _RULER.match(lines[begin]) else ()
    return replace(block, line=block.line + begin + ruled, last=block.line + 1 + end, info="", text=text, above=above)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
