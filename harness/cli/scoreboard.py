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


def scoreboard(
    format: Annotated[Format, typer.Option("--format", "-F", help="How to print it.")] = Format.TABLE,
) -> None:
    """Rank all models over all challenges."""
    from harness.report import as_csv, as_json, as_markdown, as_table
    from harness.report import scoreboard as over
    from harness.workspace import Workspace

    workspace = Workspace.find()
    board = over([workspace.challenge(id) for id in workspace.challenges()], workspace.records())
    if not board.rows:
        output.note("no records yet\n  try: harness grade --all")
    if format is Format.TABLE:
        output.show(as_table(board))
        for text in board.notes:
            output.note(f"note: {text}")
    else:
        written = {Format.MD: as_markdown, Format.JSON: as_json, Format.CSV: as_csv}[format](board)
        output.line(written.removesuffix("\n"))
