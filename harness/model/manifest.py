"""TOML files of the workspace and of submissions, read into models with errors that name the field."""

import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import FilesError, SpecError, nearest
from harness.model.base import Model

M = TypeVar("M", bound=Model)

MAX_SPEC_BYTES = 1 << 20
"""Largest challenge.toml or submission.toml that is read."""
_PROSE = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*+""", re.DOTALL
)
"""Strings and comments of a TOML file."""
_DEEP_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){16}")
"""Key with more parts than in any valid file; tomllib's memory grows with their square."""
_WORD = range(-(2**63), 2**63)
"""Integers that TOML guarantees; larger ones may be too long to print."""


def read_toml(path: Path, kind: type[M]) -> M:
    """Read one TOML file of the workspace or a submission.

    Raises:
        SpecError: it is missing, empty, not UTF-8, not TOML, or not a `kind`; the message names the field.
    """
    try:
        status = path.stat()
        # reading a pipe or a link to /dev/zero would never end
        if not stat.S_ISREG(status.st_mode):
            raise FilesError(path, "is not a regular file")
        if status.st_size > MAX_SPEC_BYTES:
            raise FilesError(path, f"is over {MAX_SPEC_BYTES >> 20} MiB")
        text = path.read_bytes().decode()
        if _DEEP_KEY.search(_PROSE.sub("s", text)):
            raise SpecError(path, "has a key of over 16 parts")
        table = tomllib.loads(text)
    except FileNotFoundError:
        raise SpecError(
            path, "is missing", hint="docs/adding-a-challenge.md shows all it can say; harness new submission makes one"
        ) from None
    except OSError as error:
        raise SpecError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(path, f"is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise SpecError(path, f"is not TOML: {error}") from None
    if not table:
        raise SpecError(path, "is empty")
    if not all(number in _WORD for number in _integers(table)):
        raise SpecError(path, "holds an integer of more than 64 bits")
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise _make_spec_error(path, error, kind, table) from None


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)


def _make_spec_error(path: Path, error: ValidationError, kind: type[Model], table: Mapping[str, Any]) -> SpecError:
    # report a misspelt key before the key that is missing because of it
    first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    # for a field with several forms, assume the one that validated furthest
    field = [e for e in error.errors() if e["loc"][:2] == first["loc"][:2]]
    forms = [e for e in field if any("[" in str(part) for part in e["loc"][2:3])]
    first = max(forms, key=lambda e: len(e["loc"]), default=first)
    place = ".".join(_place(first["loc"], table))
    given = (
        "" if first["type"] == "missing" or isinstance(first["input"], dict) else f" (got {_shorten(first['input'])})"
    )
    more = error.error_count() - max(1, len(forms))
    words, hint = first["msg"].removeprefix("Value error, "), ""
    if first["type"] == "extra_forbidden":
        meant = nearest(str(first["loc"][-1]), _keys(kind))
        words, given = f"unknown key{meant}", ""
        hint = "" if meant else "remove it; or update the harness, where the file is for a newer one"
    if first["type"] == "tuple_type":
        words = "must be a list" + (f" of tables:  [[{first['loc'][-1]}]]" if isinstance(first["input"], dict) else "")
    return SpecError(path, words + given + (f"; and {more} more" if more else ""), field=_clip(place), hint=hint)


def _place(loc: tuple[int | str, ...], table: Any) -> Iterator[str]:
    """Yield the parts of a field's name, with a list item's `id` as its name if it has one."""
    for part in loc:
        if str(part).startswith(("function-", "constrained-", "tuple[")):
            continue
        inside = isinstance(table, dict) or (isinstance(table, list) and isinstance(part, int) and part < len(table))
        table = (table.get(part) if isinstance(table, dict) else table[int(part)]) if inside else None
        id = table.get("id") if isinstance(part, int) and isinstance(table, dict) else None
        yield id if isinstance(id, str) and id else str(part)


def _keys(kind: type[Model]) -> list[str]:
    names: list[str] = []
    for name, field in kind.model_fields.items():
        names.append(field.alias or name)
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, Model):
            names += annotation.model_fields
    return names


def _shorten(value: Any) -> str:
    return _clip(repr(value))


def _clip(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
