"""The files of a reply: the last complete version of each, with the changes that follow it."""

import re
from collections.abc import Iterable, Mapping, Sequence

from harness.errors import ReplyError
from harness.languages import Outline
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import find_clash
from harness.replies.blocks import CodeBlock
from harness.replies.entry import ContractFile, imports
from harness.replies.found import BlocksOfReply, Extraction, LeftBlock, PassedOver, ReadBlock, TakenFile
from harness.replies.names import FileName, NamedBy, names_in, text_of, written_in
from harness.replies.patches import patches_of
from harness.replies.text import ReplyProblem

_COMMON = frozenset({"main", "__init__"})
"""Functions that every program and class may have."""


class Versions:
    """The files of one reply while they are taken, block by block.

    Args:
        asked: the blocks.
        entry: the file that defines the contract.
        settings: the text of the answer's own submission.toml.
    """

    def __init__(self, asked: BlocksOfReply, entry: ContractFile, settings: str | None) -> None:
        self._asked = asked
        self._entry = entry
        self._settings = settings
        self._files: dict[str, TakenFile] = {}
        self._drafts: dict[str, list[ReadBlock]] = {}
        self._left: list[LeftBlock] = []

    def extraction(self) -> Extraction:
        """Take all files.

        Raises:
            ReplyError: a block may be meant in two ways, or the names of two files are in each other's way.
        """
        apart = [*self._entry.blocks] if self._entry.joined else []
        if apart:
            self._take(self._entry.name, self._entry.joined, [part.block for part in apart])
        nameless = []
        for read in self._asked.blocks:
            if read.path == SUBMISSION_FILE:
                self._leave(read, PassedOver.SETTINGS)
            elif read in self._entry.aside and not self._is_imported(read.path):
                self._leave(read, PassedOver.ALTERNATIVE)
            elif read.patch:
                self._change(read)
            elif not read.block.closed:
                self._leave_cut(read)
            elif (name := self._entry.name if read in self._entry.blocks else read.name) and read not in apart:
                self._add(read, name)
            elif read not in apart:
                nameless.append(read)
        self._settle_drafts()
        self._settle_nameless(nameless)
        return self._finished()

    def _add(self, read: ReadBlock, name: FileName) -> None:
        """Take a block as the version of its file, or leave it."""
        before = self._files.get(name.path)
        if before is None:
            if self._is_complete(read, name.path):
                self._take(name, text_of(read.block), [read.block])
            else:
                self._drafts.setdefault(name.path, []).append(read)
        elif not read.chosen and _is_excerpt(read, before):
            self._leave(read, PassedOver.EXCERPT)
        elif read.chosen or (self._is_complete(read, name.path) and self._continues(before, read)):
            self._left += [LeftBlock(block, PassedOver.SUPERSEDED) for block in (*before.blocks, *before.changes)]
            self._take(name, text_of(read.block), [read.block])
        else:
            raise self._asked.ambiguous(
                f"line {read.block.line} gives {name.path} again, and may be a part of it or another file",
                [r for r in self._asked.blocks if r.block in before.blocks or r is read],
            )

    def _take(
        self, name: FileName, text: str, blocks: Sequence[CodeBlock], changes: Sequence[CodeBlock] = ()
    ) -> None:  # fmt: skip
        used = written_in("", name.path, self._asked.language)
        outline = (used.syntax.outline(text) if used else None) or Outline()
        self._files[name.path] = TakenFile(name, text, tuple(blocks), tuple(changes), outline, used)

    def _is_complete(self, read: ReadBlock, path: str) -> bool:
        if path == self._entry.name.path and not read.chosen:
            return read in self._entry.blocks
        return not read.outline.gaps and not read.outline.stubs & self._asked.contract

    def _continues(self, before: TakenFile, after: ReadBlock) -> bool:
        """Return whether a later version keeps what others use of the one before, and needs nothing of it."""
        wanted = {
            name for read in self._asked.blocks if imports(read, before.name.path)
            for names in read.outline.imports.values() for name in names
        }  # fmt: skip
        bound = before.outline.defines | before.outline.imported
        if (bound & (wanted | self._asked.contract)) - after.gives or bound & (after.outline.needs or frozenset()):
            return False
        kept = before.outline.functions & after.outline.functions
        return after in self._entry.blocks or 2 * len(kept) >= len(before.outline.functions)

    def _change(self, read: ReadBlock) -> None:
        """Apply a patch.

        Raises:
            ReplyError: it cannot be read, or does not fit.
        """
        patches = patches_of(read.block)
        if patches is None:
            raise self._asked.ambiguous(f"the change of line {read.block.line} cannot be read")
        for patch in patches:
            if patch.creates:
                continue  # a block of its own
            before = self._files.get(patch.path)
            if before is None and self._follows(read, patch.path):
                self._leave(read, PassedOver.DRAFT)
                return
            text = patch.applied(before.text) if before else None
            if before is None or text is None:
                message = f"the change of line {read.block.line} does not fit {patch.path} as the reply gives it"
                raise self._asked.ambiguous(message)
            self._take(before.name, text, before.blocks, (*before.changes, read.block))
            needs = self._files[patch.path].outline.needs or frozenset()
            if needs - (before.outline.needs or frozenset()) and before.language and before.language.syntax.binds_names:
                raise self._asked.ambiguous(
                    f"the change of line {read.block.line} uses what {patch.path} does not give"
                )

    def _follows(self, read: ReadBlock, path: str) -> bool:
        """Return whether a whole version of the entry comes after a block."""
        return path == self._entry.name.path and self._entry.blocks[-1].block.line > read.block.line

    def _leave_cut(self, read: ReadBlock) -> None:
        """Leave the block in which a reply is cut off, where it is a file of its own that no other imports.

        Raises:
            ReplyError: it may be a part or a later version of what is taken.
        """
        compiled = self._asked.language.several_entries and read.language is self._asked.language
        if read.name is None or read.path in self._files or self._is_imported(read.path) or compiled:
            message = f"is cut off in the block of line {read.block.line}, which may belong to the answer"
            raise self._asked.ambiguous(message)
        self._leave(read, PassedOver.CUT_OFF)

    def _is_imported(self, path: str) -> bool:
        return any(imports(read, path) for read in self._asked.blocks if read.path != path)

    def _settle_drafts(self) -> None:
        for path, drafts in self._drafts.items():
            if path not in self._files:
                message = f"line {drafts[0].block.line} gives a part of {path}, and no block gives all of it"
                raise self._asked.ambiguous(message)
            for read in drafts:
                if (self._files[path].outline.needs or frozenset()) & read.outline.defines:
                    message = f"line {self._files[path].blocks[0].line} may continue the part of {path} above it"
                    raise self._asked.ambiguous(message)
                self._leave(read, PassedOver.DRAFT)

    def _settle_nameless(self, nameless: Iterable[ReadBlock]) -> None:
        """Leave blocks without a name, tests apart.

        Raises:
            ReplyError: one may be a part or a change of what is taken.
        """
        for read in nameless:
            if read.chosen:
                hint = f"--take {read.block.number}=NAME"
                raise self._asked.ambiguous(f"block {read.block.number} has no name; give it one:  {hint}", [read])
            if read.outline.tests and imports(read, self._entry.name.path):
                self._add_tests(read)
            elif read.language is not self._asked.language:
                self._leave(read, PassedOver.EXAMPLE)
            elif any(_is_excerpt(read, file) for file in self._files.values()):
                self._leave(read, PassedOver.EXCERPT)
            elif read.outline.stubs & self._asked.contract and not self._own(read):
                self._leave(read, PassedOver.STUBS)
            elif self._belongs(read):
                raise self._asked.ambiguous(
                    f"line {read.block.line} has no name, and may be a part or a change of the answer"
                )
            else:
                self._leave(read, PassedOver.EXAMPLE)

    def _own(self, read: ReadBlock) -> dict[str, frozenset[str]]:
        return dict.fromkeys(read.outline.defines | read.outline.functions - read.outline.stubs, frozenset())

    def _add_tests(self, read: ReadBlock) -> None:
        stem, suffix = (
            self._entry.name.path.rpartition("/")[2].rpartition(".")[0],
            read.language and read.language.suffix,
        )
        again = [p for p, f in self._files.items() if f.outline.tests and f.outline.functions <= read.outline.functions]
        name = self._files[again[0]].name if again else FileName(f"test_{stem}{suffix}", NamedBy.IMPORT)
        self._add(read, name)

    def _belongs(self, read: ReadBlock) -> bool:
        """Return whether a block may change the answer, or hold what it lacks."""
        own = frozenset(self._own(read)) - _COMMON
        if read.block.line > self._entry.blocks[-1].block.line:
            taken = {name for f in self._files.values() for name in f.outline.defines | f.outline.functions}
            if own & (taken | {*self._asked.challenge.contract.optional}) or not self._is_use(read):
                return True
        sources = [file for file in self._files.values() if file.language is read.language]
        needs = {name for f in sources for name in (f.outline.needs or ()) if name not in f.outline.imported}
        given = {name for f in sources for name in f.outline.defines | f.outline.imported}
        return bool(own & (needs - given)) or self._lacks_a_module(sources, own)

    def _is_use(self, read: ReadBlock) -> bool:
        """Return whether a block below the answer imports a file of it, or calls the contract."""
        words = {*re.findall(r"\w+", read.block.text)}
        stems = {path.rpartition("/")[2].rpartition(".")[0] for path in self._files}
        return not words.isdisjoint(self._asked.contract | stems)

    def _lacks_a_module(self, sources: Iterable[TakenFile], own: frozenset[str]) -> bool:
        """Return whether a file imports names of a block from a module that the reply does not give."""
        given = {path.rpartition("/")[2].rpartition(".")[0] for path in self._files}
        return any(
            names & own or "*" in names
            for f in sources for module, names in f.outline.imports.items()
            if module.rpartition("/")[2].partition(".")[0] not in given
        )  # fmt: skip

    def _leave(self, read: ReadBlock, why: PassedOver) -> None:
        self._left.append(LeftBlock(read.block, why))

    def _finished(self) -> Extraction:
        if clash := find_clash(self._files):
            above, path = clash
            raise ReplyError(
                self._asked.reply, ReplyProblem.NAMES_CLASH, f"{above} is a file, and the folder of {path}",
                found=self._asked.listed(), hint="change one of the names in the reply, and import it again",
            )  # fmt: skip
        entry = self._files[self._entry.name.path]
        if missing := self._missing_file():
            raise self._asked.ambiguous(f"speaks of {missing}, which a file of it imports and no block gives")
        if entry.changes and not self._asked.contract <= entry.outline.defines | entry.outline.imported:
            raise self._asked.ambiguous(f"{entry.name.path} defines the contract no more once it is changed")
        files = sorted(self._files.values(), key=lambda file: file.blocks[0].line)
        left = sorted(self._left, key=lambda each: each.block.line)
        return Extraction(entries_of(self._asked, entry, self._files), tuple(files), tuple(left), self._settings)

    def _missing_file(self) -> str:
        """Return a file that the prose names, that a taken file imports, and that is not there; empty where none is."""
        said = {name for line in self._asked.prose for name in names_in(line)} - self._files.keys()
        suffix = self._asked.language.suffix
        wanted = {
            name for f in self._files.values() for module in f.outline.imports for name in (module, module + suffix)
        }
        there = {path.rpartition("/")[2] for path in self._files}
        return min((name for name in said & wanted if name not in there), default="")


def entries_of(asked: BlocksOfReply, entry: TakenFile, files: Mapping[str, TakenFile]) -> tuple[str, ...]:
    """Return the entry, and every other file that is compiled with it rather than included."""
    if not asked.language.several_entries:
        return (entry.name.path,)
    sources = {path: file for path, file in files.items() if path.endswith(asked.language.suffix)}
    included = {
        name
        for file in files.values()
        for module in file.outline.imports
        for name in (module, module.rpartition("/")[2])
    }
    beside = [
        path for path, file in sources.items()
        if path != entry.name.path
        and not included & {path, path.rpartition("/")[2]}
        and not asked.language.syntax.is_test(path)
        and file.outline.defines
        and not file.outline.defines & (asked.contract | {"main"})
    ]  # fmt: skip
    return (entry.name.path, *beside)


def _is_excerpt(read: ReadBlock, file: TakenFile) -> bool:
    """Return whether a block only repeats lines of a file; a comment above them may say which."""
    text = read.block.text.strip("\n")
    first, _, rest = text.partition("\n")
    own = rest.strip("\n") if read.name and read.path in first else text
    return bool(own.strip()) and f"\n{own}\n" in f"\n{file.text}\n"
