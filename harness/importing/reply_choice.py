"""Which blocks of a reply are its files: the last complete version of each; what cannot be decided is an error."""

from pathlib import PurePosixPath

from harness.importing.reply_blocks import BlockKind, ReplyBlock
from harness.importing.reply_entry import find_entry, refuse_missing
from harness.importing.reply_left import refuse_changes_said, why_left
from harness.importing.reply_names import FileName, NamedBy
from harness.importing.reply_revisions import revise
from harness.importing.reply_taken import Choice, Extraction, LeftBlock, TakenFile, imports
from harness.importing.reply_text import ReplyProblem
from harness.model.collection import SUBMISSION_FILE

_WHOLE = (BlockKind.SOURCE, BlockKind.TESTS, BlockKind.DOCUMENT)


def choose(choice: Choice) -> Extraction:
    """Tell the files of a reply.

    Raises:
        ReplyError: no entry, or several; or the last word on a file is neither whole nor a clear change of it.
    """
    settings = next((b for b in reversed(choice.blocks) if b.path == SUBMISSION_FILE), None)
    _refuse_additions(choice)
    found = find_entry(choice, settings)
    choice.taken[found.name.path] = found
    _take_others(choice, found)
    _refuse_clashes(choice)
    revise(choice)
    entry = choice.taken[found.name.path]
    refuse_missing(choice, entry)
    used = {id(block) for file in choice.taken.values() for block in (*file.blocks, *file.changes)}
    left = [LeftBlock(b, why_left(choice, b, entry)) for b in choice.blocks if id(b) not in used]
    refuse_changes_said(choice, entry)
    line = choice.html[-1] if choice.html else 0
    if line > entry.blocks[-1].line:
        raise choice.error(
            ReplyProblem.HTML, f"line {line} begins code in HTML, which is not read and may be the last word"
        )
    files = sorted(choice.taken.values(), key=lambda file: file.blocks[0].line)
    return Extraction(_entries(choice, entry), tuple(files), tuple(left), settings)


def _refuse_additions(choice: Choice) -> None:
    """Refuse text with nothing to search for that names a file which a block before gives.

    Raises:
        ReplyError: it may be all of the file, or what is to be added to it.
    """
    for number, block in enumerate(choice.blocks):
        before = next((b for b in choice.blocks[:number] if b.path and b.path == block.path), None)
        if block.block.adds and before and block.block.text.strip() not in before.block.text:
            message = f"line {block.line} searches for nothing in {block.path}, which line {before.line} gives; found"
            raise choice.error(ReplyProblem.UNFINISHED, message, [before, block])


def _take_others(choice: Choice, entry: TakenFile) -> None:
    """Take the last version of every other file."""
    for block in choice.blocks:
        if not block.name or block.path in (entry.name.path, SUBMISSION_FILE) or block.kind not in _WHOLE:
            continue
        if id(block) in choice.aside or _tests_aside(choice, block):
            continue
        if block.path not in choice.taken or not _shrinks(choice, choice.taken[block.path].blocks[0], block):
            choice.taken[block.path] = TakenFile(block.name, block.block.text, (block,))
    stem = PurePosixPath(entry.name.path).stem
    for block in choice.blocks:
        if block.kind is BlockKind.TESTS and not block.name and block.language and imports(block, entry.name.path):
            again = next((file.name for file in choice.taken.values() if _tests_again(file, block)), None)
            name = again or FileName(f"test_{stem}{block.language.suffix}", NamedBy.IMPORT)
            choice.taken[name.path] = TakenFile(name, block.block.text, (block,))


def _tests_again(file: TakenFile, block: ReplyBlock) -> bool:
    """Whether unnamed tests are a later version of those in a file: they hold each of its functions."""
    before = file.blocks[-1]
    tests = before.outline.functions if before.kind is BlockKind.TESTS else frozenset[str]()
    return bool(tests) and tests <= block.outline.functions


def _tests_aside(choice: Choice, block: ReplyBlock) -> bool:
    """Whether a file only tests versions that the reply does not submit."""
    return block.kind is BlockKind.TESTS and any(b.name and imports(block, b.path) for b in _aside(choice))


def _aside(choice: Choice) -> list[ReplyBlock]:
    return [b for b in choice.blocks if id(b) in choice.aside and b.path not in choice.taken]


def _shrinks(choice: Choice, before: ReplyBlock, after: ReplyBlock) -> bool:
    """Whether a later version has lost what the one before gave: it is a part of the file."""
    kept = before.outline.functions & after.outline.functions
    lost = before.outline.defines - after.outline.defines
    wanted = {name for b in choice.blocks if imports(b, before.path) for m in b.outline.imports.values() for name in m}
    bound = before.outline.defines | before.outline.imported
    return (
        2 * len(kept) < len(before.outline.functions)
        or not lost.isdisjoint(wanted)
        or not bound.isdisjoint(after.outline.needs or ())
    )


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
    contract = {*choice.challenge.contract.functions}  # defined twice, it links with nothing
    included = {p for p in sources for file in choice.taken.values() for b in file.blocks if imports(b, p)}
    beside = [
        path
        for path, file in sources.items()
        if path not in (*included, entry.name.path)
        and not choice.language.syntax.is_test(path)
        and any(b.outline.defines - {"main"} for b in file.blocks)
        and not any(b.outline.defines & contract for b in file.blocks)
        and not any("main" in b.outline.defines for b in file.blocks)
    ]
    return (entry.name.path, *beside)
