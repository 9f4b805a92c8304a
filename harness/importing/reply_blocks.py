"""What each block of a reply is: a file, a part of one, a patch, a command, an example."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from harness.importing.fences import FencedBlock
from harness.importing.reply_names import FileName, NamedBy, file_name, label_of, safe
from harness.importing.reply_shell import SHELL
from harness.languages import Language, Outline, every_language
from harness.model import Challenge
from harness.model.collection import SUBMISSION_FILE

_PATCH = frozenset({"diff", "patch", "udiff"})
_PLAIN = frozenset({"", "text", "txt", "plaintext", "plain", "output", "code", "none"})
_DOCUMENTS = {
    "md": {"markdown", "md", "mdx", "gfm"}, "toml": {"toml", "ini"}, "yaml": {"yaml", "yml"}, "yml": {"yaml", "yml"},
    "json": {"json", "jsonc"}, "sh": SHELL, "bash": SHELL, "txt": _PLAIN | {"cmake"}, "cmake": {"cmake"},
    "rst": {"rst"},
}  # fmt: skip
_SHOWN = 5
"""Names that a block is told by which defines nothing of the contract."""
_HUNK = re.compile(
    r"^(?:@@ -\d{1,9}|<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)|\*\*\* (?:Begin Patch|Update File))", re.MULTILINE
)
_PATCHED = re.compile(r"^(?:\+\+\+ (?:b/)?|\*\*\* Update File: )(?P<path>[^\t\n]{1,300})", re.MULTILINE)
_SEARCHED = re.compile(r"^(?P<path>[^\n]{1,300})\n(?:`{3,}[^\n]*\n)?<{5,9} ?(?:SEARCH|ORIGINAL)\b", re.MULTILINE)
_SIGNED = re.compile(r"^[+-](?![+-])", re.MULTILINE)
_DEEPEST = 1000
"""Blanks before an excerpt that are taken off."""
_RUNS = re.compile(r"(?:^|[/_])(?:bench\w*|demo|example\w*|usage|main|profile\w*)(?:_\w*)?\.\w+$", re.IGNORECASE)
_HERE_DOCUMENT = re.compile(r"<<-?[ ]?['\"\\]?\w")


class BlockKind(StrEnum):
    """What a block is."""

    SOURCE = "source"
    TESTS = "tests"
    DOCUMENT = "document"
    PARTIAL = "partial file"
    PATCH = "patch"
    STUBS = "stubs"
    SHELL = "commands"
    SCRIPT = "commands that write a file"
    FOREIGN = "another language"
    OUTPUT = "text"


@dataclass(frozen=True)
class ReplyBlock:
    """A block, what it is and what it is called.

    Attributes:
        block: as it was found.
        kind: what it is.
        name: its file's; None where nothing names it.
        language: what it is written in; None where no language here is.
        outline: of its text, where there is a reader for it.
        patched: the files that a patch names.
    """

    block: FencedBlock
    kind: BlockKind
    name: FileName | None = None
    language: Language | None = None
    outline: Outline = Outline()  # noqa: RUF009
    patched: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """The line of its opening fence."""
        return self.block.line

    @property
    def path(self) -> str:
        """The path of its file; empty where nothing names it."""
        return self.name.path if self.name else ""

    def lacks(self, challenge: Challenge) -> list[str]:
        """The contract's functions that it does not define."""
        return [name for name in challenge.contract.functions if name not in self.outline.defines]

    def shares(self, other: frozenset[str]) -> frozenset[str]:
        """The functions of `other` that it defines anew, those that every program and class may have left out."""
        return (self.outline.functions & other) - {"__init__", "main"}


def language_of(info: str, path: str, default: Language) -> Language | None:
    """What a block is written in, by the suffix of its file or else by its info string; `default` is tried first."""
    known = [default, *(used for used in _languages() if used is not default)]
    dot = path.rpartition(".")[2].lower() if "." in path else ""
    for used in known:
        if (dot and f".{dot}" in used.syntax.suffixes) or (not dot and info in _calls(used)):
            return used
    return None


@cache
def _languages() -> tuple[Language, ...]:
    """All languages: looking for them reads the metadata of every package."""
    return tuple(every_language())


def _calls(used: Language) -> frozenset[str]:
    return used.fences | {used.name, used.suffix.lstrip(".")}


