"""`harness export`: records as tables for notebooks and spreadsheets."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.report.data_tables import DataTable
    from harness.running.store import Store

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
    made_here: Annotated[
        bool, typer.Option("--made-here", help="Take the grades made on this machine, not the published ones.")
    ] = False,
) -> None:
    """Write the published records as a table, for other programs.

    The same tables are data frames in Python: harness.records() and harness.evidence().

    \b
    harness export --csv grades.csv
    harness export evidence --jsonl criteria.jsonl
    harness export --made-here --parquet grades.parquet
    """
    wanted = {name: file for name, file in (("jsonl", jsonl), ("csv", csv), ("parquet", parquet)) if file is not None}
    if not wanted:
        raise typer.BadParameter("name a format and a file: --jsonl, --csv or --parquet\n  try: --csv grades.csv")
    if parquet == STANDARD_OUTPUT:
        raise typer.BadParameter("--parquet writes to a file only: it is no text")
    if list(wanted.values()).count(STANDARD_OUTPUT) > 1:
        raise typer.BadParameter("only one format can go to standard output")
    from harness.report.data_files import check_installed, write_file, write_text
    from harness.running.store import Store
    from harness.workspace import Workspace

    for format in wanted:
        check_installed(format)
    tables = _tables(Store(Workspace.find()), what, made_here)
    rows = 0
    for format, file in wanted.items():
        if file == STANDARD_OUTPUT:
            rows = write_text(format, tables(), _print)
        else:
            rows = write_file(format, tables(), Path(file))
            output.note(f"wrote {rows} rows to {file}")
    if not rows:
        output.note("no records yet\n  try: harness grade --all")


def _print(text: str) -> None:
    if text:
        output.line(text.removesuffix("\n"))


def _tables(store: "Store", what: ExportedTable, made_here: bool) -> "Callable[[], Iterator[DataTable]]":
    """Makes the parts of the table, as often as it is called."""
    from harness.report.data_tables import evidence_parts, parts_of, record_parts

    published = [] if made_here else store.published.records()

    def tables() -> "Iterator[DataTable]":
        records = store.records() if made_here else iter(published)
        if what is ExportedTable.EVIDENCE:
            return evidence_parts(records)
        return record_parts(records, store.parts() if made_here else map(parts_of, published))

    return tables
