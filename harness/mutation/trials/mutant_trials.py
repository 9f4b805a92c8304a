"""Trials of generated mutants: whether one is wrong at all, and whether a probe notices.

A driver of the challenge, which knows the guard, decides the first; the probes, which do not, decide the second. The
driver's failure counts only if the right answer passes on the same inputs.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from harness.errors import JudgeError
from harness.model import Criterion, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.mutation.trials.generated import GeneratedMutant, draw_mutant
from harness.probing.answers import SandboxedAnswer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.draw import Draw
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.failures import ProbeFailure
from harness.probing.submissions.opening import GradedAnswer
from harness.timing import exclusive

DRIVES = 3
"""Number of draws of inputs by a driver."""
Ids = tuple[str, ...]
"""Ids of criteria."""


class Fate(StrEnum):
    """The fate of a mutant."""

    BROKEN = "broken at once"
    EQUIVALENT = "equivalent"
    UNREACHED = "unreached"
    KILLED = "killed"
    SURVIVED = "survived"


@dataclass(frozen=True)
class MutantTrial:
    """One mutant and its fate. See `GeneratedMutant` for fields not listed here.

    Attributes:
        operator: kind of change.
        seen: fault that the driver saw; empty if it saw none.
        criterion: criterion that failed; empty if none did.
        critical: true if it is a critical one.
        unjudged: criteria whose probes broke.
        not_run: criteria left open, mostly by an endless call, which fails no drawn case.
    """

    number: int
    origin: str
    operator: str
    guard: str
    thresholded: bool
    literal: bool
    condition: str
    fate: Fate
    seen: str = ""
    criterion: str = ""
    critical: bool = False
    unjudged: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    diff: str = ""

    @property
    def wrong(self) -> bool:
        """True if it is a fault that probes can be expected to notice."""
        return self.fate in (Fate.KILLED, Fate.SURVIVED)


def _set_lock_folder(folder: str | None) -> None:
    if folder is None:
        os.environ.pop(exclusive.FOLDER, None)
    else:
        os.environ[exclusive.FOLDER] = folder


@dataclass
class Trials:
    """A runner of one challenge's mutants, which keeps right answers open."""

    code: ChallengeCode
    seed: int
    _open: ExitStack = field(default_factory=ExitStack)
    _originals: dict[str, GradedAnswer] = field(default_factory=dict)
    _offered: dict[tuple[str, str], bool] = field(default_factory=dict)

    def __enter__(self) -> "Trials":
        # a trial compares no times, so it need not wait for the timings of other processes
        folder = self._open.enter_context(tempfile.TemporaryDirectory())
        self._open.callback(_set_lock_folder, os.environ.get(exclusive.FOLDER))
        _set_lock_folder(folder)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def trial(self, number: int) -> MutantTrial:
        """Return the trial of mutant `number`."""
        mutant = draw_mutant(self.code, self.seed, number)
        try:
            with open_in_sandbox(self.code, mutant.source) as answer:
                seen = self._find_wrong(mutant, answer)
                if seen is None or seen == Fate.BROKEN:
                    return self._make_trial(mutant, Fate.BROKEN if seen else self._classify_harmless(mutant))
                if isinstance(answer, SandboxedAnswer):
                    answer.charged_seconds = 0.0  # the driver's time is not charged to the probes
                killer, left = self._find_killer(mutant, answer)
        except JudgeError:
            return self._make_trial(mutant, Fate.BROKEN)
        fate = Fate.KILLED if killer else Fate.SURVIVED
        return self._make_trial(mutant, fate, seen, killer, left)

    def _find_wrong(self, mutant: GeneratedMutant, answer: GradedAnswer) -> str | None:
        crashes = 0
        for attempt in range(DRIVES):
            failure = self._find_failure(mutant, answer, attempt)
            if failure is None:
                continue
            if failure.expected is not None or mutant.guard != self.code.guards.guards[0].name:
                return f"{failure.title}: {failure.detail}"
            crashes += 1
        return None if not crashes else str(Fate.BROKEN) if crashes == DRIVES else "it fails on some inputs"

    def _find_failure(self, mutant: GeneratedMutant, answer: GradedAnswer, attempt: int) -> ProbeFailure | None:
        failure = self._drive(mutant, answer, attempt)
        if failure is None or self._drive(mutant, self._open_original(mutant), attempt) is not None:
            return None
        return failure

    def _drive(self, mutant: GeneratedMutant, answer: GradedAnswer, attempt: int) -> ProbeFailure | None:
        answer.fresh()
        draw = Draw(self.seed, "driver", str(mutant.number), str(attempt))
        try:
            with np.errstate(all="ignore"):
                self.code.guards.by_name[mutant.guard].driver(answer, draw, mutant.threshold)
        except ProbeFailure as failure:
            return failure
        finally:
            answer.fresh()
        return None

    def _open_original(self, mutant: GeneratedMutant) -> GradedAnswer:
        if mutant.origin not in self._originals:
            opened = self._open.enter_context(open_in_sandbox(self.code, mutant.original))
            self._originals[mutant.origin] = opened
        answer = self._originals[mutant.origin]
        if isinstance(answer, SandboxedAnswer):
            answer.charged_seconds = 0.0
        return answer

    def _classify_harmless(self, mutant: GeneratedMutant) -> Fate:
        """Return EQUIVALENT if the driver reaches the changed code, else UNREACHED."""
        with open_in_sandbox(self.code, mutant.trapped) as answer:
            entered = any(self._find_failure(mutant, answer, attempt) for attempt in range(DRIVES))
        return Fate.EQUIVALENT if entered else Fate.UNREACHED

    def _find_killer(
        self, mutant: GeneratedMutant, answer: GradedAnswer
    ) -> tuple[Criterion | None, dict[Outcome, Ids]]:
        """Return the first criterion that fails, critical ones first, and undecided ones before it by outcome."""
        left: dict[Outcome, Ids] = {Outcome.JUDGE_ERROR: (), Outcome.NOT_RUN: ()}
        for criterion in self._choose_criteria(mutant):
            seed = seed_of(self.seed + mutant.number, criterion.id)
            outcome = probe_criterion(self.code, criterion, answer, seed, explain=False).outcome
            if outcome is Outcome.FAILED:
                return criterion, left
            if outcome in left:
                left[outcome] += (criterion.id,)
        return None, left

    def _choose_criteria(self, mutant: GeneratedMutant) -> Iterator[Criterion]:
        asked = [c for c in self.code.challenge.criteria if c.probes and c.id not in self.code.guards.unasked]
        yield from sorted((c for c in asked if not c.capability), key=lambda c: c.severity != "critical")
        yield from (c for c in asked if c.capability and self._offers(mutant, c))

    def _offers(self, mutant: GeneratedMutant, criterion: Criterion) -> bool:
        key = mutant.origin, criterion.id
        if key not in self._offered:
            evidence = probe_criterion(self.code, criterion, self._open_original(mutant), self.seed, explain=False)
            self._offered[key] = evidence.outcome is Outcome.PASSED
        return self._offered[key]

    def _make_trial(
        self,
        mutant: GeneratedMutant,
        fate: Fate,
        seen: str = "",
        killer: Criterion | None = None,
        left: Mapping[Outcome, Ids] = MappingProxyType({}),
    ) -> MutantTrial:
        return MutantTrial(
            mutant.number,
            mutant.origin,
            mutant.change.operator,
            mutant.guard,
            bool(mutant.stated),
            mutant.literal,
            mutant.condition,
            fate,
            seen,
            killer.id if killer else "",
            bool(killer and killer.severity == "critical"),
            left.get(Outcome.JUDGE_ERROR, ()),
            left.get(Outcome.NOT_RUN, ()),
            mutant.diff,
        )
