"""What becomes of a mutant made by machine: whether it is wrong at all, and whether a probe notices.

A driver of the challenge, which knows the guard, decides the first; the probes, which do not, the second. The driver
counts only where the answer without the fault passes it on the same inputs.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from harness.errors import JudgeError
from harness.model import Criterion, Outcome
from harness.probing.answers import SandboxedAnswer
from harness.probing.check import sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion, seed_of
from harness.probing.draw import Draw
from harness.probing.failures import ProbeFailure
from harness.probing.generated import GeneratedMutant, drawn_mutant
from harness.probing.opening import GradedAnswer
from harness.timing import exclusive

DRIVES = 3
"""Times a driver draws inputs."""
Ids = tuple[str, ...]
"""Of criteria."""


class Fate(StrEnum):
    """What became of a mutant."""

    BROKEN = "broken at once"
    EQUIVALENT = "equivalent"
    UNREACHED = "unreached"
    KILLED = "killed"
    SURVIVED = "survived"


@dataclass(frozen=True)
class MutantTrial:
    """One mutant and its fate.

    Attributes:
        number: of the draw.
        origin: the right answer it is made from.
        operator: what was changed.
        guard: when it acts.
        thresholded: whether that has a threshold.
        literal: whether the source names the threshold.
        condition: the guard with its threshold.
        fate: what became of it.
        seen: how the driver saw that it is wrong; empty where it did not.
        criterion: which failed on it; empty where none did.
        critical: whether that is a critical one.
        unjudged: criteria whose probes broke on it.
        not_run: criteria that stayed open: most often a call that did not end, which fails no drawn case.
        diff: from the right answer.
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
        """Whether it is a fault that probes can be asked to notice."""
        return self.fate in (Fate.KILLED, Fate.SURVIVED)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """What JSON made of the fields of one."""
        lists = {name: tuple(stored[name]) for name in ("unjudged", "not_run")}
        return cls(**{**stored, **lists, "fate": Fate(stored["fate"])})


def _set_lock_folder(folder: str | None) -> None:
    if folder is None:
        os.environ.pop(exclusive.FOLDER, None)
    else:
        os.environ[exclusive.FOLDER] = folder


