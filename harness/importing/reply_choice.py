"""Which blocks of a reply are its files: the last complete version of each; what cannot be decided is an error."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePosixPath

from harness.errors import ReplyError
from harness.importing.reply_blocks import BlockKind, ReplyBlock, listed
from harness.importing.reply_joining import joined_blocks
from harness.importing.reply_names import FileName, NamedBy
from harness.importing.reply_options import left_open
from harness.importing.reply_text import ReplyProblem
from harness.languages import Language
from harness.model import Challenge
from harness.model.collection import SUBMISSION_FILE

NEXT = "ask the model for whole files with their names, or write the files yourself:  harness new submission MODEL/{}"

_ANNOUNCED = 500
"""Characters of the line that announces a block."""
_ANOTHER = re.compile(
    r"\b(?:naive|baseline|alternative\w*|for (?:comparison|reference)|(?:previous|older?|original|first|earlier) "
    r"(?:version|draft|attempt|code|implementation)|before the fix|not used|do not use|wrong|incorrect|buggy)\b",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\b(?:fix\w*|correct|corrected|final|updated?|improved?|replac\w*|better|optimi[sz]ed|instead|new)\b",
    re.IGNORECASE,
)


class PassedOver(StrEnum):
    """Why a block became no file."""

    SUPERSEDED = "a later version is taken"
    DRAFT = "not complete; a complete version follows"
    PATCH = "a patch, not applied; a complete version follows"
    EXCERPT = "repeats lines of a file that is taken"
    EXAMPLE = "not named, and defines nothing of the contract"
    STUBS = "functions without bodies"
    COMMANDS = "commands"
    TEXT = "no code"
    FOREIGN = "another language, not named"
    SETTINGS = "read for what it claims"


_NEVER_FILES = {
    BlockKind.SHELL: PassedOver.COMMANDS, BlockKind.SCRIPT: PassedOver.COMMANDS, BlockKind.OUTPUT: PassedOver.TEXT,
    BlockKind.FOREIGN: PassedOver.FOREIGN, BlockKind.PARTIAL: PassedOver.DRAFT, BlockKind.PATCH: PassedOver.PATCH,
    BlockKind.STUBS: PassedOver.STUBS,
}  # fmt: skip


@dataclass(frozen=True)
class TakenFile:
    """A file of the submission.

    Attributes:
        name: its path, and what gave it.
        text: its content.
        blocks: where in the reply it stands.
    """

    name: FileName
    text: str
    blocks: tuple[ReplyBlock, ...]


@dataclass(frozen=True)
class LeftBlock:
    """A block that became no file, and why."""

    block: ReplyBlock
    why: PassedOver


@dataclass(frozen=True)
class Extraction:
    """The files of a reply.

    Attributes:
        entries: of the submission; the first one defines the contract.
        files: all of them, in the order of the reply.
        left: blocks that became none.
        settings: the answer's own submission.toml; None where it has none.
    """

    entries: tuple[str, ...]
    files: tuple[TakenFile, ...]
    left: tuple[LeftBlock, ...]
    settings: ReplyBlock | None = None


@dataclass
class Choice:
    """The blocks of one reply while they are told apart.

    Attributes:
        reply: its file, for messages.
        blocks: in order.
        html: lines that begin code in HTML.
        challenge: what it answers.
        language: what answers are written in.
        taken: files chosen so far, by path.
    """

    reply: str
    blocks: Sequence[ReplyBlock]
    html: Sequence[int]
    challenge: Challenge
    language: Language
    taken: dict[str, TakenFile] = field(default_factory=dict)

    def error(self, problem: ReplyProblem, message: str, blocks: Iterable[ReplyBlock] | None = None) -> ReplyError:
        """The error that lists what was found: some of the blocks, or all."""
        found = listed(self.blocks if blocks is None else [*blocks], self.challenge)
        found += [f"line {line}: code in HTML" for line in self.html]
        return ReplyError(self.reply, problem, message, found=found, hint=NEXT.format(self.challenge.id))

    @property
    def sources(self) -> list[ReplyBlock]:
        """Whole files in the challenge's language, tests not counted."""
        return [b for b in self.blocks if b.kind is BlockKind.SOURCE and b.language is self.language]


