"""The fenced code blocks of a reply in Markdown.

CommonMark closes an open block silently at the end of the text. Here that end is told apart: a reply was cut off there.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.importing.reply_html import preformatted
from harness.importing.reply_text import ReplyText

_QUOTE = re.compile(r"(?:[ ]{0,3}>[ ]?){1,9}")
_OPENING = re.compile(
    r"(?P<lead>[ \t]{0,99}(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]{1,9})?)"
    r"(?:(?P<ticks>`{3,})(?P<info>[^`]*)|(?P<waves>~{3,})(?P<said>.*))$"
)
_ANSWER = re.compile(
    r"[ \t]{0,20}<(?P<tag>answer|final_answer|solution|code|python|cuda|submission)>[ \t]*$", re.IGNORECASE
)
_GLUED = re.compile(
    r"[^`]{1,500}[:.][ \t]{0,3}(?P<fence>`{3,}[ \t]{0,3}(?:python|py|cuda|cu|cpp|c\+\+|c))[ \t]*$", re.IGNORECASE
)
_UNREAD = re.compile(
    r"[ \t]{0,20}<(?:pre|write_to_file|replace_in_file|apply_diff|invoke|tool_call|function_calls)\b", re.IGNORECASE
)
_NESTING = frozenset({"markdown", "md", "mdx", "gfm", "mkd"})
_TAG = re.compile(
    r"[ \t]{0,20}<(?P<tag>antArtifact|artifact|file|document|source_file)\b(?P<info>[^<>]{0,999})>[ \t]*$",
    re.IGNORECASE,
)
_UNSEEN = re.compile(r"[\u00a0\u200b-\u200f\u2060\u3000\ufeff]")
_RULER = re.compile(r"([=*#~_-])\1{7,199}$")
_LANGUAGE = re.compile(r"\blang(?:uage)?=[\"']?([\w+#-]{1,40})", re.IGNORECASE)
_FURTHER = 16
"""Closing fences that a block with an open comment or string may run past."""


@dataclass(frozen=True)
class FencedBlock:
    """One fenced block.

    Attributes:
        line: of its opening fence, from 1.
        last: of its closing fence; of the last line where it has none.
        info: what follows the opening fence.
        text: between the fences, without the indentation of the opening one.
        above: lines of prose before it, back to the block before, the nearest first.
        closed: whether it has a closing fence.
        inner: line of an opening fence within it, 0 where there is none that matters.
        adds: whether it came with nothing to search for, and may add to a file rather than be all of it.
    """

    line: int
    last: int
    info: str
    text: str
    above: tuple[str, ...] = ()
    closed: bool = True
    inner: int = 0
    adds: bool = False

    @property
    def tongue(self) -> str:
        """What the info string calls the language, in lower case; empty where it names none."""
        words = re.split(r"[\s:,{}]+", self.info.strip().lstrip("{").lstrip("."), maxsplit=1)
        return words[0].lower().removeprefix("language-")

    @property
    def nests(self) -> bool:
        """Whether it is Markdown, which may hold fences of its own."""
        return self.tongue in _NESTING


@dataclass(frozen=True)
class Fenced:
    """What a reply consists of.

    Attributes:
        blocks: in order.
        html: lines outside blocks that begin code in HTML, or in tags of tools that are not read.
        prose: lines outside blocks, reasoning left out, with their numbers from 1.
    """

    blocks: tuple[FencedBlock, ...]
    html: tuple[int, ...]
    prose: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class _Fence:
    """An opening fence: its sign and number of signs, its indentation, whether it is quoted, its info string."""

    sign: str
    count: int
    indent: int
    quoted: bool
    info: str

    def content(self, line: str) -> str:
        """A line of the block as it is in the file."""
        if self.quoted and (mark := _QUOTE.match(line)):
            line = line[mark.end() :]
        blanks = len(line) - len(line.lstrip(" \t"))
        return line[min(self.indent, blanks) :]


def fenced(reply: ReplyText, whole: Callable[[FencedBlock], bool]) -> Fenced:
    """Find the blocks.

    Args:
        reply: read.
        whole: whether a block is whole, and its closing fence none within a comment or string of its text.
    """
    blocks: list[FencedBlock] = []
    html: list[int] = []
    above: list[str] = []
    prose: list[tuple[int, str]] = []
    index = 0
    while index < len(reply.lines):
        line = reply.lines[index]
        index += 1
        opening = None if index in reply.thoughts else _opening(line)
        if opening is None and index not in reply.thoughts and (block := _tagged(reply.lines, index)):
            blocks.append(replace(block, above=block.above or tuple(reversed(above[-60:]))))
            above.clear()
            index = block.last
            continue
        if opening is None:
            if index not in reply.thoughts:
                above.append(line)
                prose.append((index, line))
                html += [index] if _UNREAD.match(line) else []
            continue
        block = _block(reply.lines, index, opening, tuple(reversed(above[-60:])), whole)
        blocks.append(block)
        above.clear()
        index = block.last
    return Fenced(tuple(blocks), tuple(html), tuple(prose))


def indented(reply: ReplyText) -> Iterator[FencedBlock]:
    """What Markdown takes for code in a reply without fences: lines that are indented by four blanks or a tab."""
    above: list[str] = []
    index = 0
    while index < len(reply.lines):
        begins = not above or not above[-1].strip()
        end = index
        while begins and end < len(reply.lines) and end + 1 not in reply.thoughts and _is_indented(reply.lines[end]):
            end += 1
        content = [re.sub(r"^(?: {4}|\t)", "", line) for line in reply.lines[index:end]]
        if any(map(str.strip, content)):
            yield FencedBlock(index, end + 1, "", _joined(content).rstrip() + "\n", tuple(reversed(above[-60:])))
            above.clear()
            index = end
        else:
            above += [reply.lines[index]] if index + 1 not in reply.thoughts else []
            index += 1


def between_rulers(reply: ReplyText) -> FencedBlock | None:
    """What stands between the only two lines of a reply that are rulers, where those are alike."""
    said = ["" if number in reply.thoughts else line.strip() for number, line in enumerate(reply.lines, 1)]
    rulers = [number for number, line in enumerate(said, 1) if _RULER.match(line)]
    if len(rulers) != 2 or said[rulers[0] - 1] != said[rulers[1] - 1]:
        return None
    first, last = rulers
    return FencedBlock(first, last, "", _joined(reply.lines[first : last - 1]), tuple(reversed(said[: first - 1]))[:60])


def _is_indented(line: str) -> bool:
    return line.startswith(("    ", "\t")) or not line.strip()


def opening_tag(line: str) -> re.Match[str] | None:
    """The tag that begins a file where a line holds nothing else, as chat interfaces write their exports."""
    return _TAG.match(line)


def _tagged(lines: Sequence[str], first: int) -> FencedBlock | None:
    """The block that a tag on line `first`, from 1, begins; None where a fence within it does."""
    if found := _ANSWER.match(lines[first - 1]):
        return _answered(lines, first, f"</{found['tag']}>".lower())
    if code := preformatted(lines, first):
        return FencedBlock(first, code.last, code.tongue, code.text)
    found = opening_tag(lines[first - 1])
    within = next((line for line in lines[first : first + 9] if line.strip()), "")
    if found is None or _opening(within) or opening_tag(within) or within.lstrip().startswith("<"):
        return None
    named = _LANGUAGE.search(found["info"])
    info = f"{named[1] if named else 'code'} {found['info'].strip()}"
    end = f"</{found['tag']}>".lower()
    for number in range(first + 1, len(lines) + 1):
        if lines[number - 1].strip().lower() == end:
            return FencedBlock(first, number, info, _joined(lines[first : number - 1]))
    return FencedBlock(first, len(lines), info, _joined(lines[first:]), closed=False)


def _answered(lines: Sequence[str], first: int, end: str) -> FencedBlock | None:
    """What stands between a tag on line `first` and its closing one; None where a fence or another tag does."""
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1].strip().lower()
        if line == end:
            return FencedBlock(first, number, "", _joined(lines[first : number - 1]))
        if _opening(line) or opening_tag(line) or _ANSWER.match(line):
            return None
    return None


def _opening(line: str) -> _Fence | None:
    if _UNSEEN.search(line):
        line = _visible(line)
    if glued := _GLUED.match(line):
        line = glued["fence"]
    mark = _QUOTE.match(line)
    found = _OPENING.match(line, mark.end() if mark else 0)
    if found is None:
        return None
    signs, info = found["ticks"] or found["waves"], found["info"] or found["said"] or ""
    return _Fence(signs[0], len(signs), len(found["lead"]), mark is not None, info.strip())


def _visible(line: str) -> str:
    """A line without characters of no width, and with plain blanks for those of another script."""
    return re.sub(r"[\u00a0\u3000]", " ", re.sub(r"[\u200b-\u200f\u2060\ufeff]", "", line))


def _block(
    lines: Sequence[str], first: int, fence: _Fence, above: tuple[str, ...], whole: Callable[[FencedBlock], bool]
) -> FencedBlock:
    """The block whose opening fence is line `first`, from 1."""
    content: list[str] = []
    candidate: FencedBlock | None = None
    depth, inner, passed = 1, 0, 0
    block = FencedBlock(first, len(lines), fence.info, "", above, False)
    nests = block.nests
    for number in range(first + 1, len(lines) + 1):
        text = fence.content(lines[number - 1])
        kind = _kind(text, fence)
        if kind == "opening":
            inner = inner or (0 if nests else number)
            depth += nests
        if kind == "closing":
            depth -= 1 if nests else 0
            if not nests or not depth:
                closed = FencedBlock(first, number, fence.info, _joined(content), above, True, inner)
                candidate = candidate or closed
                if whole(closed):
                    return closed
                passed += 1
                if passed > _FURTHER:
                    break
                depth = 1
        content.append(text)
    if candidate is not None:
        return candidate
    return FencedBlock(first, len(lines), fence.info, _joined(content), above, False, inner)


def _joined(content: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in content)


def _kind(text: str, fence: _Fence) -> str:
    """What a line within a block is to it: `opening` or `closing` fence, or nothing."""
    if _UNSEEN.search(text):
        text = _visible(text)
    bare = text.strip()
    if len(text) - len(text.lstrip(" \t")) > 3 or not bare.startswith(fence.sign * fence.count):
        return ""
    rest = bare.lstrip(fence.sign)
    if not rest:
        return "closing"
    return "opening" if len(bare) - len(rest) == fence.count and fence.sign not in rest else ""
