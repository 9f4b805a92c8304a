"""Changes that a reply makes to a file after giving it whole: patches, and functions to put in place of others."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from harness.importing.reply_announcements import is_another, is_change, is_supposed
from harness.importing.reply_blocks import BlockKind, ReplyBlock, language_of
from harness.importing.reply_left import is_repeated
from harness.importing.reply_patches import patched_text
from harness.importing.reply_taken import Choice, TakenFile

_PARTS = (BlockKind.SOURCE, BlockKind.PARTIAL, BlockKind.TESTS)


def revise(choice: Choice) -> None:
    """Make the changes of the files taken that a reader would make without a doubt, in the order of the reply."""
    used = {id(block) for file in choice.taken.values() for block in file.blocks} | choice.aside.keys()
    for block in choice.blocks:
        if id(block) in used or block.kind not in (*_PARTS, BlockKind.PATCH):
            continue
        if is_supposed(block) or (is_another(block) and not is_change(block)):
            continue
        if is_repeated(block, choice.taken.values()):
            continue
        made = [(file, text) for file in _files(choice, block) if (text := _revised(choice, file, block)) is not None]
        if len(made) == 1:
            file, text = made[0]
            choice.taken[file.name.path] = replace(file, text=text, changes=(*file.changes, block))


def _files(choice: Choice, block: ReplyBlock) -> Sequence[TakenFile]:
    """The files that a block may change: the one it names, or else all that precede it."""
    named = {PurePosixPath(path).name for path in (block.path, *block.patched) if path}
    earlier = [file for file in choice.taken.values() if file.blocks[-1].line < block.line]
    return [file for file in earlier if not named or PurePosixPath(file.name.path).name in named]


def _revised(choice: Choice, file: TakenFile, block: ReplyBlock) -> str | None:
    """The text of a file after a change; None where it is none of the file, or is not clear."""
    used = language_of("", file.name.path, choice.language)
    if block.kind is BlockKind.PATCH:
        text = patched_text(file.text, block.block.text)
    elif used is None or used is not block.language or not (block.name or block.outline.gaps or is_change(block)):
        return None
    else:
        text = used.syntax.spliced(file.text, block.block.text)
    if text is None or used is None:
        return text
    before, after = used.syntax.outline(file.text), used.syntax.outline(text)
    if before is None or after is None:
        return text
    needs, known = after.needs or frozenset(), before.needs or frozenset()
    kept = {*choice.challenge.contract.functions} | needs
    if (after.fault and not before.fault) or (before.defines - after.defines) & kept:
        return None
    return text if needs <= known or not used.syntax.binds_names else None
