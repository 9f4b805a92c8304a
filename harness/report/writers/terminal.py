"""Documents for a terminal of any width: tables that reflow, and no figure parted from its per cent."""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from harness.report import document as doc
from harness.report.document import Block, Cell, Inline, TextRun
from harness.report.escape import plain

_GAP = 2
_JOINED = "\ue000"
"""Stands for a space that no line may end at; what others wrote cannot contain it."""
_STYLES = {"strong": "bold", "passed": "green", "failed": "red", "zero": "bold red", "open": "dim"}


def render(blocks: Iterable[Block]) -> RenderableType:
    """Lay blocks out for a terminal."""
    return _Unbroken(Group(*_every(blocks)))


class _Unbroken:
    """A renderable in which spaces that join stand for themselves."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._inner, options):
            yield Segment(text.replace(_JOINED, " "), style, control)


def text(inline: Inline | Cell) -> Text:
    """Return safe text in its styles."""
    if isinstance(inline, Cell):
        style = _STYLES.get(inline.kind, "")
        first, *rest = [text(line) for line in inline.lines] or [Text()]
        first.stylize(style)
        return Text("\n").join([first, *rest])
    if isinstance(inline, tuple):
        return Text.assemble(*map(text, inline))
    words, style = (inline.text, _STYLES.get(inline.style, "")) if isinstance(inline, TextRun) else (inline, "")
    return Text(_plain(words), style=style)


def _plain(words: str) -> str:
    kept = plain(words)
    # a run begins or ends within a line, where its outer spaces count
    lead, trail = " " * words.startswith(" "), " " * (words.endswith(" ") and bool(kept))
    return f"{lead}{kept}{trail}".replace(" %", f"{_JOINED}%")


def _every(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    for block in blocks:
        yield from _laid_out(block)


@singledispatch
def _laid_out(block: Block) -> Iterator[RenderableType]:
    """Yield the renderables of a block; a figure has none here."""
    yield from ()


@_laid_out.register
def _(block: doc.Heading) -> Iterator[RenderableType]:
    yield Text(f"{'' if block.level == 1 else chr(10)}{_plain(block.text)}", style="bold")


@_laid_out.register
def _(block: doc.Paragraph) -> Iterator[RenderableType]:
    yield text(block.text)


@_laid_out.register
def _(block: doc.Facts) -> Iterator[RenderableType]:
    for label, value in block.pairs:
        if isinstance(value, doc.Code):
            yield _indented(Text(f"{label}:", style="dim"))
            yield from map(_indented, _laid_out(value))
        else:
            yield _indented(Text.assemble((f"{label}: ", "dim"), text(value)))


@_laid_out.register
def _(block: doc.List) -> Iterator[RenderableType]:
    for number, item in enumerate(block.items, 1):
        bullet = f"{number}. " if block.numbered else "- "
        entry = item if isinstance(item, doc.ListItem) else doc.ListItem(item)
        line = Text.assemble(bullet, text(entry.head))
        yield line if block.numbered else _indented(line)
        yield from (_every(entry.blocks) if block.numbered else map(_indented, _every(entry.blocks)))


@_laid_out.register
def _(block: doc.Code) -> Iterator[RenderableType]:
    if block.title:
        yield _indented(Text(_plain(block.title), style="dim"))
    for number, line in enumerate(block.text.split("\n"), block.first):
        shown = line if not block.first else f"{'>' if number in block.marked else ' '} {number:>4}  {line}"
        yield _indented(Text("".join(c if c.isprintable() else "\ufffd" for c in shown.expandtabs(4)).rstrip()))


@_laid_out.register
def _(block: doc.Fold) -> Iterator[RenderableType]:
    if block.brief is not None:
        yield from _every(block.brief)
        return
    yield Text("\n").append(text(block.title)).append("") if block.title else Text()
    yield from _every(block.blocks)


@_laid_out.register
def _(block: doc.Group) -> Iterator[RenderableType]:
    yield from _every(block.blocks)


@_laid_out.register
def _(block: doc.Table) -> Iterator[RenderableType]:
    style = "bold" if block.whole else "dim"
    drawn = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=style)
    for column in block.columns:
        drawn.add_column(Text(_plain(column if isinstance(column, str) else column.title)), overflow="fold")
    for row in block.rows:
        drawn.add_row(*map(text, row.cells))
    yield (SplitTable if block.whole else ReflowingTable)(drawn, block.heading)


def _indented(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, _GAP), expand=False)


class ReflowingTable:
    """A table if its words fit side by side, else a block per row; only words too long for a line are cut.

    Args:
        table: without a frame, with text as cells; its column widths are set here.
        heading: number of columns that head a block.
    """

    def __init__(self, table: RichTable, heading: int = 1) -> None:
        self._table = table
        self._heading = heading

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [[_as_text(column.header), *map(_as_text, column.cells)] for column in self._table.columns]
        widths = _widths(console, options, columns)
        if widths is None:
            yield from self._blocks(columns, console.get_style("dim"), options.max_width - _GAP)
            return
        for column, width in zip(self._table.columns, widths, strict=True):
            column.width, column.no_wrap = width, False
        yield self._table

    def _blocks(self, columns: Sequence[Sequence[Text]], dim: Style, width: int) -> RenderResult:
        titles = [column[0] for column in columns]
        for number, cells in enumerate(zip(*(column[1:] for column in columns), strict=True)):
            if number:
                yield Text()
            yield Text("  ", style="bold").join(cell for cell in cells[: self._heading] if cell.plain)
            rows = [
                (title.plain, cell)
                for title, cell in list(zip(titles, cells, strict=True))[self._heading :]
                if cell.plain
            ]
            yield from _lines(rows, dim, width) or _wrapped(rows)


class SplitTable(ReflowingTable):
    """A table split into parts below each other if too wide, each with the first columns repeated.

    Cells' lines stay whole. If not even one more column fits, it is a block per row.

    Args:
        table: without a frame, with text as cells.
        heading: number of columns to repeat.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [[_as_text(column.header), *map(_as_text, column.cells)] for column in self._table.columns]
        wide = options.update_width(1_000_000)
        widths = [
            max(
                Measurement.get(console, wide, title).minimum,
                *(Measurement.get(console, wide, cell).maximum for cell in cells),
            )
            for title, *cells in ([column[0], *(column[1:] or [Text()])] for column in columns)
        ]
        parts = _parts(widths, self._heading, options.max_width)
        if parts is None:
            yield from super().__rich_console__(console, options)
            return
        for number, part in enumerate(parts):
            if number:
                yield Text()
            yield self._part(columns, widths, part)

    def _part(self, columns: Sequence[Sequence[Text]], widths: Sequence[int], chosen: Sequence[int]) -> RichTable:
        part = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=self._table.header_style)
        for column in chosen:
            part.add_column(columns[column][0], width=widths[column])
        for row in range(1, len(columns[0])):
            part.add_row(*(columns[column][row] for column in chosen))
        return part


