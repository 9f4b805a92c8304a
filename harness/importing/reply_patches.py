"""Changes of a file that a reply writes as patches: unified diffs, SEARCH/REPLACE blocks, agents' patches.

A change is made only where the lines it names stand exactly once in the file, or at the line that it states.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.importing.fences import FencedBlock

_HUNK = re.compile(r"@@(?: -(?P<line>[0-9]{1,9})(?:,[0-9]{1,9})?[ ]\+[0-9]{1,9}(?:,[0-9]{1,9})?)?(?: @@|$|[ ])")
_SEARCH = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL)\b")
_DIVIDER = re.compile(r"={5,9}$")
_REPLACE = re.compile(r">{5,9} ?(?:REPLACE|UPDATED)?$")
_FILE = re.compile(r"(?:\+\+\+ (?:b/)?|\*\*\* (?:Update|Add) File: )(?P<path>[^\t\n]{1,300})")
_CREATES = re.compile(r"--- /dev/null\b|\*\*\* Add File: ")
_BEGINS = re.compile(r"--- (?=\S)|\*\*\* (?:Update|Add|Delete) File: |diff --git ")
_HEAD = re.compile(r"(?:diff --git|index|new file mode|similarity index|--- |\+\+\+ |\*\*\* (?:Begin|End) Patch)")
_ELSEWHERE = re.compile(r"(?:\*\*\* (?:Delete File|Move to)|rename (?:from|to)|deleted file|\+\+\+ /dev/null)")
_VERSION = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6}){1,4}\b")
_MAIL = re.compile(r"From [0-9a-f]{4,40} |Subject: \[PATCH")
_HEADS = 6
"""Lines that may begin a mail."""
_MOST = 500
"""Hunks of one patch that are read."""


@dataclass(frozen=True)
class Hunk:
    """Lines of a file, and what stands there instead.

    Attributes:
        old: the lines, in order.
        new: what they become.
        line: where they are said to stand, from 1; 0 where nothing says so.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0


def patched_text(text: str, patch: str) -> str | None:
    """The text with a patch applied; None where it does not fit, or could be meant in two ways."""
    results = {made for hunks in _readings(patch) if (made := _applied(text, hunks)) is not None}
    return results.pop() if len(results) == 1 else None


def replaced_lines(text: str, old: str, new: str) -> str | None:
    """The text with lines of it replaced, indented as they stand there; None where they do not stand there once."""
    lines, wanted = text.removesuffix("\n").split("\n"), old.strip("\n").split("\n")
    first = wanted[0].strip()
    found = [
        (at, shift)
        for at, line in enumerate(lines)
        if first and line.strip() == first
        for shift in (_indent(line) - _indent(wanted[0]),)
        if [each.rstrip() for each in lines[at : at + len(wanted)]]
        == [_shifted(each, shift).rstrip() for each in wanted]
    ]
    if len(found) != 1:
        return None
    at, shift = found[0]
    put = [_shifted(line, shift) for line in new.strip("\n").split("\n")]
    return "\n".join([*lines[:at], *put, *lines[at + len(wanted) :]]) + "\n"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _shifted(line: str, shift: int) -> str:
    if not line.strip():
        return line
    return " " * (_indent(line) + shift) + line.lstrip(" ") if _indent(line) + shift >= 0 else line


def is_applied(text: str, patch: str) -> bool:
    """Whether a patch only shows what the text holds already."""
    within = f"\n{text}\n"
    return any(
        hunks and all(any(map(str.strip, hunk.new)) and within.count(_joined(hunk.new)) == 1 for hunk in hunks)
        for hunks in _readings(patch)
    )


def patch_parts(block: FencedBlock) -> Sequence[FencedBlock]:
    """The blocks of one file each that a patch consists of: whole ones of files it creates, patches of others."""
    lines = _unsigned(block.text.split("\n"))
    if any(map(_SEARCH.match, lines)):
        return _new_files(block) or [block]
    starts = [at for at in range(len(lines)) if _begins(lines, at)]
    if len(starts) < 2 and not any(_CREATES.match(lines[at]) for at in starts):
        return [block]
    parts = []
    for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        part = lines[begin:end]
        path = next((found["path"].strip() for line in part[:2] if (found := _FILE.match(line))), "")
        made = _created(part) if _CREATES.match(part[0]) else None
        place = replace(block, line=block.line + begin, last=block.line + 1 + end)
        if made is None or not path:
            parts.append(replace(place, text="\n".join(part) + "\n"))
        else:
            parts.append(replace(place, text=made, info="", above=(f"`{path}`", *block.above)))
    return parts