def choose(choice: Choice) -> Extraction:
    """Tell the files of a reply.

    Raises:
        ReplyError: no entry, or several; or the last word on a file is not a whole file.
    """
    settings = next((b for b in reversed(choice.blocks) if b.path == SUBMISSION_FILE), None)
    entry = _entry(choice, settings)
    choice.taken[entry.name.path] = entry
    _take_others(choice, entry)
    _refuse_clashes(choice)
    used = {id(block) for file in choice.taken.values() for block in file.blocks}
    left = [LeftBlock(b, _why(choice, b, entry)) for b in choice.blocks if id(b) not in used]
    line = choice.html[-1] if choice.html else 0
    if line > entry.blocks[-1].line:
        raise choice.error(
            ReplyProblem.HTML, f"line {line} begins code in HTML, which is not read and may be the last word"
        )
    files = sorted(choice.taken.values(), key=lambda file: file.blocks[0].line)
    return Extraction(_entries(choice, entry), tuple(files), tuple(left), settings)


def _entry(choice: Choice, settings: ReplyBlock | None) -> TakenFile:
    """The file that defines the contract.

    Raises:
        ReplyError: there is none, or several.
    """
    required = frozenset(choice.challenge.contract.functions)
    whole = [b for b in choice.sources if not b.outline.fault and not b.lacks(choice.challenge)]
    whole = whole or [b for b in choice.sources if b.outline.fault and required <= b.outline.functions]
    whole = whole or [b for b in choice.sources if b.name and required <= b.outline.defines | b.outline.imported]
    if not whole:
        parts = joined_blocks([b for b in choice.sources if not b.name and not b.outline.fault], required)
        if parts is None:
            raise _no_entry(choice)
        return TakenFile(_unnamed(choice, parts.blocks), parts.text, parts.blocks)
    # a test may define all of the contract, as broken samples, and is no entry where something else does
    whole = [b for b in whole if not choice.language.syntax.is_test(b.path)] or whole
    paths = list(dict.fromkeys(b.path for b in whole if b.name))
    if len(paths) > 1:
        paths = [_only(choice, whole, paths, settings)]
        whole = [b for b in whole if b.path in paths]
    last = whole[-1]
    if len(whole) > 1 and _is_another(last):
        message = f"the words above line {last.line} call it another version, and a whole one precedes it; found"
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)
    if options := left_open(whole):
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, "the reply offers a choice of whole versions; found", options)
    name = next((b.name for b in reversed(whole) if b.name), None)
    parts = None if name else joined_blocks([b for b in choice.sources if not b.name], required, last)
    blocks, text = (parts.blocks, parts.text) if parts else ((last,), last.block.text)
    _refuse_missing(choice, blocks)
    return TakenFile(name or _unnamed(choice, blocks), text, blocks)


def _is_another(block: ReplyBlock) -> bool:
    """Whether a version is announced as one that is not the answer: for comparison, or from before."""
    above = next((line for line in block.block.above if line.strip()), "")[:_ANNOUNCED]
    return _ANOTHER.search(above) is not None and _BETTER.search(above) is None


def _refuse_missing(choice: Choice, blocks: Sequence[ReplyBlock]) -> None:
    """Refuse an entry that lacks what another block defines: pasted as it stands it would fail for that alone."""
    for entry in blocks:
        bound = frozenset[str]().union(*(b.outline.defines | b.outline.imported for b in blocks))
        for name in sorted((entry.outline.needs or frozenset()) - bound):
            other = next((b for b in choice.sources if name in b.outline.defines), None)
            if other is not None:
                message = f"the entry of line {entry.line} uses {name} without importing it; found"
                raise choice.error(ReplyProblem.NO_ENTRY, message, [entry, other])


def _no_entry(choice: Choice) -> ReplyError:
    wanted = ", ".join(choice.challenge.contract.functions)
    if choice.html:
        return choice.error(ReplyProblem.HTML, f"line {choice.html[0]} begins code in HTML, which is not read")
    if not choice.blocks:
        return choice.error(ReplyProblem.NO_CODE, f"holds prose and no code block; expected {wanted}")
    unfinished = [b for b in choice.blocks if b.kind in (BlockKind.PARTIAL, BlockKind.PATCH)]
    problem = ReplyProblem.UNFINISHED if unfinished else ReplyProblem.NO_ENTRY
    return choice.error(problem, f"no whole file in {choice.language.title} defines {wanted}; found")


