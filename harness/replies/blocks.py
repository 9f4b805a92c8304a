"""The code blocks of a reply in Markdown, and the prose between them.

Three more forms give blocks: `<file path="NAME">` up to `</file>`, shell commands that write files (`cat > NAME
<<'END'`), and JSON that maps names to files.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from harness.errors import ReplyError
from harness.replies.envelopes import files_of
from harness.replies.text import ReplyProblem, ReplyText

MAX_BLOCKS = 1000
"""Most code blocks that are read."""
MARKDOWN = frozenset({"markdown", "md", "mdx", "gfm"})
SHELL = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal"})
NEW = "new-file"
"""Language, in an info string of ours, of a file that a patch creates."""
_RULES = ("file", "fence", "code", "blockquote", "hr", "list", "heading", "paragraph")
_FENCE = re.compile(r"[ \t>]{0,99}(?:`{3,}|~{3,})")
_FILE_TAG = re.compile(r"<(?:file|document|artifact|antArtifact)[ \t][^<>\n]{1,400}>", re.IGNORECASE)
_QUOTED = " \t>"
_HERE = re.compile(
    r"[ \t]{0,20}cat\b(?P<before>[^\n<]{0,300})<<[ ]?(?P<quote>['\"]?)(?P<end>\w{1,40})(?P=quote)"
    r"(?P<after>[^\n]{0,300})"
)
_TARGET = re.compile(r"[ ]{0,3}>[ ]{0,3}['\"]?(?P<path>[\w./-]{1,200})['\"]?[ ]{0,3}")
_EXPANDED = re.compile(r"[$`\\]")
OUTPUT = re.compile(r"(?:(?<![>-])>{1,2}(?![>=&])|\btee(?:[ ]-a)?\b)[ ]?(?P<file>[\w./\"'$*]+)")
"""Output redirection in a line of shell commands."""
EDITS = re.compile(r"\b(?:sed|patch|apply|mv|cp|perl)\b")
"""Commands that write files among their operands."""


@dataclass(frozen=True)
class CodeBlock:
    """One block of a reply.

    Attributes:
        number: number for `--take`, from 1; 0 before numbering.
        line: line of its opening fence, from 1, or its first line if unfenced.
        last: line of its closing fence, or its last line without one.
        info: text after the opening fence.
        above: non-blank prose above it, nearest line first.
        closed: false if its end is missing, which CommonMark accepts.
        inner: line of an opening fence within it, or 0; one suggests a missing end.
        fenced: true with an opening fence or a stand-in for one.
    """

    number: int
    line: int
    last: int
    info: str
    text: str
    above: tuple[str, ...] = ()
    closed: bool = True
    inner: int = 0
    fenced: bool = True

    @property
    def first(self) -> int:
        """First line of its text."""
        return self.line + self.fenced

    @property
    def tongue(self) -> str:
        """Lower-case language in the info string, or ""."""
        words = re.split(r"[\s:,{}]+", self.info.strip().lstrip("{").lstrip("."), maxsplit=1)
        return "" if "=" in words[0] else words[0].lower().removeprefix("language-")


@dataclass(frozen=True)
class ReplyParts:
    """The blocks of a reply, and the prose outside them."""

    blocks: tuple[CodeBlock, ...]
    prose: tuple[str, ...]


def find_blocks(reply: ReplyText) -> ReplyParts:
    """Find the blocks of a reply and the prose around them.

    Raises:
        ReplyError: there are more than `MAX_BLOCKS`.
    """
    _refuse_many(reply, sum(bool(_FENCE.match(line)) for line in reply.lines) // 2)
    tokens = [token for token in _build_parser().parse("\n".join(reply.lines)) if token.type == "fence"]
    blocks, prose, end = list[CodeBlock](), list[str](), 0
    for token in tokens:
        begin, after = token.map or (0, 0)
        above = reply.lines[end:begin]
        prose += above
        filled = tuple(line for line in reversed(above) if line.strip(_QUOTED))
        block = _build_block(token, begin, after, reply.lines, filled)
        blocks += _expand(block) if block.closed or block.text.strip() or block.info else []
        end = after
    _refuse_many(reply, len(blocks))
    return ReplyParts(tuple(blocks), tuple([*prose, *reply.lines[end:]]))


def _refuse_many(reply: ReplyText, count: int) -> None:
    if count > MAX_BLOCKS:
        raise ReplyError(
            reply.path,
            ReplyProblem.TOO_LARGE,
            f"holds more than {MAX_BLOCKS} code blocks, the most that are read",
            hint="keep the reply itself, without logs and data, and import that",
        )


def _build_parser() -> MarkdownIt:
    # HTML stays prose
    parser = MarkdownIt("commonmark")
    parser.block.ruler.before("fence", "file", _parse_file_tag, {"alt": ["paragraph", "blockquote", "list"]})
    parser.block.ruler.enableOnly(_RULES)
    parser.core.ruler.enableOnly(["block"])
    return parser


def _parse_file_tag(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse `<file path="NAME">` to `</file>`, as a block rule of markdown-it-py.

    Decline if the content is fenced: then the fence is the block and the tag its label.
    """
    line = _get_line(state, first).strip()
    if not _FILE_TAG.fullmatch(line):
        return False
    within = next((text for at in range(first + 1, end) if (text := _get_line(state, at).strip())), "")
    if _FENCE.match(within) or _FILE_TAG.fullmatch(within):
        return False
    if not silent:
        closing = f"</{line[1:].split(maxsplit=1)[0]}>".lower()
        last = next((at for at in range(first + 1, end) if _get_line(state, at).strip().lower() == closing), end)
        token = state.push("fence", "code", 0)
        token.info, token.markup, token.map = f"file {line[1:-1]}", "<", [first, min(last + 1, end)]
        token.content = "".join(f"{_get_line(state, at)}\n" for at in range(first + 1, last))
        token.meta = {"closed": last < end}
        state.line = min(last + 1, end)
    return True


