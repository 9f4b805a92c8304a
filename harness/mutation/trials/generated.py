"""Generated mutants: an operator of the language on a right answer, under a guard of the challenge.

Answer, operator, change and guard are drawn evenly. Half of the thresholds are computed by the source instead of
written in it. Seed and number alone determine a mutant.
"""

import difflib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from harness.errors import SpecError
from harness.languages import SourceChange
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.guards import Guard

ATTEMPTS = 40
"""Most draws of a guard that fits a change."""


@dataclass(frozen=True)
class GeneratedMutant:
    """One generated mutant, which may turn out to be right.

    Attributes:
        origin: name of the original variant, or `reference`.
        guard: name of the condition under which it acts.
        stated: threshold as written in the source.
        literal: true if that is a literal.
        source: source with the fault.
        trapped: source that ends the call where the fault would act.
        original: source without the fault.
        diff: unified diff for readers.
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
        """Guard with its threshold."""
        return f"{self.guard}, t = {self.stated}" if self.stated else self.guard


@cache
def _load_origins(code: ChallengeCode) -> Mapping[str, str]:
    return {"reference": code.source()} | {variant.name: code.source(variant) for variant in code.variants}


@cache
def _list_changes(code: ChallengeCode, origin: str) -> Mapping[str, tuple[SourceChange, ...]]:
    found: dict[str, list[SourceChange]] = {}
    contract = code.challenge.contract
    called = {*contract.functions, *contract.optional}
    for change in code.language.changes(_load_origins(code)[origin], code.guards.spared, called):
        found.setdefault(change.operator, []).append(change)
    return {operator: tuple(found[operator]) for operator in sorted(found)}


def draw_mutant(code: ChallengeCode, seed: int, number: int) -> GeneratedMutant:
    """Return mutant `number` of a seed.

    Raises:
        SpecError: no operator changes any right answer of the challenge.
    """
    rng = random.Random(f"{seed}:{number}")
    origins = [origin for origin in _load_origins(code) if _list_changes(code, origin)]
    if not origins:
        place = code.workspace.challenge_folder(code.challenge.id)
        raise SpecError(place, f"no operator changes an answer in {code.language.title}")
    origin = rng.choice(origins)
    operators = _list_changes(code, origin)
    change = rng.choice(operators[rng.choice(list(operators))])
    guard = _draw_guard(code, _load_origins(code)[origin], change, rng)
    return _make_mutant(code, number, origin, change, guard, rng)


def _draw_guard(code: ChallengeCode, source: str, change: SourceChange, rng: random.Random) -> Guard:
    guards = code.guards.guards
    if not change.guardable:
        return guards[0]
    for _ in range(ATTEMPTS):
        guard = rng.choice(guards)
        if guard.fits(source, change):
            return guard
    return guards[0]


def _make_mutant(
    code: ChallengeCode, number: int, origin: str, change: SourceChange, guard: Guard, rng: random.Random
) -> GeneratedMutant:
    language, source = code.language, _load_origins(code)[origin]
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
        number,
        origin,
        change,
        guard.name,
        threshold,
        stated,
        literal,
        source=language.planted(source, change, condition),
        trapped=language.planted(source, change, condition, trapped=True),
        original=source,
        diff="".join(lines),
    )
