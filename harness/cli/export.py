"""`harness export`: records as tables for notebooks and spreadsheets."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import output

STANDARD_OUTPUT = "-"


class ExportedTable(StrEnum):
    """What a row is."""

    RECORDS = "records"
    EVIDENCE = "evidence"


def export(
    what: Annotated[
        ExportedTable, typer.Argument(metavar="records|evidence", help="One row a grade, or one a criterion of one.")
    ] = ExportedTable.RECORDS,
    jsonl: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write JSON Lines; - writes to standard output.")
    ] = None,
    csv: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write CSV that spreadsheets open safely.")] = None,
    parquet: Annotated[str | None, typer.Option(metavar="FILE", help="Write Parquet; needs pyarrow.")] = None,
) -> None:
    """Write the published records as a table, for other programs.

    The same tables are data frames in Python: harness.records() and harness.evidence().

    \b
    harness export --csv grades.csv
    harness export evidence --jsonl criteria.jsonl
    """
    wanted = {name: file for name, file in (("jsonl", jsonl), ("csv", csv), ("parquet", parquet)) if file is not None}
    if not wanted:
        raise typer.BadParameter("name a format and a file: --jsonl, --csv or --parquet\n  try: --csv grades.csv")
    if parquet == STANDARD_OUTPUT:
        raise typer.BadParameter("--parquet writes to a file only: it is no text")
    if list(wanted.values()).count(STANDARD_OUTPUT) > 1:
        raise typer.BadParameter("only one format can go to standard output")
    from harness.report.data_files import WRITERS
    from harness.report.data_tables import evidence_table, record_table
    from harness.running.store import Store
    from harness.stored_files import write_atomically
    from harness.workspace import Workspace

    records = Store(Workspace.find()).published.records()
    table = record_table(records) if what is ExportedTable.RECORDS else evidence_table(records)
    made = {file: WRITERS[name](table) for name, file in wanted.items()}
    for file, content in made.items():
        if file == STANDARD_OUTPUT and isinstance(content, str):
            output.line(content.removesuffix("\n"))
        else:
            write_atomically(Path(file), content)
            output.note(f"wrote {len(table.rows)} rows to {file}")
    if not records:
        output.note("no records yet\n  try: harness grade --all")
