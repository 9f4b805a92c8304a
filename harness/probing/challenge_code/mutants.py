"""Mutants and variants of right answers."""

import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.errors import SpecError

Edits = tuple[tuple[str, str], ...]
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d+)*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]|,\d)")
"""Number in words or in source; integers may have commas."""


@dataclass(frozen=True)
class Mutant:
    """A deliberately wrong answer.

    Attributes:
        name: fault in two or three words.
        fault: completion of the sentence "the answer ...".
        criterion: criterion that must notice it.
        edits: old texts, each exactly once in the source, with their replacements.
        file: module of the challenge to edit; the reference by default.
    """

    name: str
    fault: str
    criterion: str = field(kw_only=True)
    edits: Edits = field(kw_only=True)
    file: str | None = field(kw_only=True, default=None)

    @property
    def chosen_numbers(self) -> tuple[str, ...]:
        """Numbers in both the fault's words and its edits."""
        planted = {_parse_number(found) for _, new in self.edits for found in NUMBER.findall(new)}
        return tuple(text for text in dict.fromkeys(NUMBER.findall(self.fault)) if _parse_number(text) in planted)

    def with_number_near(self, number: str, factor: float) -> "Mutant":
        """Return the fault with another number: an integer one off, others times `factor`."""
        value = _parse_number(number)
        other = value + (1 if factor > 1 else -1) if value.is_integer() else value * factor

        def change(found: re.Match[str]) -> str:
            return found[0] if _parse_number(found[0]) != value else f"{int(other) if value.is_integer() else other!r}"

        return replace(self, edits=tuple((old, NUMBER.sub(change, new)) for old, new in self.edits))


def _parse_number(number: str) -> float:
    return float(number.replace(",", ""))


@dataclass(frozen=True)
class PropertyMutant:
    """A fault that breaks one property of any right answer.

    Attributes:
        around: source that follows a right answer and wraps its functions.
        before: source that precedes it, such as a macro that renames a C function.
    """

    name: str
    criterion: str = field(kw_only=True)
    around: str = field(kw_only=True)
    before: str = field(kw_only=True, default="")

    def wrapped(self, source: str) -> str:
        """Return a right answer's source with the fault."""
        return f"{self.before}{source}{self.around}"


@dataclass(frozen=True)
class Variant:
    """A right answer that works differently.

    Attributes:
        name: difference in two or three words.
        why: its way of working.
        edits, file: see `Mutant`.
        unmet: criteria of cost that it does not meet.
        capabilities: claims as in submission.toml; all if empty.
    """

    name: str
    why: str
    edits: Edits = field(kw_only=True, default=())
    file: str | None = field(kw_only=True, default=None)
    unmet: tuple[str, ...] = field(kw_only=True, default=())
    capabilities: Mapping[str, Any] = field(kw_only=True, default_factory=dict)


def source_of(fault: Mutant | Variant, reference: Path, challenge: Path) -> str:
    """Return the edited source.

    Raises:
        SpecError: an old text does not occur exactly once.
    """
    file = reference if fault.file is None else challenge / fault.file
    source = file.read_text(encoding="utf-8")
    for old, new in fault.edits:
        if source.count(old) != 1:
            raise SpecError(file, f"{fault.name!r} edits text that occurs {source.count(old)} times: {old[:60]!r}")
        source = source.replace(old, new)
    return source


def module_of(name: str, source: str) -> types.ModuleType:
    """Run trusted source as a module."""
    module = types.ModuleType(name)
    exec(_compile(name, source), module.__dict__)
    return module


@lru_cache(maxsize=1024)
def _compile(name: str, source: str) -> types.CodeType:
    return compile(source, f"<{name}>", "exec")
