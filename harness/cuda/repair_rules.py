"""The repairs that are known: each finds one fault of form in the file where the compiler stopped, or nothing.

A rule changes lines and never their number, so that the lines of the copy are those of the answer.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.cuda.gate_messages import CompilerError, undeclared
from harness.cuda.gate_sources import TOKEN
from harness.cuda.source_lines import SourceLines
from harness.cuda.standard_headers import EVERYWHERE, IN_STD
from harness.model import Location, Repair, RepairKind

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[\w+.#-]*)[^`]*$")
_CODE_INFO = frozenset({"c", "cc", "cpp", "c++", "cxx", "cu", "cuda", "cuh", "h", "hpp"})
_STARRED = re.compile(r"\s*\*(?:[\s=*-]|/?\s*$)")
_RULE = re.compile(r"\s*(?://+|/\*+)?\s*[-=*#_~/]{8,}\s*(?:\*/)?\s*$")
_GUARD = re.compile(r"#\s*ifndef\b")
_LONGEST = 200
"""Characters of a line that may be prose, dashes or a fence: patterns take the square of a line's length."""
_SHORTEST = 4
"""Letters of a name that may be mis-spelt by one of them; shorter ones may be any other name."""


@dataclass(frozen=True)
class RefusedFile:
    """A file of an answer at which the compiler stopped.

    Attributes:
        name: its path inside the answer.
        text: what it holds.
        errors: the compiler's, the first one at this file.
        suggested: gives the name that a compiler suggests for the undeclared one of an error.
    """

    name: str
    text: str
    errors: Sequence[CompilerError]
    suggested: Callable[[CompilerError], str]

    @property
    def first(self) -> CompilerError:
        """Where the compiler stopped."""
        return self.errors[0]


@dataclass(frozen=True)
class ProposedRepair:
    """A change of a file.

    Attributes:
        text: the file's new text.
        answers: the errors that must be gone for it to have been the fault.
        repair: the change in words.
    """

    text: str
    answers: frozenset[tuple[str, int]]
    repair: Repair


def proposed(refused: RefusedFile) -> ProposedRepair | None:
    """The first repair that may help; None where no rule knows the fault."""
    return next(filter(None, (rule(refused) for rule in RULES)), None)


def _proposal(
    refused: RefusedFile, kind: RepairKind, changed: Sequence[str], places: Sequence[int], answers: Sequence[int],
    words: str,
) -> ProposedRepair:  # fmt: skip
    """`changed`: the new lines; `places`: lines, from 1 on, that were changed; `answers`: lines of errors."""
    located = tuple(place for line in places for place in Location.within(refused.name, line))
    repair = Repair(kind=kind, locations=located, words=words)
    return ProposedRepair("\n".join(changed), frozenset((refused.name, line) for line in answers), repair)


def fenced_code(refused: RefusedFile) -> ProposedRepair | None:
    """A Markdown page: of its fenced blocks of code the longest is kept."""
    source = SourceLines.of(refused.text)
    blocks = sorted(_blocks(source), key=lambda block: (block[0] in _CODE_INFO, len(block[1])), reverse=True)
    if not blocks or (blocks[0][0] and blocks[0][0] not in _CODE_INFO):
        return None
    kept = blocks[0][1]
    if not kept or refused.first.line - 1 in kept:
        return None
    changed = [line if index in kept else "" for index, line in enumerate(source.lines)]
    outside = [e.line for e in refused.errors if e.file == refused.name and e.line - 1 not in kept]
    block = "the longest fenced block of code" if len(blocks) > 1 else "the fenced block of code"
    words = f"of {refused.name} only {block} was kept, lines {kept.start + 1} to {kept.stop}"
    return _proposal(refused, RepairKind.FENCED_CODE, changed, [kept.start + 1], outside, words)


def _blocks(source: SourceLines) -> Iterator[tuple[str, range]]:
    """Fenced blocks: what they are said to hold, and their lines."""
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


