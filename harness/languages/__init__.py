"""The languages of submissions, by name."""

import hashlib
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from harness.errors import NotFoundError, PrerequisiteError, nearest
from harness.languages.base import (
    CPU,
    AnswerFiles,
    CompilerReport,
    CompilerVerdict,
    Device,
    Language,
    MissingTool,
    RepairedAnswer,
    Runnable,
    target_of,
)
from harness.languages.literals import literals
from harness.mutation.operators.changes import GuardCode, SourceChange
from harness.source.syntax import DocumentedName, FunctionSpan, NamedLine, Outline, SourceLine, Syntax, filled_lines
from harness.workspace import LANGUAGES, list_known_languages

__all__ = [
    "CPU",
    "AnswerFiles",
    "CompilerReport",
    "CompilerVerdict",
    "Device",
    "DocumentedName",
    "FunctionSpan",
    "GuardCode",
    "Language",
    "MissingTool",
    "NamedLine",
    "Outline",
    "RepairedAnswer",
    "Runnable",
    "SourceChange",
    "SourceLine",
    "Syntax",
    "every_language",
    "filled_lines",
    "language",
    "literals",
    "source_hash",
    "target_of",
]


@cache
def language(name: str) -> Language:
    """Return the language registered under `name`.

    Raises:
        NotFoundError: the name is unknown.
        PrerequisiteError: its module does not load.
    """
    point = next(iter(entry_points(group=LANGUAGES, name=name)), None)
    if point is None:
        known = list_known_languages()
        raise NotFoundError(f"no language {name!r}{nearest(name, known)}\n  languages are {', '.join(known)}")
    return _load(point)


def every_language() -> list[Language]:
    """Return all languages, by name.

    Raises:
        PrerequisiteError: a module does not load.
    """
    return [language(name) for name in list_known_languages()]


def source_hash(used: Language) -> str:
    """Return the SHA-256 of the module that defines a language."""
    file = sys.modules[type(used).__module__].__file__
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def _load(point: EntryPoint) -> Language:
    try:
        found: Language = point.load()
    except Exception as error:  # the module may come from another package
        reason = f"{type(error).__name__}: {error}"
        raise PrerequisiteError(f"language {point.name!r}: {point.value} does not load: {reason}") from error
    if found.name != point.name:
        raise PrerequisiteError(f"language {point.name!r}: {point.value} calls itself {found.name!r}")
    return found
