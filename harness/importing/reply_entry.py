"""Which block of a reply is the file that defines the contract; what cannot be decided is an error."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from harness.errors import NoAnswerError, ReplyError
from harness.importing.reply_announcements import is_another, is_aside, is_left_out, is_revision, is_shown_only
from harness.importing.reply_blocks import BlockKind, ReplyBlock
from harness.importing.reply_joining import JoinedBlocks, joined_blocks
from harness.importing.reply_names import FileName, NamedBy, label_of, mentioned, names_in, safe
from harness.importing.reply_options import is_option, leaves_choice, left_open, recommended
from harness.importing.reply_taken import Choice, PassedOver, TakenFile, imports
from harness.importing.reply_text import ReplyProblem

_OTHER_FILE = re.compile(
    r"(?:^|_)(?:naive|reference|ref|baseline|slow|oracle|golden|bench\w*|demo|example\w*|usage|old|backup)(?:_|$)", re.I
)
_RUNS = re.compile(r"(?:^|_)(?:bench\w*|demo|example\w*|usage|profile\w*)(?:_|$)", re.I)
_SHORTER = 0.7
"""Share of the length of a version that a later one has which may be a simpler one, shown aside."""


def find_entry(choice: Choice, settings: ReplyBlock | None) -> TakenFile:
    """The file that defines the contract.

    Args:
        choice: the blocks; versions that the reply does not submit are put aside there.
        settings: the answer's own submission.toml.

    Raises:
        ReplyError: there is none, or several.
    """
    required = frozenset(choice.challenge.contract.functions)
    whole = _whole(choice, required)
    if not whole:
        cells = [b for b in _nameless(choice) if not b.outline.fault]
        parts = joined_blocks(cells, required, choice.challenge.contract.optional)
        if parts is None:
            raise _no_entry(choice)
        return TakenFile(_unnamed(choice, parts.blocks), parts.text, parts.blocks)
    whole = _submitted(choice, whole, settings)
    whole = _without_asides(choice, whole)
    last = whole[-1]
    said = [line for _, line in choice.prose]
    if len(whole) > 1 and is_another(last) and (meant := recommended(whole, said)) in whole[:-1] and meant:
        choice.aside |= {id(b): PassedOver.ALTERNATIVE for b in whole[whole.index(meant) + 1 :]}
        whole = whole[: whole.index(meant) + 1]
        last = meant
    if len(whole) > 1 and is_another(last):
        message = f"the words above line {last.line} call it another version, and a whole one precedes it; found"
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)
    if len(whole) > 1 and not last.name and last.outline.tests and not any(b.outline.tests for b in whole[:-1]):
        message = (
            f"line {last.line} holds tests and defines the contract itself, and a whole version precedes it; found"
        )
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)
    name = next((b.name for b in reversed(whole) if b.name), None)
    _refuse_another_file(choice, whole, name)
    parts = None if name else _joined(choice, required, last)
    blocks, text = (parts.blocks, parts.text) if parts else ((last,), last.block.text)
    return TakenFile(name or _unnamed(choice, blocks), text, blocks)


def _nameless(choice: Choice) -> list[ReplyBlock]:
    """Blocks without a name that may be parts of the answer."""
    return [b for b in choice.sources if not b.name and not is_left_out(b)]


def _joined(choice: Choice, required: frozenset[str], last: ReplyBlock) -> JoinedBlocks | None:
    """A version with what it needs of other blocks, and with optional functions of the contract that it lacks."""
    optional = [name for name in choice.challenge.contract.optional if name not in last.outline.defines]
    cells = _nameless(choice)
    later = [name for name in optional if not any(name in b.outline.defines for b in cells if b.line < last.line)]
    return joined_blocks(cells, required, later, last) or joined_blocks(cells, required, (), last)


def _without_asides(choice: Choice, whole: list[ReplyBlock]) -> list[ReplyBlock]:
    """The versions without nameless ones at the end that the reply leaves out of its answer in so many words."""
    said = [line for _, line in choice.prose]
    kept = list(whole)
    while len(kept) > 1 and not kept[-1].name and is_aside(kept[-1]):
        kept.pop()
    left = whole[len(kept) :]
    if not left or leaves_choice(said) or recommended(whole, said) in left:
        return whole
    choice.aside |= {id(block): PassedOver.OPTIONAL for block in left}
    return kept


def _refuse_another_file(choice: Choice, whole: Sequence[ReplyBlock], name: FileName | None) -> None:
    """Refuse a last version that may be another file than the versions before it.

    Raises:
        ReplyError: it has no name, and the words close to it speak of another file; or only one of them has a name,
            that of a reference or the like.
    """
    last, own = whole[-1], PurePosixPath(name.path).name if name else ""
    if len(whole) < 2:
        return
    revised = is_revision(last)
    others = {each for each in mentioned(last.block, far=not revised) if each.endswith(choice.language.suffix)} - {own}
    others = {each for each in others if not _RUNS.search(PurePosixPath(each).stem)}
    if not last.outline.tests:
        others = {each for each in others if not choice.language.syntax.is_test(each)}
    if last.name:
        others = {label} - {own} if (label := _label_above(last)) else set()
    unnamed = any(not b.name for b in whole)
    if others or (unnamed and own and _OTHER_FILE.search(PurePosixPath(own).stem)):
        told = min(others, default=own)
        message = f"line {last.line} may be {told}, and another file than the whole version before it; found"
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)
    if not last.name and not revised and _gives_less(choice, last, whole[-2]):
        message = f"line {last.line} gives less than the whole version before it, and no word says why; found"
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)


def _gives_less(choice: Choice, block: ReplyBlock, before: ReplyBlock) -> bool:
    """Whether a version has lost functions of the contract that the one before it gives, or much of its length."""
    lost = (before.outline.defines - block.outline.defines) & {*choice.challenge.contract.optional}
    return bool(lost) or len(block.block.text) < _SHORTER * len(before.block.text)


def _label_above(block: ReplyBlock) -> str:
    """The file that the line above a block names, without its folders; empty where it names none."""
    line = next((line for line in block.block.above if line.strip()), "")
    return PurePosixPath(label_of(line).replace("\\", "/")).name


def _whole(choice: Choice, required: frozenset[str]) -> list[ReplyBlock]:
    """The blocks that each define all of the contract, whole and meant to."""
    whole = [b for b in choice.sources if not b.outline.fault and not b.lacks(choice.challenge)]
    whole = whole or [b for b in choice.sources if b.outline.fault and required <= b.outline.functions]
    whole = whole or [b for b in choice.sources if b.name and required <= b.outline.defines | b.outline.imported]
    # a test may define all of the contract, as broken samples, and is no entry where something else does
    whole = [b for b in whole if not choice.language.syntax.is_test(b.path)] or whole
    # a last version that lacks some bodies is not passed over for the one before it
    whole = [
        b for b in whole if not b.outline.unwritten & required or (b is whole[-1] and _is_begun(b, required))
    ] or whole
    whole = [b for n, b in enumerate(whole) if not _leans_on(b, whole[:n])]
    shown = [b for b in whole if is_shown_only(b)]
    if len(shown) < len(whole):
        choice.aside |= {id(b): PassedOver.COMPARISON for b in shown if not b.name}
        whole = [b for b in whole if b not in shown]
    return whole


def _is_begun(block: ReplyBlock, required: frozenset[str]) -> bool:
    """Whether a block writes one of the functions, and is no template alone."""
    return not required <= block.outline.unwritten


def _leans_on(block: ReplyBlock, earlier: Sequence[ReplyBlock]) -> bool:
    """Whether a block uses what a whole version before it binds and it does not: it is a part to put in there."""
    needs = block.outline.needs or frozenset()
    return any(needs & (b.outline.defines | b.outline.imported) for b in earlier)


def _submitted(choice: Choice, whole: list[ReplyBlock], settings: ReplyBlock | None) -> list[ReplyBlock]:
    """The versions of the one file that the reply submits.

    Raises:
        ReplyError: it leaves the choice among several.
    """
    prose = [line for _, line in choice.prose]
    paths = list(dict.fromkeys(b.path for b in whole if b.name))
    only = _only(whole, paths, settings) if len(paths) > 1 else ""
    if only or len(paths) <= 1:
        whole = _of_one_file(choice, whole, only, settings) if only else whole
        options = left_open(whole) or (whole if leaves_choice(prose) else [])
        if len(options) < 2:
            return whole
        message = "the reply offers a choice of whole versions; found"
    else:
        last = {b.path: b for b in whole if b.name}
        options = [last[path] for path in paths]
        message = f"{len(paths)} files define the contract, and which one is the entry is not said; found"
    chosen = recommended(options, prose)
    if chosen is None or whole[-1] not in options or any(_may_follow(b, chosen, options) for b in whole):
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)
    choice.aside |= {
        id(b): PassedOver.ALTERNATIVE for b in whole if b is not chosen and b.path != (chosen.path or None)
    }
    return [b for b in whole if b is chosen or (chosen.path and b.path == chosen.path)]


def _of_one_file(
    choice: Choice, whole: Sequence[ReplyBlock], path: str, settings: ReplyBlock | None
) -> list[ReplyBlock]:
    """The versions of one file; others that hold all of the answer as well are put aside where they are alternatives.

    One that the file imports, that is used together with it, or that is called a reference or the like, stays.

    Raises:
        ReplyError: whether another is an alternative is not said, or the reply recommends it.
    """
    kept = [b for b in whole if b.path == path]
    others = [b for b in whole if b.name and b.path != path and not _is_beside(choice, b, path)]
    last = {b.path: b for b in (*others, *kept)}
    chosen = recommended(list(last.values()), [line for _, line in choice.prose]) if others else None
    named = settings is not None and f'"{path}"' in settings.block.text and all(map(is_option, last.values()))
    if others and not (chosen is kept[-1] or (chosen is None and named)):
        message = f"{len(last)} files define the contract, and whether {path} alone is the answer is not said; found"
        raise choice.error(ReplyProblem.SEVERAL_ENTRIES, message, whole)
    choice.aside |= {id(b): PassedOver.ALTERNATIVE for b in others}
    return kept


def _is_beside(choice: Choice, block: ReplyBlock, path: str) -> bool:
    """Whether a file that holds all of the answer belongs beside the entry, by its use or its name."""
    users = [b for b in choice.blocks if b.path != block.path and imports(b, block.path)]
    if any(b.path == path or imports(b, path) for b in users):
        return True
    return _OTHER_FILE.search(PurePosixPath(block.path).stem) is not None and not is_option(block)


def _may_follow(block: ReplyBlock, chosen: ReplyBlock, options: Sequence[ReplyBlock]) -> bool:
    """Whether a version that is none of the options may be a later one of the chosen option."""
    return block not in options and block.line > chosen.line and block.path in ("", chosen.path)


def _only(whole: Sequence[ReplyBlock], paths: Sequence[str], settings: ReplyBlock | None) -> str:
    """The one of several files that is the entry: the one the answer names, the one that uses the others, or all that
    is not called a reference or a demo; empty where there is none such."""
    named = [path for path in paths if settings and f'"{path}"' in settings.block.text]
    last = {b.path: b for b in whole}
    using = [p for p in paths if any(imports(last[p], other) for other in paths if other != p)]
    proper = [p for p in paths if not _OTHER_FILE.search(PurePosixPath(p).stem)]
    return next((found[0] for found in (named, using, proper) if len(found) == 1), "")


def refuse_missing(choice: Choice, entry: TakenFile) -> None:
    """Refuse an entry that leaves functions of the contract to be written, or lacks what another block defines.

    Raises:
        ReplyError: it does.
    """
    outline = choice.language.syntax.outline(entry.text)
    if outline is None or outline.fault:
        return
    for name in sorted((outline.needs or frozenset()) - outline.defines - outline.imported):
        for other in choice.sources:
            if name not in other.outline.defines or other in entry.blocks or id(other) in choice.aside:
                continue
            if other.name and (choice.language.several_entries or imports(entry.blocks[0], other.path)):
                continue  # compiled beside it, included, or imported whole
            message = f"the entry of line {entry.blocks[0].line} uses {name} without importing it; found"
            raise choice.error(ReplyProblem.NO_ENTRY, message, [*entry.blocks, other])
    if left := sorted(outline.unwritten & {*choice.challenge.contract.functions}):
        message = f"line {entry.blocks[-1].line} gives {', '.join(left)} no body that does something; found"
        raise choice.error(ReplyProblem.UNFINISHED, message, entry.blocks, NoAnswerError)


def _no_entry(choice: Choice) -> ReplyError:
    wanted = ", ".join(choice.challenge.contract.functions)
    if choice.html:
        return choice.error(ReplyProblem.HTML, f"line {choice.html[0]} begins code in HTML, which is not read")
    if not choice.blocks:
        message = f"holds prose and no code block; expected {wanted}"
        return choice.error(ReplyProblem.NO_CODE, message, kind=NoAnswerError)
    unfinished = [b for b in choice.blocks if b.kind in (BlockKind.PARTIAL, BlockKind.PATCH)]
    problem = ReplyProblem.UNFINISHED if unfinished else ReplyProblem.NO_ENTRY
    message = f"no whole file in {choice.language.title} defines {wanted}; found"
    return choice.error(problem, message, kind=NoAnswerError)


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
    known = {PurePosixPath(b.path).name for b in choice.blocks if b.path}
    said = {name for _, line in choice.prose for name in names_in(line) if _may_be_entry(choice, name)}
    if len(said) == 1 and not known & said:
        return FileName(safe(said.pop(), choice.reply, blocks[0].line), NamedBy.SENTENCE)
    return FileName(choice.language.entry, NamedBy.CONTRACT)


def _may_be_entry(choice: Choice, name: str) -> bool:
    """Whether a file of which the reply speaks may be its entry, by its name."""
    stem = PurePosixPath(name).stem
    return (
        name.endswith(choice.language.suffix)
        and not set(name) & {"/", "\\", ":"}
        and not choice.language.syntax.is_test(name)
        and not _OTHER_FILE.search(stem)
    )


def _is_draft(choice: Choice, block: ReplyBlock, required: set[str]) -> bool:
    """Whether a named block holds a part of the contract, not whole or with code left out."""
    drawn = (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.STUBS)
    return (
        block.language is choice.language and block.kind in drawn and not required.isdisjoint(block.outline.functions)
    )