def _unsigned(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a patch without the head of a mail, and the version of git that ends it."""
    if any(map(_MAIL.match, lines[:_HEADS])):
        begins = next((at for at, line in enumerate(lines) if line.startswith(("diff --git ", "--- "))), 0)
        lines = [*([""] * begins), *lines[begins:]]
    end = next((at for at in range(max(0, len(lines) - 4), len(lines)) if lines[at].rstrip() == "--"), len(lines))
    return lines[:end] if any(map(_VERSION.match, lines[end + 1 :])) else lines


def _new_files(block: FencedBlock) -> Sequence[FencedBlock]:
    """The files that SEARCH/REPLACE blocks with nothing to search for create; none where one of them has more in it.

    A file's name is the line before its block, or of the first one the line above the fence.
    """
    parts, path, lines, begin = list[FencedBlock](), "", list[str](), -1
    for at, line in enumerate(block.text.split("\n")):
        if begin < 0 and _SEARCH.match(line):
            begin, lines = at, []
        elif begin >= 0 and _REPLACE.match(line):
            empty = [n for n, said in enumerate(lines) if said.strip()][:1]
            if not empty or not _DIVIDER.match(lines[empty[0]]) or (parts and not path):
                return []
            text = "".join(f"{said}\n" for said in lines[empty[0] + 1 :])
            above = (f"`{path}`",) if path else block.above
            starts = block.line + begin if parts else block.line
            info = "" if path else block.info
            parts.append(replace(block, line=starts, text=text, info=info, above=above, adds=True))
            begin, path = -1, ""
        elif begin >= 0:
            lines.append(line)
        elif line.strip():
            if path:
                return []
            path = line.strip().strip("`#*: ")
    return parts if begin < 0 and not path else []


def _begins(lines: Sequence[str], at: int) -> bool:
    """Whether the part of a patch about another file begins at a line."""
    if not _BEGINS.match(lines[at]) or lines[at].startswith("diff --git"):
        return False
    return not lines[at].startswith("--- ") or (at + 1 < len(lines) and lines[at + 1].startswith("+++ "))


def _created(part: Sequence[str]) -> str | None:
    """The text of a file that a patch creates; None where a line of it is none that is added."""
    filled = [line for line in part if line and not _HEAD.match(line) and not line.startswith(("@@", "*** ", "\\"))]
    return "".join(f"{line[1:]}\n" for line in filled) if all(line[0] == "+" for line in filled) else None


def _readings(patch: str) -> Iterator[list[Hunk]]:
    """The ways to read a patch: models often leave out the blank before a line that stays, or put one after a sign."""
    lines = _unsigned(patch.rstrip().split("\n"))
    if any(map(_ELSEWHERE.match, lines)):
        return
    if any(map(_SEARCH.match, lines)):
        yield list(_replacements(lines))
        return
    pieces = list(_pieces(lines))[:_MOST]
    for blank, after in (("strict", 1), ("kept", 1), ("kept", 2)):
        if after == 2 and any(line[:1] in ("+", "-") and line[1:2].strip() for _, piece in pieces for line in piece):
            continue
        hunks = [_hunk(line, piece, blank == "strict", after) for line, piece in pieces]
        if hunks and all(hunks):
            yield [hunk for hunk in hunks if hunk]


def _pieces(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each hunk, and where it is said to stand."""
    line, piece = 0, list[str]()
    for at, said in enumerate(lines):
        head = _HUNK.match(said)
        file = _FILE.match(said) or said.startswith(("*** ", "diff --git ")) or _begins(lines, at)
        if head or file:
            if any(map(str.strip, piece)):
                yield line, piece
            line, piece = int(head["line"] or 0) if head else 0, []
        elif not (_HEAD.match(said) and not piece) and not said.startswith("\\"):
            piece.append(said)
    if any(map(str.strip, piece)):
        yield line, piece


def _hunk(line: int, piece: Sequence[str], strict: bool, after: int) -> Hunk | None:
    """A hunk whose signs are followed by the text at once, or after one blank; None where it cannot be read so."""
    old, new = list[str](), list[str]()
    while piece and not piece[-1].strip():
        piece = piece[:-1]
    for said in piece:
        sign = said[:1]
        if sign in ("+", "-"):
            (new if sign == "+" else old).append(said[after:].rstrip() if not said[1:].strip() else said[after:])
            continue
        if strict and said.strip() and sign != " ":
            return None
        kept = (said[1:] if strict else said) if said.strip() else ""
        old.append(kept)
        new.append(kept)
    return Hunk(tuple(old), tuple(new), line) if old != new and any(map(str.strip, old)) else None


def _replacements(lines: Sequence[str]) -> Iterator[Hunk]:
    """SEARCH/REPLACE blocks; one that is not closed is a hunk that fits nowhere."""
    old, new, part = list[str](), list[str](), ""
    for line in lines:
        if _SEARCH.match(line):
            old, new, part = [], [], "old"
        elif part == "old" and _DIVIDER.match(line):
            part = "new"
        elif part == "new" and _REPLACE.match(line):
            yield Hunk(tuple(old), tuple(new))
            part = ""
        elif part:
            (old if part == "old" else new).append(line)
    if part:
        yield Hunk((), ())


def _applied(text: str, hunks: Sequence[Hunk]) -> str | None:
    lines = text.removesuffix("\n").split("\n")
    changes = sorted(((_place(lines, hunk), hunk) for hunk in hunks), key=lambda change: change[0])
    if not changes or changes[0][0] < 0:
        return None
    made, at = list[str](), 0
    for place, hunk in changes:
        if place < at:
            return None
        made += [*lines[at:place], *hunk.new]
        at = place + len(hunk.old)
    return "\n".join([*made, *lines[at:]]) + "\n"


def _place(lines: Sequence[str], hunk: Hunk) -> int:
    """The index of the line where a hunk's old lines stand; -1 where they stand nowhere, or in several places."""
    if not any(map(str.strip, hunk.old)):
        return -1
    stated = hunk.line - 1
    if stated >= 0 and tuple(lines[stated : stated + len(hunk.old)]) == hunk.old:
        return stated
    text, wanted = _joined(lines), _joined(hunk.old)
    first = text.find(wanted)
    if first < 0 or text.find(wanted, first + 1) >= 0:
        return -1
    return text.count("\n", 0, first + 1) - 1


def _joined(lines: Sequence[str]) -> str:
    return "".join(["\n", *(f"{line}\n" for line in lines)])
