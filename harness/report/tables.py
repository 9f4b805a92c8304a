"""Shared parts of the formats: tables that fit a terminal, CSV, Markdown tables, and safe text."""

import csv
import io
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from harness.report.escape import markdown, plain

LONGEST = 20_000
"""Most characters of a text in a file for another tool; the record keeps all."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings of text that spreadsheets run, full-width signs included; spaces before them change nothing."""
_GAP = 2


class ReflowingTable:
    """A table if its words fit side by side, else a block per row; only words too long for a line are cut.

    Args:
        table: without a frame, with text as cells; its column widths are set here.
        heading: number of columns that head a block.
    """

    def __init__(self, table: Table, heading: int = 1) -> None:
        self._table = table
        self._heading = heading

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [[_text(column.header), *map(_text, column.cells)] for column in self._table.columns]
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
        columns = [[_text(column.header), *map(_text, column.cells)] for column in self._table.columns]
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

    def _part(self, columns: Sequence[Sequence[Text]], widths: Sequence[int], chosen: Sequence[int]) -> Table:
        part = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=self._table.header_style)
        for column in chosen:
            part.add_column(columns[column][0], width=widths[column])
        for row in range(1, len(columns[0])):
            part.add_row(*(columns[column][row] for column in chosen))
        return part


def text_table(titles: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> ReflowingTable:
    """Return a table of safe text under dim titles."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(Text(title), overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    return ReflowingTable(table)


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
    return cell.plain.isprintable() and not cell.style and not cell.spans


def _wrapped(rows: Sequence[tuple[str, Text]]) -> RenderResult:
    if rows:
        grid = Table.grid(padding=(0, _GAP, 0, 0))
        for _ in range(2):
            grid.add_column(overflow="fold")
        for title, cell in rows:
            grid.add_row(Text(title, style="dim"), cell)
        yield Padding(grid, (0, 0, 0, _GAP), expand=False)


def _text(cell: RenderableType) -> Text:
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


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return CSV with a header; text that a spreadsheet would run as a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return out.getvalue()


def _inert(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = storable(cell)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def markdown_table(titles: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with every cell escaped, unless already safe."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    return "---" if value == "---" else markdown(value)


def storable(text: str, limit: int | None = None) -> str:
    """Replace characters that XML, CSV or JSON cannot hold or a terminal would obey; cut, with a note, at `limit`."""
    text = text.replace("\r\n", "\n")
    more = 0 if limit is None else max(0, len(text) - limit)
    # printable leaves out control and format characters, lone surrogates and code points that are no characters
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text[: len(text) - more])
    return f"{shown}\n... {more:,} more characters in the record" if more else shown
