"""How often a reward misses a known fault: mutants of criteria that it counts, graded as a training loop does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from harness.model import Criterion, GradeProfile, Outcome
from harness.probing.answers import Answer
from harness.probing.check import sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion, seed_of
from harness.probing.mutants import Mutant, PropertyMutant
from harness.probing.trial_journal import TrialJournal
from harness.probing.trial_pool import ended_trials

MOST_SEEDS = 50
"""Seeds by which a mutant is graded that was missed once: a rate of 1 in 50 is the most that is right."""


@dataclass(frozen=True)
class RewardTrial:
    """A mutant graded by several seeds as the profile `reward` grades.

    Attributes:
        number: of the mutant among those of criteria that a reward counts.
        name: of the mutant.
        criterion: which names the mutant.
        seeds: how many graded it.
        missed: the seeds by which every such criterion passed, so that its reward was 1.
        costs_alone: whether no probe of a value fails, only one of what an option costs, which no reward counts.
    """

    number: int
    name: str
    criterion: str
    seeds: int
    missed: tuple[int, ...]
    costs_alone: bool = False

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the trial whose fields JSON stored."""
        return cls(**{**stored, "missed": tuple(stored["missed"])})

    @property
    def right(self) -> bool:
        """Whether the fault was missed once in 50 seeds at most, or is none that a reward counts."""
        return self.costs_alone or len(self.missed) * MOST_SEEDS <= self.seeds


@dataclass(frozen=True)
class RewardGrader:
    """Grades the mutants of a challenge as a training loop does.

    Attributes:
        code: the challenge's.
        seed: the first one; the others follow it.
        seeds: how many.
    """

    code: ChallengeCode
    seed: int
    seeds: int

    def trial(self, number: int) -> RewardTrial:
        """Grade one mutant by every seed; where one of them misses it, by `MOST_SEEDS`."""
        mutant = rewarded_mutants(self.code)[number]
        missed: list[int] = []
        done = 0
        with sandboxed(self.code, _source(self.code, mutant)) as answer:
            while done < self.seeds or (len(missed) == 1 and done < MOST_SEEDS):
                if self._misses(answer, mutant, self.seed + done):
                    missed.append(self.seed + done)
                done += 1
            costs = bool(missed) and self._costs_alone(answer, mutant)
        return RewardTrial(number, mutant.name, mutant.criterion, done, tuple(missed), costs)

    def _costs_alone(self, answer: Answer, mutant: Mutant | PropertyMutant) -> bool:
        """Return whether the option that a mutant breaks has probes of its cost, and all its other probes pass."""
        criterion = self.code.challenge.criterion(mutant.criterion)
        values = tuple(probe.name for probe in self.code.probes_of(criterion) if not probe.measures_cost)
        if not criterion.capability or len(values) == len(criterion.probes):
            return False
        without = criterion.model_copy(update={"probes": values})
        evidence = probe_criterion(self.code, without, answer, seed_of(self.seed, criterion.id), explain=False)
        return evidence.outcome is Outcome.PASSED

    def _misses(self, answer: Answer, mutant: Mutant | PropertyMutant, seed: int) -> bool:
        """Return whether every criterion of a reward passes; the one that the mutant names is asked first."""
        counting = sorted(rewarded(self.code), key=lambda criterion: criterion.id != mutant.criterion)
        return all(self._passes(answer, criterion, seed) for criterion in counting)

    def _passes(self, answer: Answer, criterion: Criterion, seed: int) -> bool:
        own = seed_of(seed, criterion.id)
        evidence = probe_criterion(self.code, criterion, answer, own, explain=False, until_failed=True, brief=True)
        return evidence.outcome is Outcome.PASSED


def rewarded(code: ChallengeCode) -> list[Criterion]:
    """Return the criteria that a reward counts and probes feed."""
    counted = GradeProfile.REWARD.criteria(code.challenge)
    return [criterion for criterion in code.challenge.criteria if criterion.id in counted and criterion.probes]


def rewarded_mutants(code: ChallengeCode) -> list[Mutant | PropertyMutant]:
    """Return the mutants that name a criterion which a reward counts; those of properties go around the reference."""
    counted = {criterion.id for criterion in rewarded(code)}
    known: tuple[Mutant | PropertyMutant, ...] = (*code.mutants, *code.property_mutants)
    return [mutant for mutant in known if mutant.criterion in counted]


def _source(code: ChallengeCode, mutant: Mutant | PropertyMutant) -> str:
    return mutant.wrapped(code.source()) if isinstance(mutant, PropertyMutant) else code.source(mutant)


@contextmanager
def reward_grader(code: ChallengeCode, seed: int, *, seeds: int) -> Iterator[RewardGrader]:
    """Yield what grades the mutants in one process."""
    yield RewardGrader(code, seed, seeds)


def grade_mutants(
    code: ChallengeCode, seed: int, seeds: int, jobs: int = 1,
    progress: Callable[[RewardTrial], None] = lambda trial: None,
) -> Sequence[RewardTrial]:  # fmt: skip
    """Grade each mutant of a criterion that a reward counts by some seeds.

    Trials that an earlier run of the same sources kept, of as many seeds, are not made again.

    Args:
        code: the challenge's.
        seed: the first one.
        seeds: how many.
        jobs: processes.
        progress: called with each trial as it ends.

    Raises:
        JudgeError: a process ended by itself.
    """
    journal = TrialJournal(code, seed, RewardTrial)
    graded = {trial.number: trial for trial in journal.read() if trial.seeds >= seeds}
    wanted = range(len(rewarded_mutants(code)))
    numbers = (number for number in wanted if number not in graded)
    with closing(ended_trials(partial(reward_grader, seeds=seeds), code, seed, numbers, jobs)) as ending:
        for trial in ending:
            graded[trial.number] = trial
            journal.keep(trial)
            progress(trial)
    return [graded[number] for number in wanted]
