"""Changes that a reply makes to a file after giving it whole: patches, and functions to put in place of others."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from harness.importing.reply_announcements import is_another, is_change, is_second_of_pair, is_supposed
from harness.importing.reply_blocks import BlockKind, ReplyBlock, language_of
from harness.importing.reply_left import is_repeated
from harness.importing.reply_patches import patched_text, replaced_lines
from harness.importing.reply_taken import Choice, TakenFile

_PARTS = (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.TESTS)

_MOST = 20
"""Changes that are tried; more are left, and an error."""
_LARGEST = 200_000
"""Characters of a file that is changed."""


def revise(choice: Choice) -> None:
    """Make the changes of the files taken that a reader would make without a doubt, in the order of the reply."""
    used = {id(block) for file in choice.taken.values() for block in file.blocks} | choice.aside.keys()
    tried = 0
    for before, block in pairwise([None, *choice.blocks]):
        if block is None or id(block) in used or block.kind not in (*_PARTS, BlockKind.PATCH, BlockKind.OUTPUT):
            continue
        if tried == _MOST or is_supposed(block) or (is_another(block) and not is_change(block)):
            continue
        tried += 1
        if before and id(before) not in used and not is_supposed(before) and _is_pair(before, block):
            made = [
                (file, replaced_lines(file.text, before.block.text, block.block.text)) for file in _files(choice, block)
            ]
            _change(choice, made, (before, block))
        elif not is_repeated(block, choice.taken.values()):
            _change(choice, [(file, _revised(choice, file, block)) for file in _files(choice, block)], (block,))


def _is_pair(before: ReplyBlock, block: ReplyBlock) -> bool:
    """Whether two blocks are lines and what they become."""
    plain = (BlockKind.SOURCE, BlockKind.OUTPUT)
    return before.kind in plain and block.kind in plain and is_second_of_pair(block)


def _change(choice: Choice, made: Sequence[tuple[TakenFile, str | None]], blocks: tuple[ReplyBlock, ...]) -> None:
    """Take a change that fits one file and leaves it sound."""
    fits = [(file, text) for file, text in made if text is not None and _is_sound(choice, file, text)]
    if len(fits) == 1:
        file, text = fits[0]
        choice.taken[file.name.path] = replace(file, text=text, changes=(*file.changes, *blocks))


def _files(choice: Choice, block: ReplyBlock) -> Sequence[TakenFile]:
    """The files that a block may change: the one it names, or else all that precede it."""
    named = {PurePosixPath(path).name for path in (block.path, *block.patched) if path}
    earlier = [f for f in choice.taken.values() if f.blocks[-1].line < block.line and len(f.text) <= _LARGEST]
    return [file for file in earlier if not named or PurePosixPath(file.name.path).name in named]


def _revised(choice: Choice, file: TakenFile, block: ReplyBlock) -> str | None:
    """The text of a file after a change; None where it is none of the file, or is not clear."""
    if block.kind is BlockKind.PATCH:
        return patched_text(file.text, block.block.text)
    used = language_of("", file.name.path, choice.language)
    if used is None or used is not block.language or not (block.name or block.outline.gaps or is_change(block)):
        return None
    return used.syntax.spliced(file.text, block.block.text)


def _is_sound(choice: Choice, file: TakenFile, text: str) -> bool:
    """Whether a change leaves no syntax error, no name without a meaning, and all of the contract."""
    used = language_of("", file.name.path, choice.language)
    before, after = (used.syntax.outline(each) if used else None for each in (file.text, text))
    if used is None or before is None or after is None:
        return True
    needs, known = after.needs or frozenset(), before.needs or frozenset()
    kept = {*choice.challenge.contract.functions} | needs
    if (after.fault and not before.fault) or (before.defines - after.defines) & kept:
        return False
    return needs <= known or not used.syntax.binds_names
