"""The files of a reply: the last complete version of each, with later changes."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from harness.errors import ReplyError
from harness.languages import Outline
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import find_clash
from harness.replies.blocks import CodeBlock
from harness.replies.entry import ContractFile
from harness.replies.found import BlocksOfReply, Extraction, LeftBlock, PassedOver, ReadBlock, TakenFile, imports
from harness.replies.loose import LooseBlocks, is_excerpt, is_tests
from harness.replies.names import FileName, NamedBy, find_language, names_in, text_of
from harness.replies.patches import patches_of
from harness.replies.text import ReplyProblem


class Versions:
    """The files of one reply, built up block by block."""

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
            ReplyError: a block is ambiguous, or names of files clash.
        """
        cells = self._entry.blocks if self._entry.joined else ()
        if cells:
            self._take(self._entry.name, self._entry.joined, [cell.block for cell in cells])
        nameless = []
        for read in self._asked.blocks:
            name = self._entry.name if read in self._entry.blocks else read.name
            if read.path == SUBMISSION_FILE:
                self._leave(read, PassedOver.SETTINGS)
            elif read in self._entry.aside and not self._is_imported(read.path):
                self._leave(read, PassedOver.ALTERNATIVE)
            elif read.patch:
                self._change(read)
            elif not read.block.closed:
                self._leave_cut(read)
            elif name is None and is_tests(read, self._entry.name.path):
                self._add(read, self._name_tests(read))
            elif name is None:
                nameless.append(read)
            elif read not in cells:
                self._add(read, name)
        self._settle_drafts()
        self._left += LooseBlocks(self._asked, self._entry, self._files).pass_over(nameless)
        return self._build_extraction()

    def _add(self, read: ReadBlock, name: FileName) -> None:
        before = self._files.get(name.path)
        complete = read.chosen or self._is_complete(read, name.path)
        if before is None and not complete:
            self._drafts.setdefault(name.path, []).append(read)
        elif before is None:
            self._take(name, text_of(read.block), [read.block])
        elif not read.chosen and is_excerpt(read, before):
            self._leave(read, PassedOver.EXCERPT)
        elif read.chosen or (complete and self._continues(before, read)):
            self._left += [LeftBlock(block, PassedOver.SUPERSEDED) for block in (*before.blocks, *before.changes)]
            self._take(name, text_of(read.block), [read.block])
        else:
            message = f"gives {name.path} again in line {read.block.line}, which may be a part of it or another file"
            raise self._asked.ambiguous(message)

    def _take(self, name: FileName, text: str, blocks: Sequence[CodeBlock], changes: Sequence[CodeBlock] = ()) -> None:
        used = find_language("", name.path, self._asked.language)
        outline = (used.syntax.outline(text) if used else None) or Outline()
        self._files[name.path] = TakenFile(name, text, tuple(blocks), tuple(changes), outline, used)

    def _is_complete(self, read: ReadBlock, path: str) -> bool:
        if path == self._entry.name.path:
            return read in self._entry.blocks
        return not read.outline.gaps and not read.outline.stubs & self._asked.contract

    def _continues(self, before: TakenFile, after: ReadBlock) -> bool:
        """Return whether a later version is self-contained and keeps all that others use of the earlier one."""
        users = [read.outline.imports for read in self._asked.blocks if imports(read.outline, before.name.path)]
        wanted = self._asked.offered.union(*(names for found in users for names in found.values()))
        bound = before.outline.defines | before.outline.imported
        if (bound & wanted) - after.gives or bound & (after.outline.needs or frozenset()):
            return False
        kept = before.outline.functions & after.outline.functions
        return after in self._entry.blocks or 2 * len(kept) >= len(before.outline.functions)

    def _change(self, read: ReadBlock) -> None:
        patches = patches_of(read.block)
        if patches is None:
            raise self._asked.ambiguous(f"holds a change in line {read.block.line} that cannot be read")
        for patch in patches:
            if patch.creates:
                continue  # handled as a block of its own
            before = self._files.get(patch.path)
            if before is None and patch.path == self._entry.name.path:
                continue  # superseded: the whole file follows
            text = patch.apply(before.text) if before else None
            if before is None or text is None:
                message = f"holds a change in line {read.block.line} that does not fit {patch.path} as it is given"
                raise self._asked.ambiguous(message)
            self._take(before.name, text, before.blocks, (*before.changes, read.block))
            needs = self._files[patch.path].outline.needs or frozenset()
            if needs - (before.outline.needs or frozenset()) and before.language and before.language.syntax.binds_names:
                raise self._asked.ambiguous(
                    f"holds a change in line {read.block.line} that uses a name that {patch.path} does not define"
                )
        if all(read.block not in file.changes for file in self._files.values()):
            self._leave(read, PassedOver.DRAFT)

    def _leave_cut(self, read: ReadBlock) -> None:
        # a cut-off file that no other file needs can be left out
        compiled = self._asked.language.several_entries and read.language is self._asked.language
        if read.name is None or read.path in self._files or self._is_imported(read.path) or compiled:
            message = f"is cut off in the block of line {read.block.line}, which may belong to the answer"
            raise self._asked.ambiguous(message)
        self._leave(read, PassedOver.CUT_OFF)

    def _is_imported(self, path: str) -> bool:
        return any(imports(read.outline, path) for read in self._asked.blocks if read.path != path)

    def _settle_drafts(self) -> None:
        for path, drafts in self._drafts.items():
            file = self._files.get(path)
            if file is None:
                message = f"gives a part of {path} in line {drafts[0].block.line}, and no block gives all of it"
                raise self._asked.ambiguous(message)
            for read in drafts:
                if (file.outline.needs or frozenset()) & read.outline.defines:
                    raise self._asked.ambiguous(
                        f"gives {path} in line {file.blocks[0].line}, which may continue the part above it"
                    )
                self._leave(read, PassedOver.DRAFT)

    def _name_tests(self, read: ReadBlock) -> FileName:
        for file in self._files.values():
            if file.outline.tests and file.outline.functions <= read.outline.functions:
                return file.name
        entry = PurePosixPath(self._entry.name.path)
        return FileName(f"test_{entry.stem}{read.language.suffix if read.language else ''}", NamedBy.IMPORT)

    def _leave(self, read: ReadBlock, why: PassedOver) -> None:
        self._left.append(LeftBlock(read.block, why))

    def _build_extraction(self) -> Extraction:
        entry = self._files[self._entry.name.path]
        if clash := find_clash(self._files):
            above, path = clash
            raise ReplyError(
                self._asked.reply,
                ReplyProblem.NAMES_CLASH,
                f"{above} is a file, and the folder of {path}",
                found=self._asked.list_blocks(),
                hint="change one of the names in the reply, and import it again",
            )
        if missing := self._find_missing_file():
            raise self._asked.ambiguous(f"mentions {missing}, which one of its files imports and no block contains")
        if entry.changes and not self._asked.contract <= entry.outline.defines | entry.outline.imported:
            raise self._asked.ambiguous(f"holds a change after which {entry.name.path} no longer defines the contract")
        files = sorted(self._files.values(), key=lambda file: file.blocks[0].line)
        left = sorted(self._left, key=lambda each: each.block.line)
        return Extraction(entries_of(self._asked, entry, self._files), tuple(files), tuple(left), self._settings)

    def _find_missing_file(self) -> str:
        there = {PurePosixPath(path).name for path in self._files}
        said = {name for line in self._asked.prose for name in names_in(line)} - self._files.keys() - there
        modules = [module for file in self._files.values() for module in file.outline.imports]
        return min(said & {*modules, *(f"{module}{self._asked.language.suffix}" for module in modules)}, default="")


def entries_of(asked: BlocksOfReply, entry: TakenFile, files: Mapping[str, TakenFile]) -> tuple[str, ...]:
    """Return the entry, and every other file that is compiled with it rather than included."""
    if not asked.language.several_entries:
        return (entry.name.path,)
    beside = [
        path
        for path, file in files.items()
        if path.endswith(asked.language.suffix)
        and path != entry.name.path
        and not any(imports(each.outline, path) for each in files.values())
        and not asked.language.syntax.is_test(path)
        and file.outline.defines
        and not file.outline.defines & (asked.contract | {"main"})
    ]
    return (entry.name.path, *beside)