def _parts(widths: Sequence[int], heading: int, room: int) -> list[list[int]] | None:
    first, rest = list(range(heading)), list(range(heading, len(widths)))
    room -= sum(widths[:heading]) + _GAP * heading
    if any(widths[column] > room for column in rest):
        return None
    for count in range(1, len(rest) + 1):
        size = -(-len(rest) // count)
        parts = [rest[start : start + size] for start in range(0, len(rest), size)]
        if all(sum(widths[column] + _GAP for column in part) - _GAP <= room for part in parts):
            return [first + part for part in parts]
    return [first]


def _lines(rows: Sequence[tuple[str, Text]], dim: Style, width: int) -> list[Segment]:
    """Return a line per title and cell if each fits on one, else nothing; ten times as fast as a grid of rich."""
    wide = max((cell_len(title) for title, _ in rows), default=0)
    if any(wide + _GAP + cell_len(cell.plain) > width or not _simple(cell) or not title for title, cell in rows):
        return []
    lines = []
    for title, cell in rows:
        padded = title + " " * (wide - cell_len(title))
        lines += [Segment(" " * _GAP), Segment(padded, dim), Segment(" " * _GAP + cell.plain), Segment.line()]
    return lines


def _simple(cell: Text) -> bool:
    return cell.plain.replace(_JOINED, " ").isprintable() and not cell.style and not cell.spans


def _wrapped(rows: Sequence[tuple[str, Text]]) -> RenderResult:
    if rows:
        grid = RichTable.grid(padding=(0, _GAP, 0, 0))
        for _ in range(2):
            grid.add_column(overflow="fold")
        for title, cell in rows:
            grid.add_row(Text(title, style="dim"), cell)
        yield Padding(grid, (0, 0, 0, _GAP), expand=False)


def _as_text(cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _widths(console: Console, options: ConsoleOptions, columns: Sequence[Sequence[Text]]) -> list[int] | None:
    wide = options.update_width(1_000_000)
    gaps = _GAP * (len(columns) - 1)
    if sum(Measurement.get(console, wide, column[0]).minimum for column in columns) + gaps > options.max_width:
        return None
    spans = [[Measurement.get(console, wide, cell) for cell in column] for column in columns]
    least = [max(span.minimum for span in column) for column in spans]
    wanted = [max(span.maximum for span in column) - low for column, low in zip(spans, least, strict=True)]
    free = options.max_width - sum(least) - gaps
    if free < 0:
        return None
    widths = list(least)
    # those that want least are served first: a long text gives way before a short one
    for served, column in enumerate(sorted(range(len(columns)), key=wanted.__getitem__)):
        given = min(wanted[column], free // (len(columns) - served))
        widths[column] += given
        free -= given
    return widths