def _get_line(state: StateBlock, at: int) -> str:
    return state.src[state.bMarks[at] : state.eMarks[at]]


def _build_block(token: Token, begin: int, after: int, lines: Sequence[str], above: tuple[str, ...]) -> CodeBlock:
    mark, inner = token.markup, 0
    if mark == "<":
        return CodeBlock(0, begin + 1, after, token.info, token.content, above, token.meta["closed"])
    bare = lines[after - 1].strip(_QUOTED)
    closed = after - 1 > begin and len(bare) >= len(mark) and not bare.strip(mark[0])
    opening = re.compile(rf"[ ]{{0,3}}{mark[0]}{{{len(mark)}}}[^\s{mark[0]}]")
    for number, line in enumerate(token.content.split("\n"), begin + 2):
        if opening.match(line):
            inner = number
            break
    return CodeBlock(0, begin + 1, after, token.info.strip(), token.content, above, closed, inner)


def _expand(block: CodeBlock) -> list[CodeBlock]:
    if not block.closed:
        return [block]
    if block.tongue == "json" and (files := files_of(block.text)):
        return [replace(block, info=f'title="{path}"', text=_end_with_newline(text)) for path, text in files.items()]
    return list(_expand_shell(block)) if block.tongue in SHELL else [block]


def _expand_shell(block: CodeBlock) -> Iterator[CodeBlock]:
    """Yield the files that shell commands write, or the block itself if the shell would expand them.

    Other commands follow as one block if they may write files as well.
    """
    lines, found, others, at = block.text.split("\n"), list[CodeBlock](), list[str](), 0
    while at < len(lines):
        here, start = _HERE.fullmatch(lines[at]), at
        at += 1
        if here is None:
            others.append(lines[start])
            continue
        at = next((n for n in range(at, len(lines)) if lines[n] == here["end"]), len(lines))
        text = "".join(f"{line}\n" for line in lines[start + 1 : at])
        target = _TARGET.fullmatch(here["before"] + here["after"])
        if at == len(lines) or target is None or (not here["quote"] and _EXPANDED.search(text)):
            yield block
            return
        place = replace(block, line=block.first + start, last=block.first + at)
        found.append(replace(place, info=f'title="{target["path"]}"', text=text))
        at += 1
    yield from found or [block]
    if found and any(OUTPUT.search(line) or EDITS.search(line) for line in others):
        yield replace(block, text=_end_with_newline("\n".join(others)))


def _end_with_newline(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
