"""`harness export`: records as tables for notebooks and spreadsheets, challenges as tasks of other frameworks."""

from collections.abc import Mapping
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
    harbor: Annotated[
        tuple[str, Path] | None,
        typer.Option(metavar="CHALLENGE DIR", help="Write a challenge as a task of Harbor into a new folder."),
    ] = None,
) -> None:
    """Write the records as a table, or a challenge as a task.

    The tables hold the published records, for other programs; in Python they are data frames: harness.records() and
    harness.evidence(). A task is a folder that Harbor runs.

    \b
    harness export --csv grades.csv
    harness export evidence --jsonl criteria.jsonl
    harness export --harbor kv_cache tasks/kv_cache
    """
    tables = {name: file for name, file in (("jsonl", jsonl), ("csv", csv), ("parquet", parquet)) if file is not None}
    tasks = {name: given for name, given in (("harbor", harbor),) if given is not None}
    if not tables and not tasks:
        raise typer.BadParameter(
            "name a format and a file: --jsonl, --csv or --parquet; or a task: --harbor\n  try: --csv grades.csv"
        )
    if parquet == STANDARD_OUTPUT:
        raise typer.BadParameter("--parquet writes to a file only: it is no text")
    if list(tables.values()).count(STANDARD_OUTPUT) > 1:
        raise typer.BadParameter("only one format can go to standard output")
    if tasks:
        _write_tasks(tasks)
    if tables:
        _write_tables(what, tables)


def _write_tasks(wanted: Mapping[str, tuple[str, Path]]) -> None:
    from harness.integrations.task_writers import TASK_WRITERS
    from harness.workspace import Workspace

    workspace = Workspace.find()
    for name, (challenge, folder) in wanted.items():
        TASK_WRITERS[name](workspace, challenge, folder)
        output.note(f"wrote {output.place(folder)}; its README.md says how to try it")


def _write_tables(what: ExportedTable, wanted: Mapping[str, str]) -> None:
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