def _only(choice: Choice, whole: Sequence[ReplyBlock], paths: Sequence[str], settings: ReplyBlock | None) -> str:
    """The one of several files that is the entry: the one the answer names, or the one that uses the others."""
    named = [path for path in paths if settings and f'"{path}"' in settings.block.text]
    last = {b.path: b for b in whole}
    using = [p for p in paths if any(_imports(last[p], other) for other in paths if other != p)]
    for found in (named, using):
        if len(found) == 1:
            return found[0]
    message = f"{len(paths)} files define the contract, and which one is the entry is not said; found"
    raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)


def _imports(block: ReplyBlock, path: str) -> bool:
    """Whether a source imports or includes a file, by its name alone or by its path."""
    file = PurePosixPath(path)
    return bool({file.stem, file.name, path, ".".join(file.with_suffix("").parts)} & block.outline.imports.keys())


def _unnamed(choice: Choice, blocks: Sequence[ReplyBlock]) -> FileName:
    """What an entry without a name is called.

    Like the one earlier file that defines a part of the contract: it is a draft. Else like what another block imports
    the contract from, or as usual.
    """
    required = {*choice.challenge.contract.functions}
    drafts = [b for b in choice.blocks if b.name and b.line < blocks[0].line and _is_draft(choice, b, required)]
    if drafts and len({b.path for b in drafts}) == 1 and drafts[0].name:
        return drafts[0].name
    for block in choice.blocks:
        for module, names in block.outline.imports.items() if block not in blocks else ():
            if names & required and module.isidentifier():
                return FileName(f"{module}{choice.language.suffix}", NamedBy.IMPORT)
    return FileName(choice.language.entry, NamedBy.CONTRACT)


def _is_draft(choice: Choice, block: ReplyBlock, required: set[str]) -> bool:
    """Whether a named block holds a part of the contract, not whole or with code left out."""
    drawn = (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.STUBS)
    return (
        block.language is choice.language and block.kind in drawn and not required.isdisjoint(block.outline.functions)
    )


def _take_others(choice: Choice, entry: TakenFile) -> None:
    """Take the last version of every other file."""
    for block in choice.blocks:
        if not block.name or block.path in (entry.name.path, SUBMISSION_FILE) or block.kind not in _WHOLE:
            continue
        if block.path not in choice.taken or not _shrinks(choice.taken[block.path].blocks[0], block):
            choice.taken[block.path] = TakenFile(block.name, block.block.text, (block,))
    stem = PurePosixPath(entry.name.path).stem
    for block in choice.blocks:
        if block.kind is BlockKind.TESTS and not block.name and block.language and _imports(block, entry.name.path):
            name = FileName(f"test_{stem}{block.language.suffix}", NamedBy.IMPORT)
            choice.taken[name.path] = TakenFile(name, block.block.text, (block,))


def _shrinks(before: ReplyBlock, after: ReplyBlock) -> bool:
    """Whether a later version has lost most functions of the one before: it is a part of the file."""
    kept = before.outline.functions & after.outline.functions
    return 2 * len(kept) < len(before.outline.functions)


_WHOLE = (BlockKind.SOURCE, BlockKind.TESTS, BlockKind.DOCUMENT)


def _refuse_clashes(choice: Choice) -> None:
    for path in choice.taken:
        above = next((str(p) for p in PurePosixPath(path).parents if str(p) in choice.taken), None)
        if above is not None:
            raise choice.error(ReplyProblem.NAMES_CLASH, f"{above} is a file, and the folder of {path}; found")


def _entries(choice: Choice, entry: TakenFile) -> tuple[str, ...]:
    """The entry, and every other file that is compiled beside it rather than included."""
    if not choice.language.several_entries:
        return (entry.name.path,)
    sources = {path: file for path, file in choice.taken.items() if path.endswith(choice.language.suffix)}
    included = {p for p in sources for file in choice.taken.values() for b in file.blocks if _imports(b, p)}
    beside = [
        path
        for path, file in sources.items()
        if path not in (*included, entry.name.path)
        and not choice.language.syntax.is_test(path)
        and any(b.outline.defines - {"main"} for b in file.blocks)
        and not any("main" in b.outline.defines for b in file.blocks)
    ]
    return (entry.name.path, *beside)


