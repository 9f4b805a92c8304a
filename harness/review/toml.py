"""A review as TOML that people read and `read_reviews` takes."""

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.model import Review


def as_toml(review: Review) -> str:
    """The text of a `reviews/<name>.toml`; what is empty is left out."""
    return "\n".join(_lines("", review.model_dump(mode="python"))).strip() + "\n"


def _lines(place: str, table: Mapping[str, Any]) -> Iterator[str]:
    values = {key: value for key, value in table.items() if value not in (None, "", ()) or key == "marks"}
    for key, value in values.items():
        if not _is_table(value):
            yield f"{key} = {_value(value)}"
    for key, value in values.items():
        for item in (value if isinstance(value, tuple) else (value,)) if _is_table(value) else ():
            name = f"{place}{key}"
            yield f"\n[[{name}]]" if isinstance(value, tuple) else f"\n[{name}]"
            yield from _lines(f"{name}.", item)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, tuple) and any(isinstance(item, dict) for item in value))


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float):
        return str(int(value) if value.is_integer() else value)
    # what JSON writes of strings, integers and booleans is TOML, but for one control character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
