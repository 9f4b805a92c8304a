"""Text of records in files for other tools."""

import csv
import io
from collections.abc import Iterable, Sequence

LONGEST = 20_000
"""Most characters of a text in a file for another tool; the record keeps all."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings of text that spreadsheets run, full-width signs included; spaces before them change nothing."""


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


def storable(text: str, limit: int | None = None) -> str:
    """Replace characters that XML, CSV or JSON cannot hold or a terminal would obey; cut, with a note, at `limit`."""
    text = text.replace("\r\n", "\n")
    more = 0 if limit is None else max(0, len(text) - limit)
    # printable leaves out control and format characters, lone surrogates and code points that are no characters
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text[: len(text) - more])
    return f"{shown}\n... {more:,} more characters in the record" if more else shown
