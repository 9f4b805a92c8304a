"""The Python code of a challenge."""

import importlib
import importlib.util
import sys
import types
import zlib
from dataclasses import dataclass
from functools import cached_property

from harness.errors import SpecError, nearest
from harness.languages import Language, language
from harness.model import Challenge, Criterion
from harness.probing.challenge_code.mutants import Mutant, PropertyMutant, Variant, module_of, source_of
from harness.probing.conditions import Condition
from harness.probing.guards import Guards
from harness.probing.probe import Probe
from harness.workspace import Workspace

DESIGNS = 4
"""Number of right answers to wrap each property mutant around."""


def _add_package(name: str, paths: list[str]) -> types.ModuleType:
    package = types.ModuleType(name)
    package.__path__ = paths
    return sys.modules.setdefault(name, package)


@dataclass(frozen=True)
class ChallengeCode:
    """The code of one challenge: `challenges/<id>/` and `references/<id>/`, joined to one package.

    The modules of the challenge that it shares, if any, are a package of that challenge's name inside it.
    """

    workspace: Workspace
    challenge: Challenge

    @property
    def language(self) -> Language:
        """Language of the submissions."""
        return language(self.challenge.language)

    @cached_property
    def package(self) -> types.ModuleType:
        """Package of both folders."""
        paths = list(map(str, self.workspace.folders_of_challenge(self.challenge.id).values()))
        # one package per folder, because threads may grade in different workspaces
        name = f"harness_challenge_{self.challenge.id}_{zlib.crc32(repr(paths).encode()):08x}"
        if self.challenge.shares:
            _add_package(f"{name}.{self.challenge.shares}", paths[2:])
        return _add_package(name, paths[:2])

    def module(self, name: str) -> types.ModuleType:
        """Return a module of the package.

        Raises:
            SpecError: it is missing or does not import.
        """
        package = self.package
        path = self.workspace.challenge_folder(self.challenge.id) / f"{name}.py"
        try:
            return importlib.import_module(f"{package.__name__}.{name}")
        except Exception as error:
            raise SpecError(path, f"does not import: {type(error).__name__}: {error}") from error

    @cached_property
    def probes(self) -> dict[str, Probe]:
        """Probes by name, from `probes.py` and every `probes_*.py`.

        Raises:
            SpecError: a module does not import, or two define a probe of one name.
        """
        folder = self.workspace.challenge_folder(self.challenge.id)
        found: dict[str, Probe] = {}
        for path in sorted((*folder.glob("probes.py"), *folder.glob("probes_*.py"))):
            for value in vars(self.module(path.stem)).values():
                if isinstance(value, Probe) and found.setdefault(value.name, value) is not value:
                    raise SpecError(path, f"defines the probe {value.name!r}, which another module defines too")
        return found

    @cached_property
    def mutants(self) -> tuple[Mutant, ...]:
        """Faults that the probes must notice."""
        return tuple(self.module("mutants").MUTANTS)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Right answers that the probes must pass."""
        return tuple(self.module("variants").VARIANTS)

    @cached_property
    def property_mutants(self) -> tuple[PropertyMutant, ...]:
        """Faults around right answers, from `property_mutants.py` if present."""
        place = self.workspace.challenge_folder(self.challenge.id) / "property_mutants.py"
        return tuple(self.module("property_mutants").PROPERTY_MUTANTS) if place.exists() else ()

    def designs(self, criterion: str) -> tuple[Variant | None, ...]:
        """Return dissimilar right answers that meet a criterion, the reference (None) and whole files first."""
        apart = sorted((v for v in self.variants if criterion not in v.unmet), key=lambda variant: not variant.file)
        return (None, *apart[: DESIGNS - 1])

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions that may cause many failures, from `conditions.py` if present."""
        place = self.workspace.challenge_folder(self.challenge.id) / "conditions.py"
        return tuple(self.module("conditions").CONDITIONS) if place.exists() else ()

    @cached_property
    def guards(self) -> Guards:
        """Conditions for generated faults, from `guards.py`.

        Raises:
            SpecError: `guards.py` is missing or does not import.
        """
        place = self.workspace.challenge_folder(self.challenge.id) / "guards.py"
        if not place.exists():
            raise SpecError(place, "is missing", hint="docs/adding-a-challenge.md shows what it says")
        found: Guards = self.module("guards").GUARDS
        return found

    def probes_of(self, criterion: Criterion) -> list[Probe]:
        """Return the probes of a criterion.

        Raises:
            SpecError: the criterion names an undefined probe.
        """
        path = self.workspace.challenge_folder(self.challenge.id) / "challenge.toml"
        for name in criterion.probes:
            if name not in self.probes:
                hint = nearest(name, self.probes)
                message = f"neither probes.py nor a probes_*.py defines the probe {name!r}{hint}"
                raise SpecError(path, message, field=f"criteria.{criterion.id}.probes")
        return [self.probes[name] for name in criterion.probes]

    def source(self, fault: Mutant | Variant | None = None) -> str:
        """Return the source of a fault, by default of the reference.

        Raises:
            SpecError: an edit does not fit.
        """
        reference = self.workspace.reference_folder(self.challenge.id) / self.language.reference
        if fault is None:
            return reference.read_text(encoding="utf-8")
        return source_of(fault, reference, self.workspace.challenge_folder(self.challenge.id))

    def import_source(self, fault: Mutant | None = None) -> types.ModuleType:
        """Run a mutant, by default the reference, as a module of this process."""
        return module_of(f"{self.challenge.id}:{fault.name if fault else 'reference'}", self.source(fault))
