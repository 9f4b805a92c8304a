"""Nameless blocks: tests and examples, unless one may be a part or a change of the submission."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from harness.replies.blocks import SHELL
from harness.replies.entry import ContractFile
from harness.replies.found import BlocksOfReply, LeftBlock, PassedOver, ReadBlock, TakenFile, imports

_COMMON = frozenset({"main", "__init__"})
"""Functions that every program and class may have."""
_WORD = re.compile(r"\w+")


class LooseBlocks:
    """The nameless blocks of a reply, once its `files` are taken."""

    def __init__(self, asked: BlocksOfReply, entry: ContractFile, files: Mapping[str, TakenFile]) -> None:
        self._asked = asked
        self._entry = entry
        self._files = files
        self._stems = {PurePosixPath(path).stem for path in files}

    def pass_over(self, nameless: Iterable[ReadBlock]) -> Iterator[LeftBlock]:
        """Yield each block with the reason why it is no file.

        Raises:
            ReplyError: a block may be a part or a change of a file.
        """
        shown = False  # true after an excerpt, which an indented block may go on to change
        for read in nameless:
            repeats = any(is_excerpt(read, file) for file in self._files.values())
            if read.chosen:
                number = read.block.number
                raise self._asked.ambiguous(f"gives no name for block {number}; add one:  --take {number}=NAME")
            why = self._explain(read, repeats)
            indented = read.block.text[:1] in (" ", "\t") and read.block.tongue not in SHELL
            if why is None or (shown and not repeats and indented):
                message = (
                    f"has a nameless block in line {read.block.line}, which may be a part or a change of the answer"
                )
                raise self._asked.ambiguous(message)
            yield LeftBlock(read.block, why)
            shown = repeats

    def _explain(self, read: ReadBlock, repeats: bool) -> PassedOver | None:
        """Return why a block is no file; None if it may be part of one."""
        own = read.gives_itself - _COMMON
        if read.language is not self._asked.language:
            return PassedOver.EXAMPLE
        if repeats:
            return PassedOver.EXCERPT
        if read.outline.stubs & self._asked.contract and not own:
            return PassedOver.STUBS
        below = read.block.line > self._entry.blocks[-1].block.line
        if below and (own & self._names or not self._is_use(read)):
            return None
        return None if own & self._lacking or self._is_module(own) else PassedOver.EXAMPLE

    @property
    def _names(self) -> frozenset[str]:
        """Names that the files define, or that the contract leaves to them."""
        found = [f.outline.defines | f.outline.functions for f in self._files.values()]
        return self._asked.offered.union(*found)

    @property
    def _lacking(self) -> frozenset[str]:
        """Names that the sources use and neither define nor import."""
        sources = [f.outline for f in self._files.values() if f.language is self._asked.language]
        needs = frozenset[str]().union(*((o.needs or frozenset()) - o.imported for o in sources))
        return needs.difference(*(o.defines | o.imported for o in sources))

    def _is_use(self, read: ReadBlock) -> bool:
        return not read.block.text[:1].isspace() and not (self._asked.contract | self._stems).isdisjoint(
            _WORD.findall(read.block.text)
        )

    def _is_module(self, own: frozenset[str]) -> bool:
        return any(
            names & own or "*" in names
            for file in self._files.values()
            for module, names in file.outline.imports.items()
            if PurePosixPath(module).stem not in self._stems
        )


def is_tests(read: ReadBlock, path: str) -> bool:
    """Return whether a nameless block holds tests of a file."""
    return not read.chosen and read.language is not None and read.outline.tests and imports(read.outline, path)


def is_excerpt(read: ReadBlock, file: TakenFile) -> bool:
    """Return whether a block only repeats lines of a file, below a comment that may name it."""
    text = read.block.text.strip("\n")
    first, _, rest = text.partition("\n")
    own = rest.strip("\n") if read.name and read.path in first else text
    return bool(own.strip()) and f"\n{own}\n" in f"\n{file.text}\n"
