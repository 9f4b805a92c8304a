"""The known repairs: each rule finds one fault of form in the file where the compiler stopped.

Rules change lines, never their number, so the copy's lines match the submission's.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.cuda.check.messages import CompilerError, find_undeclared_name
from harness.cuda.check.sources import TOKEN
from harness.cuda.repair.source_lines import SourceLines
from harness.cuda.repair.standard_headers import EVERYWHERE, IN_STD
from harness.model import Location, Repair, RepairKind

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[\w+.#-]*)[^`]*$")
_CODE_INFO = frozenset({"c", "cc", "cpp", "c++", "cxx", "cu", "cuda", "cuh", "h", "hpp"})
_STARRED = re.compile(r"\s*\*(?:[\s=*-]|/?\s*$)")
_RULE = re.compile(r"\s*(?://+|/\*+)?\s*[-=*#_~/]{8,}\s*(?:\*/)?\s*$")
_GUARD = re.compile(r"#\s*ifndef\b")
_LONGEST = 200
"""Most characters of a line that may be prose, dashes or a fence: matching is quadratic in the length."""
_SHORTEST = 4
"""Fewest letters of a name that may be misspelt; shorter ones resemble too many others."""


@dataclass(frozen=True)
class RefusedFile:
    """A file at which the compiler stopped, with the compiler's errors, the first one in this file.

    `suggested` returns a compiler's suggestion for the undeclared name of an error.
    """

    name: str
    text: str
    errors: Sequence[CompilerError]
    suggested: Callable[[CompilerError], str]

    @property
    def first(self) -> CompilerError:
        """First error."""
        return self.errors[0]


@dataclass(frozen=True)
class ProposedRepair:
    """A proposed change to a file; `answers` are file and line of the errors that must disappear."""

    text: str
    answers: frozenset[tuple[str, int]]
    repair: Repair


def propose_repair(refused: RefusedFile) -> ProposedRepair | None:
    """Return the first repair that may help, or None."""
    return next(filter(None, (rule(refused) for rule in RULES)), None)


def _propose(
    refused: RefusedFile,
    kind: RepairKind,
    changed: Sequence[str],
    places: Sequence[int],
    answers: Sequence[int],
    words: str,
) -> ProposedRepair:
    located = tuple(place for line in places for place in Location.within(refused.name, line))
    repair = Repair(kind=kind, locations=located, words=words)
    return ProposedRepair("\n".join(changed), frozenset((refused.name, line) for line in answers), repair)


def keep_fenced_code(refused: RefusedFile) -> ProposedRepair | None:
    """Keep the longest fenced block of a Markdown page, preferring C++ or CUDA."""
    source = SourceLines.of(refused.text)
    blocks = sorted(_find_blocks(source), key=lambda block: (block[0] in _CODE_INFO, len(block[1])), reverse=True)
    if not blocks or (blocks[0][0] and blocks[0][0] not in _CODE_INFO):
        return None
    kept = blocks[0][1]
    if not kept or refused.first.line - 1 in kept:
        return None
    changed = [line if index in kept else "" for index, line in enumerate(source.lines)]
    outside = [e.line for e in refused.errors if e.file == refused.name and e.line - 1 not in kept]
    block = "the longest fenced block of code" if len(blocks) > 1 else "the fenced block of code"
    words = f"of {refused.name} only {block} was kept, lines {kept.start + 1} to {kept.stop}"
    return _propose(refused, RepairKind.FENCED_CODE, changed, [kept.start + 1], outside, words)


def _find_blocks(source: SourceLines) -> Iterator[tuple[str, range]]:
    opened: re.Match[str] | None = None
    start = 0
    for index, line in enumerate(source.lines):
        found = _FENCE.match(line.rstrip("\r")) if index not in source.inside and len(line) <= _LONGEST else None
        if found and opened is None:
            opened, start = found, index + 1
        elif found and opened and found["marks"].startswith(opened["marks"]) and not found["info"]:
            yield opened["info"].lower(), range(start, index)
            opened = None
    if opened is not None:
        yield opened["info"].lower(), range(start, len(source.lines))


def comment_out_continuation(refused: RefusedFile) -> ProposedRepair | None:
    """Comment out lines that continue a comment after its end, outside functions."""
    source = SourceLines.of(refused.text)
    runs = list(_find_runs(source))
    if not any(refused.first.line - 1 in run for run in runs):
        return None
    ours = {index for run in runs for index in run}
    changed = [f"//{line}" if index in ours else line for index, line in enumerate(source.lines)]
    errors = [e.line for e in refused.errors if e.file == refused.name and e.line - 1 in ours]
    many = "1 line that goes" if len(ours) == 1 else f"{len(ours)} lines that go"
    where = f"at line {runs[0].start + 1}" if len(runs) == 1 else f"at {len(runs)} places"
    words = f"{where} of {refused.name} {many} on after the end of a comment became comment lines"
    return _propose(refused, RepairKind.UNCLOSED_COMMENT, changed, [run.start + 1 for run in runs], errors, words)


def _find_runs(source: SourceLines) -> Iterator[range]:
    # each becomes a comment for a moment: its words must open no brace, quote or comment
    guessed = [
        f"//{line}"
        if index not in source.inside and not _is_comment(line) and _is_continuation(source, index)
        else line
        for index, line in enumerate(source.lines)
    ]
    without = SourceLines.of("\n".join(guessed))
    depths = without.depths()
    start, previous = None, ""
    for index, line in enumerate(without.lines):
        candidate = line != source.lines[index] and index not in without.inside and depths[index][1] == 0
        if start is not None and not candidate:
            yield range(start, index)
            start = None
        elif start is None and candidate and index and _is_after_comment(without, index) and _ends_statement(previous):
            start = index
        previous = without.code[index].strip() or previous
    if start is not None:
        yield range(start, len(source.lines))


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("//")


def _is_continuation(source: SourceLines, index: int) -> bool:
    line = source.lines[index].rstrip("\r")
    if _STARRED.match(line):
        return True
    around = [*source.lines[max(0, index - 1) : index], *source.lines[index + 1 : index + 2]]
    if max(map(len, (line, *around))) > _LONGEST:
        return False
    boxed = len(around) == 2 and all(_RULE.match(other.rstrip("\r")) for other in around)
    return boxed and not _RULE.match(line) and re.search(r"[;{}#]", line) is None and len(line.split()) > 1


def _is_after_comment(source: SourceLines, index: int) -> bool:
    return source.only_a_comment(index - 1)


def _ends_statement(code: str) -> bool:
    return not code or code.startswith("#") or code.endswith((";", "}", "{"))


def include_missing_header(refused: RefusedFile) -> ProposedRepair | None:
    """Include the standard header that declares the undeclared name."""
    header = _find_header(refused.first)
    if not header or re.search(rf"^[ \t]*#[ \t]*include[ \t]*<{re.escape(header)}>", refused.text, re.MULTILINE):
        return None
    source = SourceLines.of(refused.text)
    place = _find_include_place(source, refused.first.line - 1)
    if place is None:
        return None
    changed = [f"#include <{header}>" if index == place else line for index, line in enumerate(source.lines)]
    errors = [e.line for e in refused.errors if e.file == refused.name and _find_header(e) == header]
    words = f"<{header}> was included at line {place + 1} of {refused.name}"
    return _propose(refused, RepairKind.MISSING_HEADER, changed, [place + 1], errors, words)


def _find_header(error: CompilerError) -> str:
    name = find_undeclared_name(error)
    return (IN_STD if 'namespace "std"' in error.text else EVERYWHERE).get(name, "")


def _find_include_place(source: SourceLines, before: int) -> int | None:
    """Return a line that an `#include` may replace: an empty one, else a lone comment."""
    depths = source.depths()
    directives = [code.strip() for code in source.code if code.lstrip().startswith("#")]
    allowed = 1 if directives and _GUARD.match(directives[0]) else 0
    conditions, commented = 0, None
    for index in range(min(before, len(source.lines))):
        code, line = source.code[index].strip(), source.lines[index].strip()
        free = conditions <= allowed and depths[index][0] == 0 and index not in source.inside
        free = free and not (index and source.lines[index - 1].rstrip().endswith("\\"))
        if free and not line:
            return index
        if free and commented is None and line.startswith("//") and not line.endswith("\\"):
            commented = index
        conditions += bool(re.match(r"#\s*if", code)) - bool(re.match(r"#\s*endif", code))
    return commented


def correct_misspelt_name(refused: RefusedFile) -> ProposedRepair | None:
    """Replace an undeclared name by the compiler's suggestion if one letter away."""
    name = find_undeclared_name(refused.first)
    if len(name) < _SHORTEST or not 0 < refused.first.line <= refused.text.count("\n") + 1:
        return None
    suggested = refused.suggested(refused.first)
    if not _is_one_letter_away(name, suggested):
        return None
    changed, index = refused.text.split("\n"), refused.first.line - 1
    changed[index] = TOKEN.sub(lambda token: suggested if token["word"] == name else token[0], changed[index])
    words = (
        f"at line {index + 1} of {refused.name} a name that is declared nowhere was replaced by the one, a letter "
        "away, that a compiler suggests"
    )
    return _propose(refused, RepairKind.MISSPELT_NAME, changed, [index + 1], [index + 1], words)


def _is_one_letter_away(name: str, other: str) -> bool:
    """Return whether a letter is changed, added, left out or swapped; digits distinguish names."""
    if name == other or abs(len(name) - len(other)) > 1 or len(other) < _SHORTEST:
        return False
    start = next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, others = name[start:], other[start:]
    different = rest[:1] + others[:1] if len(rest) == len(others) else max(rest, others, key=len)[:1]
    if any(letter.isdigit() for letter in different):
        return False
    swapped = rest[1::-1] == others[:2] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]


RULES: tuple[Callable[[RefusedFile], ProposedRepair | None], ...] = (
    keep_fenced_code,
    comment_out_continuation,
    include_missing_header,
    correct_misspelt_name,
)
"""Rules in the order of trial."""
