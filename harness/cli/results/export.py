"""`harness export`: records as tables, challenges as tasks of other frameworks."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output
from harness.cli.results.formats import STANDARD_OUTPUT, file_options
from harness.report.formats import named

if TYPE_CHECKING:
    from harness.report.exports.data_tables import DataTable
    from harness.store.record_store import Store


class ExportedTable(StrEnum):
    """Kind of row."""

    RECORDS = "records"
    EVIDENCE = "evidence"


@file_options("table", "parts", metavar="FILE|-")
def export(
    what: Annotated[
        ExportedTable, typer.Argument(metavar="records|evidence", help="One row a grade, or one a criterion of one.")
    ] = ExportedTable.RECORDS,
    harbor: Annotated[
        tuple[str, Path] | None,
        typer.Option(metavar="CHALLENGE DIR", help="Write a challenge as a task of Harbor into a new folder."),
    ] = None,
    made_here: Annotated[
        bool, typer.Option("--made-here", help="Take the grades made on this machine, not the published ones.")
    ] = False,
    *,
    files: dict[str, str],
) -> None:
    """Write the records as a table, or a challenge as a task.

    The tables hold the published records, for other programs; in Python they are data frames: harness.records() and
    harness.evidence(); - is standard output. A task is a folder that Harbor runs.

    \b
    harness export --csv grades.csv
    harness export evidence --jsonl criteria.jsonl
    harness export --harbor kv_cache tasks/kv_cache
    harness export --made-here --parquet grades.parquet
    """
    tasks = {name: given for name, given in (("harbor", harbor),) if given is not None}
    if not files and not tasks:
        known = [f"--{name}" for name in named("table", "parts")]
        named_formats = f"{', '.join(known[:-1])} or {known[-1]}"
        raise typer.BadParameter(
            f"name a format and a file: {named_formats}; or a task: --harbor\n  try: --csv grades.csv"
        )
    for format in named("parts"):
        if files.get(format) == STANDARD_OUTPUT:
            raise typer.BadParameter(f"--{format} writes to a file only: it is no text")
    if list(files.values()).count(STANDARD_OUTPUT) > 1:
        raise typer.BadParameter("only one format can go to standard output")
    if tasks:
        _write_tasks(tasks)
    if files:
        _write_tables(what, files, made_here)


def _write_tasks(wanted: Mapping[str, tuple[str, Path]]) -> None:
    from harness.integrations.task_writers import TASK_WRITERS
    from harness.workspace import Workspace

    workspace = Workspace.find()
    for name, (challenge, folder) in wanted.items():
        TASK_WRITERS[name](workspace, challenge, folder)
        output.note(f"wrote {output.place(folder)}; its README.md says how to try it")


def _write_tables(what: ExportedTable, wanted: Mapping[str, str], made_here: bool) -> None:
    from harness.report.exports.data_files import check_installed, write_file, write_text
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    for format in wanted:
        check_installed(format)
    tables = _make_tables(Store(Workspace.find()), what, made_here)
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


def _make_tables(store: "Store", what: ExportedTable, made_here: bool) -> "Callable[[], Iterator[DataTable]]":
    """Return a function that makes the parts of the table anew for each output format."""
    from harness.report.exports.data_tables import evidence_parts, parts_of, record_parts

    published = None if made_here else store.published.read()

    def tables() -> "Iterator[DataTable]":
        records = store.records() if published is None else iter(published.records)
        doubts = {} if published is None else published.doubts
        if what is ExportedTable.EVIDENCE:
            return evidence_parts(records, doubts=doubts)
        parts = store.parts() if published is None else map(parts_of, published.records)
        return record_parts(records, parts, doubts=doubts)

    return tables