@dataclass
class Trials:
    """Tries mutants of one challenge, one after the other; keeps right answers open to compare with.

    Attributes:
        code: the challenge's.
        seed: of the run.
    """

    code: ChallengeCode
    seed: int
    _open: ExitStack = field(default_factory=ExitStack)
    _originals: dict[str, GradedAnswer] = field(default_factory=dict)
    _offered: dict[tuple[str, str], bool] = field(default_factory=dict)

    def __enter__(self) -> "Trials":
        # other processes' work is no reason to wait: a trial compares no times
        folder = self._open.enter_context(tempfile.TemporaryDirectory())
        self._open.callback(_set_lock_folder, os.environ.get(exclusive.FOLDER))
        _set_lock_folder(folder)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def trial(self, number: int) -> MutantTrial:
        """The fate of mutant `number`."""
        mutant = drawn_mutant(self.code, self.seed, number)
        try:
            with sandboxed(self.code, mutant.source) as answer:
                seen = self._wrong(mutant, answer)
                if seen is None or seen == Fate.BROKEN:
                    return self._told(mutant, Fate.BROKEN if seen else self._harmless(mutant))
                if isinstance(answer, SandboxedAnswer):
                    answer.charged_seconds = 0.0  # what the driver took is not the probes'
                killer, left = self._killer(mutant, answer)
        except JudgeError:
            return self._told(mutant, Fate.BROKEN)
        fate = Fate.KILLED if killer else Fate.SURVIVED
        return self._told(mutant, fate, seen, killer, left)

    def _wrong(self, mutant: GeneratedMutant, answer: GradedAnswer) -> str | None:
        """How the driver sees that a mutant is wrong; None where it does not."""
        crashes = 0
        for attempt in range(DRIVES):
            failure = self._failure(mutant, answer, attempt)
            if failure is None:
                continue
            if failure.expected is not None or mutant.guard != self.code.guards.guards[0].name:
                return f"{failure.title}: {failure.detail}"
            crashes += 1
        return None if not crashes else str(Fate.BROKEN) if crashes == DRIVES else "it fails on some inputs"

    def _failure(self, mutant: GeneratedMutant, answer: GradedAnswer, attempt: int) -> ProbeFailure | None:
        """What the guard's driver finds wrong with a mutant alone, and not with the right answer."""
        failure = self._driven(mutant, answer, attempt)
        if failure is None or self._driven(mutant, self._original(mutant), attempt) is not None:
            return None
        return failure

    def _driven(self, mutant: GeneratedMutant, answer: GradedAnswer, attempt: int) -> ProbeFailure | None:
        """What the guard's driver finds wrong."""
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

    def _original(self, mutant: GeneratedMutant) -> GradedAnswer:
        """The right answer that a mutant is made from."""
        if mutant.origin not in self._originals:
            opened = self._open.enter_context(sandboxed(self.code, mutant.original))
            self._originals[mutant.origin] = opened
        answer = self._originals[mutant.origin]
        if isinstance(answer, SandboxedAnswer):
            answer.charged_seconds = 0.0
        return answer

    def _harmless(self, mutant: GeneratedMutant) -> Fate:
        """Equivalent where the driver enters what is changed, unreached where it does not."""
        with sandboxed(self.code, mutant.trapped) as answer:
            entered = any(self._failure(mutant, answer, attempt) for attempt in range(DRIVES))
        return Fate.EQUIVALENT if entered else Fate.UNREACHED

    def _killer(self, mutant: GeneratedMutant, answer: GradedAnswer) -> tuple[Criterion | None, dict[Outcome, Ids]]:
        """The first criterion that fails, critical ones first, and by outcome those that decided nothing before it."""
        left: dict[Outcome, Ids] = {Outcome.JUDGE_ERROR: (), Outcome.NOT_RUN: ()}
        for criterion in self._asked(mutant):
            seed = seed_of(self.seed + mutant.number, criterion.id)
            outcome = probe_criterion(self.code, criterion, answer, seed, explain=False).outcome
            if outcome is Outcome.FAILED:
                return criterion, left
            if outcome in left:
                left[outcome] += (criterion.id,)
        return None, left

    def _asked(self, mutant: GeneratedMutant) -> Iterator[Criterion]:
        """Probed criteria that speak of the mutant, critical ones first, those of offered features last."""
        asked = [c for c in self.code.challenge.criteria if c.probes and c.id not in self.code.guards.unasked]
        yield from sorted((c for c in asked if not c.capability), key=lambda c: c.severity != "critical")
        yield from (c for c in asked if c.capability and self._offers(mutant, c))

    def _offers(self, mutant: GeneratedMutant, criterion: Criterion) -> bool:
        """Whether the right answer that a mutant is made from passes the criterion of a feature."""
        key = mutant.origin, criterion.id
        if key not in self._offered:
            evidence = probe_criterion(self.code, criterion, self._original(mutant), self.seed, explain=False)
            self._offered[key] = evidence.outcome is Outcome.PASSED
        return self._offered[key]

    def _told(
        self, mutant: GeneratedMutant, fate: Fate, seen: str = "", killer: Criterion | None = None,
        left: Mapping[Outcome, Ids] = MappingProxyType({}),
    ) -> MutantTrial:  # fmt: skip
        return MutantTrial(
            mutant.number, mutant.origin, mutant.change.operator, mutant.guard, bool(mutant.stated), mutant.literal,
            mutant.condition, fate, seen, killer.id if killer else "", bool(killer and killer.severity == "critical"),
            left.get(Outcome.JUDGE_ERROR, ()), left.get(Outcome.NOT_RUN, ()), mutant.diff,
        )  # fmt: skip
