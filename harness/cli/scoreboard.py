"""`harness scoreboard`: all models on all challenges."""

from enum import StrEnum
from typing import Annotated

import typer

from harness.cli import output


class Format(StrEnum):
    """How to print it."""

    TABLE = "table"
    MD = "md"
    JSON = "json"
    CSV = "csv"


class By(StrEnum):
    """By which marks; the names of `harness.report.mark_source.Source`, which takes long to import."""

    MEASURED = "measured"
    PUBLISHED = "published"


def scoreboard(
    format: Annotated[Format, typer.Option("--format", "-F", help="How to print it.")] = Format.TABLE,
    source: Annotated[By, typer.Option("--source", help="By which marks.")] = By.MEASURED,
) -> None:
    """Rank all models over all challenges."""
    from harness.report import as_csv, as_json, as_markdown, as_table, gather, measured
    from harness.report import scoreboard as over
    from harness.report.mark_source import MarkSource
    from harness.report.tables import Fitting
    from harness.workspace import Workspace

    read = measured if source is By.MEASURED else gather
    board = over(read(Workspace.find()), MarkSource(source))
    if not board.rows:
        output.note("no records yet\n  try: harness grade --all")
    if format is Format.TABLE:
        output.show(Fitting(as_table(board), heading=3))
        for text in board.notes:
            output.note(f"note: {text}")
    else:
        written = {Format.MD: as_markdown, Format.JSON: as_json, Format.CSV: as_csv}[format](board)
        output.line(written.removesuffix("\n"))