def unclosed_comment(refused: RefusedFile) -> ProposedRepair | None:
    """Lines that go on with a comment that has ended, where no code can stand: they become comments.

    Either they begin with `*`, as the lines of a comment do, or they stand between two lines of dashes or the like.
    """
    source = SourceLines.of(refused.text)
    runs = list(_runs(source))
    if not any(refused.first.line - 1 in run for run in runs):
        return None
    ours = {index for run in runs for index in run}
    changed = [f"//{line}" if index in ours else line for index, line in enumerate(source.lines)]
    errors = [e.line for e in refused.errors if e.file == refused.name and e.line - 1 in ours]
    many = "1 line that goes" if len(ours) == 1 else f"{len(ours)} lines that go"
    where = f"at line {runs[0].start + 1}" if len(runs) == 1 else f"at {len(runs)} places"
    words = f"{where} of {refused.name} {many} on after the end of a comment became comment lines"
    return _proposal(refused, RepairKind.UNCLOSED_COMMENT, changed, [run.start + 1 for run in runs], errors, words)


def _runs(source: SourceLines) -> Iterator[range]:
    """The lines that go on with a comment, as many together as there are."""
    # each as a comment for a moment: their words must open no brace, quote or comment below them
    guessed = [
        f"//{line}" if index not in source.inside and not _is_comment(line) and _goes_on(source, index) else line
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
        elif start is None and candidate and index and _after_comment(without, index) and _ended(previous):
            start = index
        previous = without.code[index].strip() or previous
    if start is not None:
        yield range(start, len(source.lines))


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("//")


def _goes_on(source: SourceLines, index: int) -> bool:
    line = source.lines[index].rstrip("\r")
    if _STARRED.match(line):
        return True
    around = [*source.lines[max(0, index - 1) : index], *source.lines[index + 1 : index + 2]]
    if max(map(len, (line, *around))) > _LONGEST:
        return False
    boxed = len(around) == 2 and all(_RULE.match(other.rstrip("\r")) for other in around)
    return boxed and not _RULE.match(line) and re.search(r"[;{}#]", line) is None and len(line.split()) > 1


def _after_comment(source: SourceLines, index: int) -> bool:
    return source.only_a_comment(index - 1)


def _ended(code: str) -> bool:
    """Whether what stands before is a whole declaration, a directive or nothing."""
    return not code or code.startswith("#") or code.endswith((";", "}", "{"))


def missing_header(refused: RefusedFile) -> ProposedRepair | None:
    """A name that a standard header declares: it is included at the head of the file."""
    header = _header(refused.first)
    if not header or re.search(rf"^[ \t]*#[ \t]*include[ \t]*<{re.escape(header)}>", refused.text, re.MULTILINE):
        return None
    source = SourceLines.of(refused.text)
    place = _place_for_include(source, refused.first.line - 1)
    if place is None:
        return None
    changed = [f"#include <{header}>" if index == place else line for index, line in enumerate(source.lines)]
    errors = [e.line for e in refused.errors if e.file == refused.name and _header(e) == header]
    words = f"<{header}> was included at line {place + 1} of {refused.name}"
    return _proposal(refused, RepairKind.MISSING_HEADER, changed, [place + 1], errors, words)


def _header(error: CompilerError) -> str:
    name = undeclared(error)
    return (IN_STD if 'namespace "std"' in error.text else EVERYWHERE).get(name, "")


def _place_for_include(source: SourceLines, before: int) -> int | None:
    """A line to be spared at which a header may be included: an empty one, else one that is only a comment."""
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


def misspelt_name(refused: RefusedFile) -> ProposedRepair | None:
    """An undeclared name for which a compiler suggests another, one letter away."""
    name = undeclared(refused.first)
    if len(name) < _SHORTEST or not 0 < refused.first.line <= refused.text.count("\n") + 1:
        return None
    suggested = refused.suggested(refused.first)
    if not _one_letter_away(name, suggested):
        return None
    changed, index = refused.text.split("\n"), refused.first.line - 1
    changed[index] = TOKEN.sub(lambda token: suggested if token["word"] == name else token[0], changed[index])
    words = (
        f"at line {index + 1} of {refused.name} a name that is declared nowhere was replaced by the one, a letter "
        "away, that a compiler suggests"
    )
    return _proposal(refused, RepairKind.MISSPELT_NAME, changed, [index + 1], [index + 1], words)


def _one_letter_away(name: str, other: str) -> bool:
    """Whether one letter is changed, added, left out or swapped with the next; digits tell names apart."""
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
    fenced_code, unclosed_comment, missing_header, misspelt_name,
)  # fmt: skip
"""In the order in which they are tried."""
