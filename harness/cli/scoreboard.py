"""`harness scoreboard`: all models on all challenges."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.workspace import Workspace


class Format(StrEnum):
    """Output formats."""

    TABLE = "table"
    MD = "md"
    JSON = "json"
    CSV = "csv"


class SourceOption(StrEnum):
    """Marks to rank by: the names of `harness.report.mark_source.Source`, which takes long to import."""

    MEASURED = "measured"
    PUBLISHED = "published"


def scoreboard(
    format: Annotated[Format, typer.Option("--format", "-F", help="Output format.")] = Format.TABLE,
    source: Annotated[SourceOption, typer.Option("--source", help="Marks to rank by.")] = SourceOption.MEASURED,
) -> None:
    """Rank all models over all challenges."""
    from harness.running.store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    if source is SourceOption.PUBLISHED:
        text, *notes = _drawn(workspace, format, source)
    else:
        name = f"scoreboard as {format} on {output.look()}"
        text, *notes = Store(workspace).published.view(name, lambda: _drawn(workspace, format, source))
    if text:
        output.drawn(text)
    for note in notes:
        output.note(note)


def _drawn(workspace: "Workspace", format: Format, source: SourceOption) -> list[str]:
    """What to print, and the notes beside it."""
    from harness.report import as_csv, as_json, as_markdown, as_table, gather, measured
    from harness.report import scoreboard as over
    from harness.report.mark_source import MarkSource
    from harness.report.tables import ReflowingTable

    read = measured if source is SourceOption.MEASURED else gather
    board = over(read(workspace), MarkSource(source))
    notes = [] if board.rows else ["no records yet\n  try: harness grade --all"]
    if format is Format.TABLE:
        return [
            output.draw(ReflowingTable(as_table(board), heading=3)),
            *notes,
            *(f"note: {text}" for text in board.notes),
        ]
    written = {Format.MD: as_markdown, Format.JSON: as_json, Format.CSV: as_csv}[format](board)
    return [output.clean(written.removesuffix("\n")), *notes]
