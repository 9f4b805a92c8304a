"""What is taken of a reply, what is not and why, and the blocks while they are told apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath

from harness.errors import ReplyError
from harness.importing.reply_blocks import BlockKind, ReplyBlock, listed
from harness.importing.reply_names import FileName
from harness.importing.reply_text import ReplyProblem
from harness.languages import Language
from harness.model import Challenge

NEXT = "ask the model for whole files with their names, or write the files yourself:  harness new submission MODEL/{}"


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
    COMPARISON = "shown for comparison, as the reply says"
    ALTERNATIVE = "an alternative; the reply recommends another"
    OPTIONAL = "optional, or no part of the answer, as the reply says"
    CUT_OFF = "cut off at the end of the reply; no other file needs it, or an earlier complete version is taken"


@dataclass(frozen=True)
class TakenFile:
    """A file of the submission.

    Attributes:
        name: its path, and what gave it.
        text: its content.
        blocks: where in the reply it stands.
        changes: later blocks that changed it, in order.
    """

    name: FileName
    text: str
    blocks: tuple[ReplyBlock, ...]
    changes: tuple[ReplyBlock, ...] = ()


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
        prose: lines outside blocks, with their numbers.
        html: lines that begin code in HTML.
        challenge: what it answers.
        language: what answers are written in.
        taken: files chosen so far, by path.
        aside: whole versions that the reply does not submit, by `id`.
    """

    reply: str
    blocks: Sequence[ReplyBlock]
    prose: Sequence[tuple[int, str]]
    html: Sequence[int]
    challenge: Challenge
    language: Language
    taken: dict[str, TakenFile] = field(default_factory=dict)
    aside: dict[int, PassedOver] = field(default_factory=dict)

    def error(
        self, problem: ReplyProblem, message: str, blocks: Iterable[ReplyBlock] | None = None,
        kind: type[ReplyError] = ReplyError,
    ) -> ReplyError:  # fmt: skip
        """The error that lists what was found: some of the blocks, or all."""
        found = listed(self.blocks if blocks is None else [*blocks], self.challenge)
        found += [f"line {line}: code in HTML" for line in self.html]
        return kind(self.reply, problem, message, found=found, hint=NEXT.format(self.challenge.id))

    @property
    def sources(self) -> list[ReplyBlock]:
        """Whole files in the challenge's language, tests not counted."""
        return [b for b in self.blocks if b.kind is BlockKind.SOURCE and b.language is self.language]


def imports(block: ReplyBlock, path: str) -> bool:
    """Whether a source imports or includes a file, by its name alone or by its path."""
    file = PurePosixPath(path)
    return bool({file.stem, file.name, path, ".".join(file.with_suffix("").parts)} & block.outline.imports.keys())
