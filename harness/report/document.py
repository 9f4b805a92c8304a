"""What a page says, before any format: blocks, and the runs of text inside them.

A string anywhere may be somebody else's words: every writer escapes it, and shows text between backticks as code.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Union

from markupsafe import Markup

from harness.model import Score

Style = Literal["", "strong", "code", "quote", "badge"]


@dataclass(frozen=True)
class LinkTarget:
    """The target of a link: an `id` of the page of everything, a `heading` of a `page` below the reports, or both."""

    id: str
    page: str = ""
    heading: str = ""


@dataclass(frozen=True)
class TextRun:
    """A run of text in one style, perhaps a link."""

    text: str
    style: Style = ""
    to: LinkTarget | None = None


Inline = Union[str, TextRun, tuple["Inline", ...]]  # noqa: UP007  # names itself, as `|` cannot


def code(text: object) -> TextRun:
    """Return an identifier, a command or a value as written in code."""
    return TextRun(str(text), "code")


def strong(text: object) -> TextRun:
    """Return text that stands out."""
    return TextRun(str(text), "strong")


def link(text: str, page: str, heading: str = "") -> TextRun:
    """Return a link to a file below the reports, which the page of everything shows as text."""
    return TextRun(text, to=LinkTarget("", page, heading))


def joined(parts: Iterable[Inline], separator: str = ", ") -> Inline:
    """Join parts with a separator."""
    every = list(parts)
    return tuple(part for number, own in enumerate(every) for part in ((separator, own) if number else (own,)))


def codes(ids: Iterable[str]) -> Inline:
    """List identifiers."""
    return joined(map(code, ids))


def plain_text(inline: Inline) -> str:
    """Return the text of its runs, without their styles."""
    if isinstance(inline, tuple):
        return "".join(map(plain_text, inline))
    return inline.text if isinstance(inline, TextRun) else inline


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int = 2
    id: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a `note` warns, `small` comes last in a reader's attention."""

    text: Inline
    kind: Literal["", "note", "small", "lead", "verdict"] = ""


@dataclass(frozen=True)
class Code:
    """Lines as they are, numbered from `first` unless it is 0; those `marked` are meant."""

    text: str
    title: str = ""
    first: int = 0
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Facts:
    """Labels, each with its text or lines."""

    pairs: tuple[tuple[str, "Inline | Code"], ...]


@dataclass(frozen=True)
class ListItem:
    """An item of a list, with the blocks below it."""

    head: Inline
    blocks: "tuple[Block, ...]" = ()
    id: str = ""


@dataclass(frozen=True)
class List:
    """Items in order."""

    items: tuple[Inline | ListItem, ...]
    numbered: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a table, from the main figure to the remarks on it.

    Rows are sorted by `sort`: None comes last, and empty text means the first line. `kind` is the outcome that a shape
    and a colour show, such as failed, open or zero; a bar shows `score`, and one scale `strip`, the main mark first.
    """

    lines: tuple[Inline, ...]
    sort: float | str | None = ""
    kind: str = ""
    score: Score | None = None
    strip: tuple[Score, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column's title; `tags` filter the whole column."""

    title: str
    numeric: bool = False
    ascending: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableRow:
    """A row; `tags` filter it."""

    cells: tuple[Inline | Cell, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    heads: bool = False


@dataclass(frozen=True)
class Table:
    """A table, whose first `heading` columns name a row; `kind` is a look of its own.

    A table to be kept `whole` has no line of a cell broken: on a narrow terminal it goes on below.
    """

    columns: tuple[str | Column, ...]
    rows: tuple[TableRow, ...]
    caption: str = ""
    id: str = ""
    heading: int = 1
    whole: bool = False
    sortable: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Figure:
    """A drawing with its numbers, for formats that can show it."""

    title: str
    svg: Markup
    table: Table | None = None
    note: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks that open on demand; where nothing folds, `brief` stands for them if given."""

    title: Inline
    blocks: "tuple[Block, ...]"
    id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    brief: "tuple[Block, ...] | None" = None


@dataclass(frozen=True)
class Group:
    """Blocks that are filtered together."""

    blocks: "tuple[Block, ...]"
    tags: Mapping[str, str] = field(default_factory=dict)


Block = Heading | Paragraph | Facts | Table | List | Code | Figure | Fold | Group


def rows(lines: Iterable[Sequence[Inline | Cell]]) -> tuple[TableRow, ...]:
    """Return rows of these cells."""
    return tuple(TableRow(tuple(line)) for line in lines)


def table(columns: Sequence[str | Column], lines: Iterable[Sequence[Inline | Cell]], caption: str = "") -> Table:
    """Return a table of these cells."""
    return Table(tuple(columns), rows(lines), caption)


def section(title: str, *blocks: Block, level: int = 2, id: str = "") -> Iterator[Block]:
    """Yield the blocks under a heading; nothing without blocks, or where all tables, facts and lists are empty."""
    full = [block for block in blocks if not _is_empty(block)]
    if full and (len(full) == len(blocks) or any(isinstance(block, Table | List | Facts) for block in full)):
        yield Heading(title, level, id)
        yield from full


def _is_empty(block: Block) -> bool:
    match block:
        case Table(rows=inside) | List(items=inside) | Facts(pairs=inside):
            return not inside
    return False
