"""Which file of a reply defines the contract; where several may be meant, none is taken."""

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
        name: its path, and what gave it.
        blocks: its whole versions in order; of joined blocks, all that are joined.
        joined: the text of joined blocks; empty where one block is the file.
        aside: blocks that define the contract as well, and are other files.
    """

    name: FileName
    blocks: tuple[ReadBlock, ...]
    joined: str = ""
    aside: tuple[ReadBlock, ...] = ()


def find_entry(asked: BlocksOfReply, settings: str | None) -> ContractFile:
    """Find the file that defines the contract.

    Args:
        asked: the blocks.
        settings: the text of the answer's own submission.toml.

    Raises:
        NoAnswerError: no block and no blocks together define it.
        ReplyError: it cannot be told which does.
    """
    stated = stated_entries(settings)
    whole = [block for block in asked.sources if asked.is_whole(block)]
    if not whole and len(asked.sources) == 1 and asked.sources[0].chosen:
        whole = asked.sources
    if not whole:
        cells = _joined(asked)
        if cells is None:
            raise _no_entry(asked)
        return ContractFile(_name(asked, cells, stated), cells, _text(cells))
    paths = list(dict.fromkeys(block.path for block in whole))
    nameless = [block for block in whole if not block.name]
    if len(paths) == 1 and len(nameless) < 2:
        return ContractFile(whole[-1].name or _name(asked, whole, stated), tuple(whole))
    chosen = [] if nameless else _chosen(whole, paths, stated)
    if len(chosen) != 1:
        raise asked.ambiguous(
            f"has {len(whole)} blocks that define the contract, and which one is the answer is not clear", whole
        )
    meant = tuple(block for block in whole if block.path == chosen[0])
    aside = tuple(block for block in whole if block.path != chosen[0])
    return ContractFile(meant[-1].name or FileName(chosen[0], NamedBy.DEFAULT), meant, aside=aside)


def stated_entries(settings: str | None) -> list[str]:
    """Return the files that a submission.toml names as entries; none where it cannot be read."""
    try:
        table: dict[str, Any] = tomllib.loads(settings or "")
        entry = table["submission"]["entry"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []
    return [name for name in ([entry] if isinstance(entry, str) else entry) if isinstance(name, str)]


def _chosen(whole: Sequence[ReadBlock], paths: Sequence[str], stated: Sequence[str]) -> list[str]:
    """Return the files that may be the entry: those that the answer states, or those that import all others."""
    named = [path for path in paths if path in stated]
    last = {block.path: block for block in whole}
    return named or [
        path for path in paths if all(imports(last[path].outline, other) for other in paths if other != path)
    ]


def _joined(asked: BlocksOfReply) -> tuple[ReadBlock, ...] | None:
    """Return blocks without a name that define the contract together, such as the cells of a notebook.

    All up to the last that defines one of its functions are parts; each gives names of its own, and none is missing.
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
    if any(p.outline.unwritten & asked.contract for p in parts):
        return None
    needs = {name for part in parts for name in part.outline.needs or ()}
    return None if asked.language.syntax.binds_names and needs - bound else parts


def _text(parts: Sequence[ReadBlock]) -> str:
    return "\n\n\n".join(part.block.text.strip("\n") for part in parts) + "\n"


def _name(asked: BlocksOfReply, blocks: Sequence[ReadBlock], stated: Sequence[str]) -> FileName:
    """Return what an entry without a name is called: as its submission.toml, an import or the prose alone says."""
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


def _no_entry(asked: BlocksOfReply) -> ReplyError:
    """Return the error of a reply in which no file defines the contract; its kind says whether that is certain."""
    wanted = ", ".join(asked.challenge.contract.functions)
    cut = next((block.block for block in asked.blocks if not block.block.closed), None)
    if cut is not None:
        return NoAnswerError(
            asked.reply, ReplyProblem.CUT_OFF, f"is cut off: the code block that begins in line {cut.line} never ends",
            found=asked.listed(), hint="ask the model again with room for a longer reply, and import that",
        )  # fmt: skip
    if any(block.patch for block in asked.blocks):
        return asked.ambiguous("changes files that it does not give")
    parts = [b.outline.defines - b.outline.unwritten for b in asked.sources if not b.outline.gaps]
    if asked.contract <= frozenset().union(*parts):
        return asked.ambiguous(f"defines {wanted} in several blocks, and how they belong together is not clear")
    message = f"holds no whole file in {asked.language.title} that defines {wanted}"
    return NoAnswerError(
        asked.reply, ReplyProblem.NO_ENTRY, message + ("; found" if asked.blocks else ", and no code block"),
        found=asked.listed(), hint="ask the model for whole files, one fenced block each, its name after the language",
    )  # fmt: skip
