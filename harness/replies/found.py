"""Contents of a reply, and the error that lists its blocks."""

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

_TAKE = "choose the blocks that are the answer:  harness import reply ... --take {n}, or --take {n}={entry} to name it"
_FENCE = "put each file of the answer in a fenced block, and import that"


class PassedOver(StrEnum):
    """Reason why a block became no file."""

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
    """A block with its file name and its parsed content.

    Attributes:
        language: None if unsupported.
        outline: empty without a parser.
        patch: true if it changes files instead of giving one.
        chosen: true if `--take` names it.
    """

    block: CodeBlock
    name: FileName | None
    language: Language | None
    outline: Outline
    patch: bool = False
    chosen: bool = False

    @property
    def path(self) -> str:
        """Path of its file, or ""."""
        return self.name.path if self.name else ""

    @property
    def gives(self) -> frozenset[str]:
        """Names that importing its file binds."""
        return self.outline.defines | self.outline.imported

    @property
    def gives_itself(self) -> frozenset[str]:
        """Names that it defines, also within classes and functions."""
        return self.outline.defines | self.outline.functions - self.outline.stubs

    @property
    def is_test(self) -> bool:
        """True if its file name marks a test."""
        return self.language is not None and self.language.syntax.is_test(self.path)


@dataclass(frozen=True)
class TakenFile:
    """A file of the submission.

    Attributes:
        changes: later blocks that changed it.
        language: None if unsupported.
    """

    name: FileName
    text: str
    blocks: tuple[CodeBlock, ...]
    changes: tuple[CodeBlock, ...] = ()
    outline: Outline = Outline()  # noqa: RUF009
    language: Language | None = None


def imports(outline: Outline, path: str) -> bool:
    """Return whether a source imports or includes a file, by name or by path."""
    return any(name in outline.imports for name in _list_import_names(path))


@lru_cache(4096)
def _list_import_names(path: str) -> frozenset[str]:
    file = PurePosixPath(path)
    return frozenset({path, file.name, file.stem, ".".join([*file.parts[:-1], file.stem])})


@dataclass(frozen=True)
class LeftBlock:
    """A block that became no file."""

    block: CodeBlock
    why: PassedOver


@dataclass(frozen=True)
class Extraction:
    """The files of a reply.

    Attributes:
        entries: entries of the submission; the first defines the contract.
        files: all files, in the order of the reply.
        settings: text of the reply's own submission.toml.
    """

    entries: tuple[str, ...]
    files: tuple[TakenFile, ...]
    left: tuple[LeftBlock, ...]
    settings: str | None = None


@dataclass(frozen=True)
class BlocksOfReply:
    """The blocks of a reply to a challenge.

    Attributes:
        reply: name of its file in messages.
        prose: lines outside the blocks.
    """

    reply: str
    challenge: Challenge
    language: Language
    blocks: Sequence[ReadBlock]
    prose: Sequence[str]

    @property
    def contract(self) -> frozenset[str]:
        """Functions that a submission must define."""
        return frozenset(self.challenge.contract.functions)

    @property
    def offered(self) -> frozenset[str]:
        """Required and optional functions of the contract."""
        return self.contract | frozenset(self.challenge.contract.optional)

    @property
    def sources(self) -> list[ReadBlock]:
        """Blocks in the challenge's language, without patches and tests."""
        return [b for b in self.blocks if b.language is self.language and not b.patch and not b.is_test]

    def is_whole(self, block: ReadBlock) -> bool:
        """Return whether a complete block defines the whole contract. A named one may import part of it."""
        outline = block.outline
        if not block.block.closed or outline.gaps or self.contract & outline.unwritten.keys():
            return False
        if outline.fault:  # broken code is the submission's own fault, and graded as it is
            return self.contract <= outline.functions
        named = block.name is not None and not outline.defines.isdisjoint(self.contract)
        return self.contract <= (block.gives if named else outline.defines)

    def ambiguous(self, message: str, blocks: Sequence[ReadBlock] | None = None) -> AmbiguousReplyError:
        """Return the error of an ambiguous reply, which lists blocks and explains `--take`.

        The example is the last block that defines most of the contract.
        """
        listed = self.blocks if blocks is None else blocks
        example = max(reversed(listed), key=lambda read: len(self._find_defined(read)), default=None)
        hint = _TAKE.format(n=example.block.number, entry=self.language.entry) if example else _FENCE
        return AmbiguousReplyError(
            self.reply, ReplyProblem.AMBIGUOUS, message, found=self.list_blocks(listed), hint=hint
        )

    def list_lacks(self, read: ReadBlock) -> list[str]:
        """Return what is left to be written of a block's part of the contract, each with its line in the reply."""
        outline, before = read.outline, read.block.first - 1
        unwritten = [name for name in self.challenge.contract.functions if name in outline.unwritten]
        named = ", ".join(f"{name} (line {before + outline.unwritten[name]})" for name in unwritten)
        lacks = [f"leaves {named} unwritten"] if unwritten else []
        concerned = outline.gaps and self.contract & (outline.defines | outline.functions)
        return [*lacks, *([f"leaves code out in line {before + outline.gaps[0]}"] if concerned else [])]

    def _find_defined(self, read: ReadBlock) -> list[str]:
        outline = read.outline
        written = outline.functions if outline.fault else outline.defines - outline.unwritten.keys()
        return [name for name in self.challenge.contract.functions if name in written]

    def list_blocks(self, blocks: Sequence[ReadBlock] | None = None) -> list[str]:
        """Return a line for each block."""
        return [self._describe_block(block) for block in (self.blocks if blocks is None else blocks)]

    def _describe_block(self, read: ReadBlock) -> str:
        block, defined = read.block, self._find_defined(read)
        says = [f"block {block.number}: line {block.line}", block.tongue[:40], read.path]
        says += ["changes a file"] if read.patch else []
        says += [f"defines {', '.join(defined)}"] if defined else []
        says += self.list_lacks(read)
        says += [] if block.closed else ["has no end"]
        return ", ".join(word for word in says if word)
