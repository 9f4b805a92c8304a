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
    """Where a link leads.

    Attributes:
        id: on the page of everything.
        page: file below the reports; empty for a place that only the page of everything has.
        heading: heading of that file; empty for its beginning.
    """

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
    """Lines as they are.

    Attributes:
        title: file and line, or empty.
        first: number of the first line; 0 for lines without numbers.
        marked: numbers of the lines that are meant.
    """

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
    """A cell of a table.

    Attributes:
        lines: from the main figure to the remarks on it.
        sort: number or text that rows are sorted by; None sorts last, and empty text means the first line.
        kind: outcome that its shape and colour show: passed, part, failed, open, unasked, zero.
        score: mark that a bar shows.
        strip: marks that one scale shows, the main one first.
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
    """A table.

    Attributes:
        caption: subject, for screen readers.
        heading: number of columns that name a row.
        whole: never to break a line of a cell; a table too wide goes on below.
        sortable: by a click on a column's title.
        kind: class of a table with a look of its own.
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
    """Yield the blocks under a heading; nothing without blocks."""
    if blocks:
        yield Heading(title, level, id)
        yield from blocks
