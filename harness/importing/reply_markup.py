"""Code that a reply without fences puts into another markup: Org, AsciiDoc, LaTeX, reStructuredText, Jira, BBCode.

Each such block is given fences in place of its own marks, so that lines keep their numbers.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_FENCE = re.compile(r"^[ \t>]{0,40}(?:`{3,}|~{3,})", re.MULTILINE)
_SUFFIX = r"\.[A-Za-z]\w{0,9}"
_NAME = re.compile(rf"(?::tangle[ ]|title=|caption=\{{?|file=)[\"']?(?P<name>[^\s\"',|\]}}]{{1,200}}{_SUFFIX})")
_TITLE = re.compile(rf"\.(?P<name>[\w/][^\s]{{0,200}}{_SUFFIX})[ \t]*$")
_OPTION = re.compile(rf"[ \t]+:(?P<key>[\w-]{{1,40}}):(?:[ ](?P<name>[^\s]{{1,200}}{_SUFFIX})?.*)?$")
_DIRECTIVE = re.compile(r"(?P<lead>[ \t]*)\.\. (?:code-block|code|sourcecode)::[ ]?(?P<tongue>[\w+#-]{0,40})[ \t]*$")


class _Mark(NamedTuple):
    """How a markup begins and ends a block of code."""

    opens: re.Pattern[str]
    closes: re.Pattern[str]


_MARKS = (
    _Mark(
        re.compile(r"[ \t]*#\+begin_src\b[ ]?(?P<tongue>[\w+#-]{0,40})(?P<rest>.*)$", re.IGNORECASE),
        re.compile(r"[ \t]*#\+end_src\b", re.IGNORECASE),
    ),
    _Mark(
        re.compile(
            r"[ \t]*\\begin\{(?:lstlisting|minted|verbatim|python)\}"
            r"(?P<rest>(?:\[[^\]]*\])?)(?:\{(?P<tongue>\w+)\})?[ \t]*$"
        ),
        re.compile(r"[ \t]*\\end\{(?:lstlisting|minted|verbatim|python)\}"),
    ),
    _Mark(
        re.compile(r"[ \t]*\{code(?::(?P<tongue>[\w+#-]{1,40}))?(?P<rest>(?:\|[^}]*)?)\}[ \t]*$"),
        re.compile(r"[ \t]*\{code\}[ \t]*$"),
    ),
    _Mark(
        re.compile(r"[ \t]*\[code(?:=(?P<tongue>[\w+#-]{1,40}))?(?P<rest>)\][ \t]*$", re.IGNORECASE),
        re.compile(r"[ \t]*\[/code\][ \t]*$", re.IGNORECASE),
    ),
    _Mark(
        re.compile(r"\[source(?:,[ ]?(?P<tongue>[\w+#-]{1,40}))?(?P<rest>[^\]]*)\][ \t]*$"), re.compile(r"-{4,}[ \t]*$")
    ),
)


def with_fences(text: str) -> str:
    """A reply with fences around the code that another markup sets off; itself where it has fences already."""
    lines = text.split("\n")
    if _FENCE.search(text) or not any(_DIRECTIVE.match(line) or _opened(line) for line in lines):
        return text
    return "\n".join(_fenced(lines))


def _opened(line: str) -> tuple[_Mark, re.Match[str]] | None:
    return next(((mark, found) for mark in _MARKS if (found := mark.opens.match(line))), None)


def _fenced(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        if directive := _DIRECTIVE.match(lines[at]):
            block = list(_directed(lines, at, directive))
            yield from block
            at += len(block)
            continue
        found = _opened(lines[at])
        first = at + 1
        if found and found[0] is _MARKS[-1] and first < len(lines) and found[0].closes.match(lines[first]):
            first += 1
        last = next((n for n in range(first, len(lines)) if found and found[0].closes.match(lines[n])), -1)
        if found is None:
            yield lines[at]
            at += 1
            continue
        title = _TITLE.match(lines[at - 1]) if at else None
        name = _NAME.search(found[1]["rest"].replace("\\_", "_")) or title
        yield from [""] * (first - at - 1)
        yield _fence(found[1]["tongue"] or "", name["name"] if name else "")
        if last < 0:  # the reply ends within it
            yield from lines[first:]
            return
        yield from lines[first:last]
        yield "```"
        at = last + 1


def _directed(lines: Sequence[str], at: int, directive: re.Match[str]) -> Iterator[str]:
    """The lines of a directive of reStructuredText: its options, and what is indented below it."""
    deeper = len(directive["lead"]) + 1
    last = at + 1
    while last < len(lines) and (not lines[last].strip() or len(lines[last]) - len(lines[last].lstrip()) >= deeper):
        last += 1
    body = at + 1
    name = ""
    while body < last and (option := _OPTION.match(lines[body])):
        name = option["name"] or name
        body += 1
    code = lines[body:last]
    while code and not code[-1].strip():
        code = code[:-1]
    indent = min((len(line) - len(line.lstrip()) for line in code if line.strip()), default=0)
    code = [line[indent:] for line in code]
    blank = next((n for n, line in enumerate(code) if line), 0)
    yield from [""] * (body - at - 1 + blank)
    yield _fence(directive["tongue"], name)
    yield from code[blank:]
    yield "```"
    yield from [""] * (last - body - len(code) - 1)


def _fence(tongue: str, name: str) -> str:
    named = f' title="{name}"' if name else ""
    return f"```{tongue}{named}"