def read_block(block: FencedBlock, challenge: Challenge, default: Language, reply: str) -> ReplyBlock:
    """What a block is.

    Args:
        block: as it was found.
        challenge: what the reply answers.
        default: the challenge's language.
        reply: the reply's file, for messages.

    Raises:
        ReplyError: its name leads out of the folder.
    """
    name = _fitting(file_name(block), block.tongue)
    if name is not None:
        name = FileName(safe(name.path, reply, block.line), name.by)
    if block.tongue == "toml" and name is None and re.search(r"^\[submission\]", block.text, re.MULTILINE):
        name = FileName(SUBMISSION_FILE, NamedBy.CONTRACT)
    if _is_patch(block):
        named = [match["path"].strip().removeprefix("./") for match in _PATCHED.finditer(block.text)]
        named += [label for match in _SEARCHED.finditer(block.text) if (label := label_of(match["path"]))]
        patched = tuple(dict.fromkeys([*named, *([name.path] if name else [])]))
        return ReplyBlock(block, BlockKind.PATCH, name, patched=patched)
    used = language_of(block.tongue, name.path if name else "", default)
    if used is None and name is None and block.tongue in _PLAIN and default.syntax.is_code(block.text):
        used = default
    # what is no code of any language is read as the challenge's: it may be a part of the answer
    outline = _outline(used or (default if name is None else None), block.text)
    kind = _kind(block, name, used, outline, challenge)
    if (
        name is not None
        and name.by is NamedBy.SENTENCE
        and not (outline.defines if used else block.tongue not in _PLAIN)
        and not (outline.imports and _RUNS.search(name.path))
    ):
        name = None  # an example of how a file is used, or what it prints
    return ReplyBlock(block, kind, name, used, outline)


def _fitting(name: FileName | None, tongue: str) -> FileName | None:
    """A name, where what the info string calls the language can be in such a file."""
    if name is None or name.by is NamedBy.INFO or tongue in _PLAIN or tongue in _PATCH:
        return name
    suffix = name.path.rpartition(".")[2].lower()
    fits = {*_DOCUMENTS.get(suffix, ())}
    for used in _languages():
        if f".{suffix}" in used.syntax.suffixes:
            fits |= _calls(used)
    return name if not fits or tongue in fits else None


def _is_patch(block: FencedBlock) -> bool:
    if block.tongue in _PATCH or _HUNK.search(block.text):
        return True
    lines = [line for line in block.text.split("\n") if line.strip()]
    signed = len(_SIGNED.findall(block.text))
    if block.tongue not in _PLAIN:  # code where each line has a sign, of both kinds
        return 1 < len(lines) == signed and {line[0] for line in lines} == {"+", "-"}
    return len(lines) > 1 and 2 * signed > len(lines)


def _outline(used: Language | None, text: str) -> Outline:
    """The outline of a text, or of what it is without the indentation of an excerpt."""
    if used is None:
        return Outline()
    found = used.syntax.outline(text) or Outline()
    if found.fault and 0 < len(text) - len(text.lstrip()) < _DEEPEST:
        outdented = used.syntax.outline(textwrap.dedent(text))
        return outdented or found
    return found


def _kind(
    block: FencedBlock, name: FileName | None, used: Language | None, outline: Outline, challenge: Challenge
) -> BlockKind:
    if block.tongue in SHELL and name is None:
        return BlockKind.SCRIPT if _HERE_DOCUMENT.search(block.text) else BlockKind.SHELL
    if used is None:
        if name is not None:
            return BlockKind.DOCUMENT
        return BlockKind.OUTPUT if block.tongue in _PLAIN else BlockKind.FOREIGN
    if outline.gaps:
        return BlockKind.PARTIAL
    if outline.stubs & {*challenge.contract.functions, *challenge.contract.optional}:
        return BlockKind.STUBS
    if used.test_command and (used.syntax.is_test(name.path) if name else outline.tests):
        defined = {*challenge.contract.functions} <= outline.defines
        return BlockKind.SOURCE if defined else BlockKind.TESTS
    return BlockKind.SOURCE


def listed(blocks: Sequence[ReplyBlock], challenge: Challenge) -> list[str]:
    """What a reply holds, a line for each block."""
    return [_line(block, challenge) for block in blocks]


def _line(block: ReplyBlock, challenge: Challenge) -> str:
    wanted = [*challenge.contract.functions, *challenge.contract.optional]
    defined = [name for name in wanted if name in block.outline.defines]
    says = [block.kind.value, block.block.info and f"`{block.block.info[:40]}`", block.path, *block.patched]
    others = sorted(block.outline.defines - {*wanted})[:_SHOWN]
    if defined or others:
        says.append(f"defines {', '.join(defined or others)}")
    if block.outline.fault and block.kind is BlockKind.SOURCE:
        says.append(f"does not parse: line {block.line + block.outline.fault.line}: {block.outline.fault.name}")
    if block.outline.gaps:
        says.append(f"leaves code out in line {block.line + block.outline.gaps[0]}")
    return f"line {block.line}: " + ", ".join(dict.fromkeys(word for word in says if word))
