"""Mutants made by machine: an operator of the language on a right answer, under a guard of the challenge.

Which answer (the reference or a variant), which operator, which change and which guard are drawn evenly; half of the
thresholds are computed by the source instead of named in it. What a mutant is comes from the seed and its number alone.
"""

import difflib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from harness.errors import SpecError
from harness.languages import SourceChange
from harness.probing.code import ChallengeCode
from harness.probing.guards import Guard

ATTEMPTS = 40
"""Draws of a guard that fits a change."""


@dataclass(frozen=True)
class GeneratedMutant:
    """One wrong answer made by machine, if it is wrong.

    Attributes:
        number: of the draw.
        origin: name of the variant it is made from, or `reference`.
        change: what is planted.
        guard: name of the condition under which it acts.
        threshold: of the guard; 0 without one.
        stated: the threshold as the source has it.
        literal: whether that names it.
        source: with the fault.
        trapped: the source that ends the call where the fault would act.
        original: the source without it.
        diff: what a reader would see, as a unified diff.
    """

    number: int
    origin: str
    change: SourceChange
    guard: str
    threshold: int
    stated: str
    literal: bool
    source: str
    trapped: str
    original: str
    diff: str

    @property
    def condition(self) -> str:
        """The guard with its threshold."""
        return f"{self.guard}, t = {self.stated}" if self.stated else self.guard


@cache
def _origins(code: ChallengeCode) -> Mapping[str, str]:
    """Sources of the right answers, by name."""
    return {"reference": code.source()} | {variant.name: code.source(variant) for variant in code.variants}


@cache
def _changes(code: ChallengeCode, origin: str) -> Mapping[str, tuple[SourceChange, ...]]:
    """What may be changed in a source, by operator."""
    found: dict[str, list[SourceChange]] = {}
    contract = code.challenge.contract
    called = {*contract.functions, *contract.optional}
    for change in code.language.changes(_origins(code)[origin], code.guards.spared, called):
        found.setdefault(change.operator, []).append(change)
    return {operator: tuple(found[operator]) for operator in sorted(found)}


def drawn_mutant(code: ChallengeCode, seed: int, number: int) -> GeneratedMutant:
    """Mutant `number` of a seed.

    Raises:
        SpecError: nothing in the challenge's right answers may be changed.
    """
    rng = random.Random(f"{seed}:{number}")
    origins = [origin for origin in _origins(code) if _changes(code, origin)]
    if not origins:
        place = code.workspace.challenge_folder(code.challenge.id)
        raise SpecError(place, f"no operator changes an answer in {code.language.title}")
    origin = rng.choice(origins)
    operators = _changes(code, origin)
    change = rng.choice(operators[rng.choice(list(operators))])
    guard = _guard(code, _origins(code)[origin], change, rng)
    return _made(code, number, origin, change, guard, rng)


def _guard(code: ChallengeCode, source: str, change: SourceChange, rng: random.Random) -> Guard:
    """A guard that can stand at the change; the first, which is none, where it can have no other."""
    guards = code.guards.guards
    if not change.guardable:
        return guards[0]
    for _ in range(ATTEMPTS):
        guard = rng.choice(guards)
        if guard.fits(source, change):
            return guard
    return guards[0]


def _made(
    code: ChallengeCode, number: int, origin: str, change: SourceChange, guard: Guard, rng: random.Random
) -> GeneratedMutant:
    language, source = code.language, _origins(code)[origin]
    threshold, literal = guard.threshold(rng), rng.random() < 0.5
    stated = ""
    if guard.thresholded:
        stated = str(threshold) if literal else language.computed(threshold, rng)
    contract = code.challenge.contract
    condition = code.guards.code(guard, stated, (*contract.functions, *contract.optional))
    shown = language.shown(source, change, condition)
    lines = difflib.unified_diff(
        source.splitlines(True), shown.splitlines(True), origin, f"{origin}, {change.operator}, only: {guard.name}", n=2
    )
    return GeneratedMutant(
        number, origin, change, guard.name, threshold, stated, literal,
        source=language.planted(source, change, condition),
        trapped=language.planted(source, change, condition, trapped=True),
        original=source, diff="".join(lines),
    )  # fmt: skip
