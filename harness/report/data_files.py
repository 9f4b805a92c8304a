"""Tables of records as files: JSON Lines, CSV and Parquet."""

import json
from collections.abc import Callable, Mapping

from harness.errors import PrerequisiteError
from harness.report.data_frames import data_frame
from harness.report.data_tables import ANY, Cell, DataTable, json_text, plain
from harness.report.tables import csv_text


def as_json_lines(table: DataTable) -> str:
    """One JSON object a row; a number that is not finite is "NaN", "Infinity" or "-Infinity", as in a record."""
    return "".join(json.dumps(plain(row), allow_nan=False) + "\n" for row in table.as_dicts())


def as_csv(table: DataTable) -> str:
    """A header and a line for each row, empty where there is no value, figures as JSON.

    Text that a spreadsheet would take for a formula begins with an apostrophe: an answer may have written it.
    """
    return csv_text(list(table.dtypes), ([_csv_cell(cell) for cell in row] for row in table.rows))


def as_parquet(table: DataTable) -> bytes:
    """The data frame as a Parquet file; columns of mixed values as text.

    Raises:
        PrerequisiteError: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401  # pandas' own message names neither this project's extra nor the command
    except ImportError:
        raise PrerequisiteError(
            "no pyarrow to write Parquet with: pip install 'kernel-harness[parquet]'\n"
            "  in a checkout: .venv/bin/python -m pip install -e '.[parquet]'; --jsonl and --csv need nothing"
        ) from None
    frame = data_frame(table)
    for name, dtype in table.dtypes.items():
        if dtype == ANY:
            frame[name] = frame[name].map(_text, na_action="ignore").astype("string")
    return frame.to_parquet(None, engine="pyarrow", index=False)


WRITERS: Mapping[str, Callable[[DataTable], str | bytes]] = {
    "jsonl": as_json_lines, "csv": as_csv, "parquet": as_parquet,
}  # fmt: skip
"""What writes each format, by its name."""


def _csv_cell(value: Cell) -> object:
    return _text(value) if isinstance(value, dict) else plain(value)


def _text(value: Cell) -> str:
    """A cell of any kind as text: figures as JSON."""
    return json_text(value) if isinstance(value, dict) else str(plain(value))