def _why(choice: Choice, block: ReplyBlock, entry: TakenFile) -> PassedOver:
    """Why a block is no file.

    Raises:
        ReplyError: it may be the last word on a file that is taken.
    """
    if block.path == SUBMISSION_FILE:
        return PassedOver.SETTINGS
    about = _about(choice, block, entry)
    if about is None:
        message = (
            f"line {block.line} is the last word on {block.path or block.patched[0]}, and it is no whole file; found"
        )
        raise choice.error(ReplyProblem.UNFINISHED, message)
    if block.line < min(b.line for b in about.blocks):
        return _NEVER_FILES.get(block.kind) or _earlier(block, about)
    if block.kind in (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.OUTPUT) and _repeats(block, choice.taken.values()):
        return PassedOver.EXCERPT
    if _changes(block, about, entry) and not _sketches_tests(choice, block, about):
        message = f"line {block.line} is the last word on {about.name.path}, and it is no whole file; found"
        raise choice.error(ReplyProblem.UNFINISHED, message, [*about.blocks, block])
    return _NEVER_FILES.get(block.kind, PassedOver.EXAMPLE)


def _about(choice: Choice, block: ReplyBlock, entry: TakenFile) -> TakenFile | None:
    """The file that a block speaks of: the one it names, or else the entry; None of one that is not taken."""
    named = {PurePosixPath(path).name for path in (block.path, *block.patched) if path}
    for known, file in choice.taken.items():
        if PurePosixPath(known).name in named:
            return file
    return None if named and block.kind in (BlockKind.PARTIAL, BlockKind.PATCH) else entry


def _earlier(block: ReplyBlock, about: TakenFile) -> PassedOver:
    defined = frozenset[str]().union(*(b.outline.defines for b in about.blocks))
    return PassedOver.SUPERSEDED if block.name or block.outline.defines & defined else PassedOver.EXAMPLE


def _sketches_tests(choice: Choice, block: ReplyBlock, about: TakenFile) -> bool:
    """Whether a block only hints at tests, of which there are none: the answer is whole without it."""
    known = frozenset[str]().union(*(b.outline.functions for b in about.blocks))
    tested = any(b.kind is BlockKind.TESTS for file in choice.taken.values() for b in file.blocks)
    return (
        block.kind is BlockKind.PARTIAL
        and not block.name
        and block.outline.tests
        and not (tested or block.outline.functions & known)
    )


def _repeats(block: ReplyBlock, files: Iterable[TakenFile]) -> bool:
    """Whether all lines of a block stand in a file, in this order, and others between only where it leaves some out."""
    lines = block.block.text.split("\n")
    bounds = [0, *block.outline.gaps, len(lines) + 1]
    pieces = [_bare("\n".join(lines[begin : end - 1])) for begin, end in pairwise(bounds)]
    pieces = [piece for piece in pieces if piece.strip()]
    return bool(pieces) and any(_in_order(pieces, _bare(file.text)) for file in files)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece) - 1  # the line end is the next piece's as well
    return True


def _bare(text: str) -> str:
    return "\n" + "".join(f"{line}\n" for line in map(str.strip, text.split("\n")) if line)


def _changes(block: ReplyBlock, about: TakenFile, entry: TakenFile) -> bool:
    """Whether a block that follows a whole file is a change of it."""
    functions = frozenset[str]().union(*(b.outline.functions for b in about.blocks))
    match block.kind:
        case BlockKind.PARTIAL | BlockKind.PATCH:
            return True
        case BlockKind.SCRIPT:
            return PurePosixPath(about.name.path).name in block.block.text
        case BlockKind.STUBS | BlockKind.SHELL | BlockKind.FOREIGN:
            return False
        case BlockKind.TESTS:
            return bool(block.name)
        case _:
            return bool(block.shares(functions)) or bool(block.name and block.outline.defines)
