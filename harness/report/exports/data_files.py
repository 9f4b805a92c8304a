"""Tables of records as files: JSON Lines, CSV and Parquet."""

import json
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from harness.errors import PrerequisiteError
from harness.report.exports.data_frames import data_frame
from harness.report.exports.data_tables import ANY, Cell, DataTable, json_text, plain
from harness.report.exports.text import csv_text
from harness.report.formats import load, named
from harness.workspace.stored_files import replacing

if TYPE_CHECKING:
    import pandas


def as_json_lines(table: DataTable) -> str:
    """Write a JSON object per row; non-finite numbers are "NaN", "Infinity" or "-Infinity", as in a record."""
    return "".join(json.dumps(plain(row), allow_nan=False) + "\n" for row in table.as_dicts())


def as_csv(table: DataTable) -> str:
    """Write a header and a line per row; absent values are empty, figures are JSON, formulas get an apostrophe."""
    return csv_text(list(table.dtypes), ([_csv_cell(cell) for cell in row] for row in table.rows))


def write_parquet(tables: Iterable[DataTable], file: BinaryIO) -> int:
    """Write each part of a table as a row group, with columns of mixed values as text; return the number of rows.

    Raises:
        PrerequisiteError: pyarrow is not installed.
    """
    check_installed("parquet")
    import pyarrow
    from pyarrow import parquet

    rows, writer = 0, None
    for table in tables:
        part = pyarrow.Table.from_pandas(_frame(table), schema=writer and writer.schema, preserve_index=False)
        writer = writer or parquet.ParquetWriter(file, part.schema)
        writer.write_table(part)
        rows += len(table.rows)
    if writer is not None:
        writer.close()
    return rows


def write_text(format: str, tables: Iterable[DataTable], write: Callable[[str], object]) -> int:
    """Write each part of a table as text, and return the number of rows."""
    as_text = load(named("table")[format].table)
    rows = 0
    for number, table in enumerate(tables):
        text = as_text(table)
        # the header stands above the first part alone
        write(text.partition("\n")[2] if number and format == "csv" else text)
        rows += len(table.rows)
    return rows


def write_file(format: str, tables: Iterable[DataTable], path: Path) -> int:
    """Write the parts of a table, replace the file once all are written, and return the number of rows.

    Raises:
        PrerequisiteError: a package that the format needs is missing.
        StoreError: the file cannot be written, or the records cannot be read.
    """
    with replacing(path) as file:
        if parts := named("table", "parts")[format].parts:
            return int(load(parts)(tables, file))
        return write_text(format, tables, lambda text: file.write(text.encode()))


def check_installed(format: str) -> None:
    """Check that a format's packages are installed.

    Raises:
        PrerequisiteError: a package is missing.
    """
    needs = named("table", "parts")[format].needs
    if needs and find_spec(needs) is None:
        raise PrerequisiteError(
            f"no {needs} to write {format.capitalize()} with: pip install 'kernel-harness[{format}]'\n"
            f"  in a checkout: .venv/bin/python -m pip install -e '.[{format}]'; --jsonl and --csv need nothing"
        )


def _frame(table: DataTable) -> "pandas.DataFrame":
    frame = data_frame(table)
    for name, dtype in table.dtypes.items():
        if dtype == ANY:
            frame[name] = frame[name].map(_text, na_action="ignore").astype("string")
    return frame


def _csv_cell(value: Cell) -> object:
    return _text(value) if isinstance(value, dict) else plain(value)


def _text(value: Cell) -> str:
    return json_text(value) if isinstance(value, dict) else str(plain(value))
