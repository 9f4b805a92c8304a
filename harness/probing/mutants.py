"""Mutants and variants: a right answer with a fault planted, or with its way of working exchanged."""

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
"""A number in words or in source, whole numbers with or without commas."""


@dataclass(frozen=True)
class Mutant:
    """A deliberately wrong reference.

    Attributes:
        name: the fault in two or three words.
        fault: completes the sentence "the answer ...".
        criterion: the criterion that must notice it.
        edits: replacements in the source; each old text occurs there exactly once.
        file: whose source it is: a variant's, beside mutants.py; without it, the reference's.
    """

    name: str
    fault: str
    criterion: str = field(kw_only=True)
    edits: Edits = field(kw_only=True)
    file: str | None = field(kw_only=True, default=None)

    @property
    def chosen_numbers(self) -> tuple[str, ...]:
        """The numbers in the words of the fault that stand in the edits too: a like fault has others."""
        planted = {_value(found) for _, new in self.edits for found in NUMBER.findall(new)}
        return tuple(text for text in dict.fromkeys(NUMBER.findall(self.fault)) if _value(text) in planted)

    def with_number_near(self, number: str, factor: float) -> "Mutant":
        """Return the same fault with another number: a whole one is one more or less, any other is multiplied."""
        value = _value(number)
        other = value + (1 if factor > 1 else -1) if value.is_integer() else value * factor

        def changed(found: re.Match[str]) -> str:
            return found[0] if _value(found[0]) != value else f"{int(other) if value.is_integer() else other!r}"

        return replace(self, edits=tuple((old, NUMBER.sub(changed, new)) for old, new in self.edits))


def _value(number: str) -> float:
    return float(number.replace(",", ""))


@dataclass(frozen=True)
class PropertyMutant:
    """A fault that breaks one property around any right answer, whatever its design.

    Attributes:
        name: the fault in two or three words.
        criterion: the property criterion that must notice it.
        around: what follows the source of a right answer, and wraps its functions.
        before: what precedes it: a macro that gives a C function another name, for its own is the wrapper's.
    """

    name: str
    criterion: str = field(kw_only=True)
    around: str = field(kw_only=True)
    before: str = field(kw_only=True, default="")

    def wrapped(self, source: str) -> str:
        """Return the source of a right answer with the fault around it."""
        return f"{self.before}{source}{self.around}"


@dataclass(frozen=True)
class Variant:
    """A right answer that works differently.

    Attributes:
        name: the difference in two or three words.
        why: what it does instead.
        edits: as for a mutant.
        file: a whole module beside variants.py, which the edits change; without it, they change the reference.
        unmet: criteria of cost that it honestly does not meet.
        capabilities: what it claims, as submission.toml does; with nothing it is asked for everything.
    """

    name: str
    why: str
    edits: Edits = field(kw_only=True, default=())
    file: str | None = field(kw_only=True, default=None)
    unmet: tuple[str, ...] = field(kw_only=True, default=())
    capabilities: Mapping[str, Any] = field(kw_only=True, default_factory=dict)


def source_of(fault: Mutant | Variant, reference: Path, challenge: Path) -> str:
    """The source of a mutant or variant.

    Args:
        fault: which.
        reference: the reference's file.
        challenge: the challenge's folder.

    Raises:
        SpecError: an edit's old text does not occur exactly once.
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
    exec(_compiled(name, source), module.__dict__)
    return module


@lru_cache(maxsize=1024)
def _compiled(name: str, source: str) -> types.CodeType:
    """Naming a fault runs the same mutants for one criterion after another."""
    return compile(source, f"<{name}>", "exec")
