"""An answer given in several unnamed blocks: they are put together where names leave only one way to do it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.importing.reply_blocks import ReplyBlock


@dataclass(frozen=True)
class JoinedBlocks:
    """Blocks that make one file.

    Attributes:
        blocks: in the order of the reply.
        text: of all of them.
    """

    blocks: tuple[ReplyBlock, ...]
    text: str


def joined_blocks(
    sources: Sequence[ReplyBlock],
    required: Collection[str],
    optional: Collection[str] = (),
    entry: ReplyBlock | None = None,
) -> JoinedBlocks | None:
    """The blocks that define the functions and all that those need; None where they leave a choice or a gap.

    Args:
        sources: blocks without a name.
        required: the contract's functions.
        optional: functions of the contract that are taken where a block has them.
        entry: the block that defines all of them; found where there is none.
    """
    parts = [entry] if entry else [_last(sources, name) for name in required]
    parts += [b for name in optional if (b := _last(sources, name))]
    chosen = {id(b): b for b in parts if b is not None}
    if None in parts or any(b.outline.needs is None for b in chosen.values()):
        return None
    # what follows the last part is an example of its use: an import there is none of the answer's
    earlier = [b for b in sources if b.line <= max(part.line for part in chosen.values())]
    while missing := _missing(chosen.values()):
        found = {id(b): b for name in missing if (b := _last(earlier, name, imported=True))}
        if found.keys() <= chosen.keys():
            break
        chosen |= found
    blocks = tuple(sorted(chosen.values(), key=lambda b: b.line))
    names = [name for b in blocks for name in b.outline.defines]
    if len(names) != len({*names}) or (missing and not entry) or len(blocks) == 1:
        return None
    return JoinedBlocks(blocks, "\n\n\n".join(b.block.text.strip("\n") for b in blocks) + "\n")


def _last(sources: Sequence[ReplyBlock], name: str, *, imported: bool = False) -> ReplyBlock | None:
    """The last block that gives a name its value."""
    for block in reversed(sources):
        if name in block.outline.defines or (imported and name in block.outline.imported):
            return block
    return None


def _missing(blocks: Collection[ReplyBlock]) -> set[str]:
    bound = {name for b in blocks for name in b.outline.defines | b.outline.imported}
    return {name for b in blocks for name in b.outline.needs or ()} - bound
