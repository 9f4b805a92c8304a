"""Choice of the file that defines the contract."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import NoAnswerError, ReplyError
from harness.replies.found import BlocksOfReply, ReadBlock, imports
from harness.replies.names import FileName, NamedBy, only_name, safe
from harness.replies.text import ReplyProblem


@dataclass(frozen=True)
class ContractFile:
    """The file that defines the contract.

    Attributes:
        name: its path, with the source of the name.
        blocks: its complete versions in order, or the joined blocks.
        joined: text of joined blocks, or "".
        aside: blocks of other files that define the contract as well.
    """

    name: FileName
    blocks: tuple[ReadBlock, ...]
    joined: str = ""
    aside: tuple[ReadBlock, ...] = ()


def find_entry(asked: BlocksOfReply, settings: str | None) -> ContractFile:
    """Find the file that defines the contract.

    Args:
        settings: text of the reply's own submission.toml.

    Raises:
        NoAnswerError: the blocks do not define the contract, singly or joined.
        ReplyError: several files may be meant.
    """
    stated = read_entries(settings)
    whole = [block for block in asked.sources if asked.is_whole(block)]
    if not whole and len(asked.sources) == 1 and asked.sources[0].chosen:
        whole = asked.sources
    if not whole:
        cells = _join_cells(asked)
        if cells is None:
            raise _build_no_entry_error(asked)
        return ContractFile(_choose_name(asked, cells, stated), cells, _join_text(cells))
    paths = list(dict.fromkeys(block.path for block in whole))
    nameless = [block for block in whole if not block.name]
    if len(paths) == 1 and len(nameless) < 2:
        return ContractFile(whole[-1].name or _choose_name(asked, whole, stated), tuple(whole))
    chosen = [] if nameless else _choose_entries(whole, paths, stated)
    if len(chosen) != 1:
        raise asked.ambiguous(
            f"has {len(whole)} blocks that define the contract, and which one is the answer is not clear", whole
        )
    meant = tuple(block for block in whole if block.path == chosen[0])
    aside = tuple(block for block in whole if block.path != chosen[0])
    return ContractFile(meant[-1].name or FileName(chosen[0], NamedBy.DEFAULT), meant, aside=aside)


def read_entries(settings: str | None) -> list[str]:
    """Return the entries that a submission.toml names; empty if unreadable."""
    try:
        table: dict[str, Any] = tomllib.loads(settings or "")
        entry = table["submission"]["entry"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []
    return [name for name in ([entry] if isinstance(entry, str) else entry) if isinstance(name, str)]


def _choose_entries(whole: Sequence[ReadBlock], paths: Sequence[str], stated: Sequence[str]) -> list[str]:
    named = [path for path in paths if path in stated]
    last = {block.path: block for block in whole}
    return named or [
        path for path in paths if all(imports(last[path].outline, other) for other in paths if other != path)
    ]


def _join_cells(asked: BlocksOfReply) -> tuple[ReadBlock, ...] | None:
    """Return nameless blocks that together define the contract, such as the cells of a notebook, or None.

    They must be complete, define each name once, and bind every name they use.
    """
    cells = [block for block in asked.sources if not block.name]
    last = max((n for n, block in enumerate(cells) if block.outline.defines & asked.offered), default=-1)
    parts = tuple(cells[: last + 1])
    names = [name for part in parts for name in part.outline.defines]
    bound = {name for part in parts for name in part.gives}
    if len(names) != len({*names}) or not asked.contract <= {*names} or any(not part.block.closed for part in parts):
        return None
    if any(p.outline.fault or p.outline.gaps or p.outline.stubs or p.outline.needs is None for p in parts):
        return None
    if any(asked.contract & p.outline.unwritten.keys() for p in parts):
        return None
    needs = {name for part in parts for name in part.outline.needs or ()}
    return None if asked.language.syntax.binds_names and needs - bound else parts


def _join_text(parts: Sequence[ReadBlock]) -> str:
    return "\n\n\n".join(part.block.text.strip("\n") for part in parts) + "\n"


def _choose_name(asked: BlocksOfReply, blocks: Sequence[ReadBlock], stated: Sequence[str]) -> FileName:
    given = {block.path for block in asked.blocks if block.path}
    line = blocks[0].block.line
    if len(stated) == 1 and stated[0] not in given and stated[0].endswith(asked.language.suffix):
        return FileName(safe(stated[0], asked.reply, line), NamedBy.SETTINGS)
    for block in asked.blocks:
        for module, names in block.outline.imports.items() if block not in blocks else ():
            if names & asked.contract and module.isidentifier() and f"{module}{asked.language.suffix}" not in given:
                return FileName(f"{module}{asked.language.suffix}", NamedBy.IMPORT)
    if (only := only_name(asked.prose, asked.language, given)) and "/" not in only:
        return FileName(safe(only, asked.reply, line), NamedBy.MENTION)
    return FileName(asked.language.entry, NamedBy.DEFAULT)


def _build_no_entry_error(asked: BlocksOfReply) -> ReplyError:
    # the reply has no submission if that is certain, and is ambiguous otherwise
    wanted = ", ".join(asked.challenge.contract.functions)
    cut = next((block.block for block in asked.blocks if not block.block.closed), None)
    if cut is not None:
        return NoAnswerError(
            asked.reply,
            ReplyProblem.CUT_OFF,
            f"is cut off: the code block that begins in line {cut.line} never ends",
            found=asked.list_blocks(),
            hint="ask the model again with room for a longer reply, and import that",
        )
    if any(block.patch for block in asked.blocks):
        return asked.ambiguous("changes files that it does not give")
    parts = [b.outline.defines - b.outline.unwritten.keys() for b in asked.sources if not b.outline.gaps]
    if asked.contract <= frozenset().union(*parts):
        return asked.ambiguous(f"defines {wanted} in several blocks, and how they belong together is not clear")
    lacks = next(filter(None, map(asked.list_lacks, asked.sources)), [])
    why = f"; it {' and '.join(lacks)}" if lacks else "" if asked.blocks else ", and no code block"
    return NoAnswerError(
        asked.reply,
        ReplyProblem.NO_ENTRY,
        f"holds no whole file in {asked.language.title} that defines {wanted}{why}",
        found=asked.list_blocks(),
        hint="ask the model for whole files, one fenced block each, its name after the language",
    )
