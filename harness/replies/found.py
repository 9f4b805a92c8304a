"""What is found in a reply: its blocks as they were read, the files taken of them, and the error that lists them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath

from harness.errors import AmbiguousReplyError
from harness.languages import Language, Outline
from harness.model import Challenge
from harness.replies.blocks import CodeBlock
from harness.replies.names import FileName
from harness.replies.text import ReplyProblem

TAKE = "choose the blocks that are the answer:  harness import reply ... --take 3, or --take 2={entry} to name one"
"""What to do about a reply that leaves a choice."""


class PassedOver(StrEnum):
    """Why a block became no file."""

    SUPERSEDED = "a later version is taken"
    DRAFT = "not complete; a complete version follows"
    EXCERPT = "repeats lines of a file that is taken"
    EXAMPLE = "not named, and no part of the contract"
    STUBS = "functions without bodies"
    ALTERNATIVE = "the reply's own submission.toml names another file"
    SETTINGS = "read for what it claims"
    CUT_OFF = "cut off at the end of the reply; no other file needs it"
    NOT_CHOSEN = "not among those that --take names"


@dataclass(frozen=True)
class ReadBlock:
    """A block, what it is called and what it is written in.

    Attributes:
        block: as it was found.
        name: its file's; None where nothing names it.
        language: what it is written in; None where no language here is.
        outline: of its text, where there is a reader for it.
        patch: whether it changes files instead of giving one.
        chosen: whether `--take` names it.
    """

    block: CodeBlock
    name: FileName | None
    language: Language | None
    outline: Outline
    patch: bool = False
    chosen: bool = False

    @property
    def path(self) -> str:
        """The path of its file; empty where nothing names it."""
        return self.name.path if self.name else ""

    @property
    def gives(self) -> frozenset[str]:
        """Names that importing its file binds."""
        return self.outline.defines | self.outline.imported

    @property
    def gives_itself(self) -> frozenset[str]:
        """What it defines, within classes and functions as well."""
        return self.outline.defines | self.outline.functions - self.outline.stubs

    @property
    def is_test(self) -> bool:
        """Whether its file is called like a test."""
        return self.language is not None and self.language.syntax.is_test(self.path)


@dataclass(frozen=True)
class TakenFile:
    """A file of the submission.

    Attributes:
        name: its path, and what gave it.
        text: its content.
        blocks: where in the reply it stands.
        changes: later blocks that changed it, in order.
        outline: of its text.
        language: what it is written in; None where no language here is.
    """

    name: FileName
    text: str
    blocks: tuple[CodeBlock, ...]
    changes: tuple[CodeBlock, ...] = ()
    outline: Outline = Outline()  # noqa: RUF009
    language: Language | None = None


def imports(outline: Outline, path: str) -> bool:
    """Return whether a source imports or includes a file, by its name alone or by its path."""
    return any(name in outline.imports for name in _called(path))


@lru_cache(4096)
def _called(path: str) -> frozenset[str]:
    """Return the names by which a source may import or include a file."""
    file = PurePosixPath(path)
    return frozenset({path, file.name, file.stem, ".".join([*file.parts[:-1], file.stem])})


@dataclass(frozen=True)
class LeftBlock:
    """A block that became no file, and why."""

    block: CodeBlock
    why: PassedOver


@dataclass(frozen=True)
class Extraction:
    """The files of a reply.

    Attributes:
        entries: of the submission; the first one defines the contract.
        files: all of them, in the order of the reply.
        left: blocks that became none.
        settings: the text of the answer's own submission.toml; None where it has none.
    """

    entries: tuple[str, ...]
    files: tuple[TakenFile, ...]
    left: tuple[LeftBlock, ...]
    settings: str | None = None


@dataclass(frozen=True)
class BlocksOfReply:
    """What a reply answers, and what is known of it.

    Attributes:
        reply: its file, for messages.
        challenge: what it answers.
        language: what answers are written in.
        blocks: all that it holds, in order.
        prose: lines outside them.
    """

    reply: str
    challenge: Challenge
    language: Language
    blocks: Sequence[ReadBlock]
    prose: Sequence[str]

    @property
    def contract(self) -> frozenset[str]:
        """The functions that an answer has to define."""
        return frozenset(self.challenge.contract.functions)

    @property
    def offered(self) -> frozenset[str]:
        """These, and those that an answer may define."""
        return self.contract | frozenset(self.challenge.contract.optional)

    @property
    def sources(self) -> list[ReadBlock]:
        """Blocks in the challenge's language that give code, tests by name not counted."""
        return [b for b in self.blocks if b.language is self.language and not b.patch and not b.is_test]

    def is_whole(self, block: ReadBlock) -> bool:
        """Return whether a block defines all of the contract, with nothing left out; what it imports counts, too."""
        outline = block.outline
        if not block.block.closed or outline.gaps or outline.unwritten & self.contract:
            return False
        if outline.fault:  # the answer's own fault: it is graded as it is
            return self.contract <= outline.functions
        named = block.name is not None and not outline.defines.isdisjoint(self.contract)
        return self.contract <= (block.gives if named else outline.defines)

    def ambiguous(self, message: str, blocks: Sequence[ReadBlock] | None = None) -> AmbiguousReplyError:
        """Return the error of a reply that leaves a choice: it lists its blocks, and how to choose."""
        hint = TAKE.format(entry=self.language.entry)
        return AmbiguousReplyError(self.reply, ReplyProblem.AMBIGUOUS, message, found=self.listed(blocks), hint=hint)

    def listed(self, blocks: Sequence[ReadBlock] | None = None) -> list[str]:
        """Return a line for each block."""
        return [self._line(block) for block in (self.blocks if blocks is None else blocks)]

    def _line(self, read: ReadBlock) -> str:
        block, outline = read.block, read.outline
        defined = [name for name in self.challenge.contract.functions if name in outline.defines | outline.functions]
        says = [f"block {block.number}: line {block.line}", block.tongue[:40], read.path]
        says += ["changes a file"] if read.patch else []
        says += [f"defines {', '.join(defined)}"] if defined else []
        says += [f"leaves code out in line {block.first + outline.gaps[0] - 1}"] if outline.gaps and defined else []
        says += [] if block.closed else ["has no end"]
        return ", ".join(word for word in says if word)
