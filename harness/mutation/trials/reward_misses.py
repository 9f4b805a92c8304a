"""The rate at which a reward misses known faults, with mutants graded as in a training loop."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial

from harness.model import Criterion, GradeProfile, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.mutation.trials.journal import TrialJournal
from harness.mutation.trials.pool import iter_trials
from harness.probing.answers import Answer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.mutants import Mutant, PropertyMutant
from harness.probing.evidence.criteria import probe_criterion, seed_of

MOST_SEEDS = 50
"""Number of seeds for a mutant that was missed once: a miss rate of 1 in 50 is the highest accepted."""


@dataclass(frozen=True)
class RewardTrial:
    """A mutant graded by several seeds under the profile `reward`.

    Attributes:
        number: index among the mutants of rewarded criteria.
        missed: seeds by which all rewarded criteria passed, for a reward of 1.
        costs_alone: true if only a probe of an option's cost fails, which rewards ignore.
    """

    number: int
    name: str
    criterion: str
    seeds: int
    missed: tuple[int, ...]
    costs_alone: bool = False

    @property
    def right(self) -> bool:
        """True if at most one seed in 50 missed the fault, or rewards ignore such faults."""
        return self.costs_alone or len(self.missed) * MOST_SEEDS <= self.seeds


@dataclass(frozen=True)
class RewardGrader:
    """A grader of a challenge's mutants that works like a training loop, with `seeds` seeds from `seed` on."""

    code: ChallengeCode
    seed: int
    seeds: int

    def trial(self, number: int) -> RewardTrial:
        """Grade one mutant by every seed, and by up to `MOST_SEEDS` while exactly one misses it."""
        mutant = list_reward_mutants(self.code)[number]
        missed: list[int] = []
        done = 0
        with open_in_sandbox(self.code, _make_source(self.code, mutant)) as answer:
            while done < self.seeds or (len(missed) == 1 and done < MOST_SEEDS):
                if self._misses(answer, mutant, self.seed + done):
                    missed.append(self.seed + done)
                done += 1
            costs = bool(missed) and self._costs_alone(answer, mutant)
        return RewardTrial(number, mutant.name, mutant.criterion, done, tuple(missed), costs)

    def _costs_alone(self, answer: Answer, mutant: Mutant | PropertyMutant) -> bool:
        criterion = self.code.challenge.criterion(mutant.criterion)
        values = tuple(probe.name for probe in self.code.probes_of(criterion) if not probe.measures_cost)
        if not criterion.capability or len(values) == len(criterion.probes):
            return False
        without = criterion.model_copy(update={"probes": values})
        evidence = probe_criterion(self.code, without, answer, seed_of(self.seed, criterion.id), explain=False)
        return evidence.outcome is Outcome.PASSED

    def _misses(self, answer: Answer, mutant: Mutant | PropertyMutant, seed: int) -> bool:
        counting = sorted(list_reward_criteria(self.code), key=lambda criterion: criterion.id != mutant.criterion)
        return all(self._passes(answer, criterion, seed) for criterion in counting)

    def _passes(self, answer: Answer, criterion: Criterion, seed: int) -> bool:
        own = seed_of(seed, criterion.id)
        evidence = probe_criterion(self.code, criterion, answer, own, explain=False, until_failed=True, brief=True)
        return evidence.outcome is Outcome.PASSED


def list_reward_criteria(code: ChallengeCode) -> list[Criterion]:
    """Return the probed criteria that a reward counts."""
    counted = GradeProfile.REWARD.criteria(code.challenge)
    return [criterion for criterion in code.challenge.criteria if criterion.id in counted and criterion.probes]


def list_reward_mutants(code: ChallengeCode) -> list[Mutant | PropertyMutant]:
    """Return the mutants of rewarded criteria; property mutants wrap the reference."""
    counted = {criterion.id for criterion in list_reward_criteria(code)}
    known: tuple[Mutant | PropertyMutant, ...] = (*code.mutants, *code.property_mutants)
    return [mutant for mutant in known if mutant.criterion in counted]


def _make_source(code: ChallengeCode, mutant: Mutant | PropertyMutant) -> str:
    return mutant.wrapped(code.source()) if isinstance(mutant, PropertyMutant) else code.source(mutant)


@contextmanager
def reward_grader(code: ChallengeCode, seed: int, *, seeds: int) -> Iterator[RewardGrader]:
    """Yield a grader for one process."""
    yield RewardGrader(code, seed, seeds)


def grade_mutants(
    code: ChallengeCode,
    seed: int,
    seeds: int,
    jobs: int = 1,
    progress: Callable[[RewardTrial], None] = lambda trial: None,
) -> Sequence[RewardTrial]:
    """Grade each mutant of a rewarded criterion by several seeds, beginning with `seed`.

    Reuse the journal's trials by as many seeds.

    Raises:
        JudgeError: a process ended by itself.
    """
    journal = TrialJournal(code, seed, RewardTrial)
    graded = {trial.number: trial for trial in journal.read() if trial.seeds >= seeds}
    wanted = range(len(list_reward_mutants(code)))
    numbers = (number for number in wanted if number not in graded)
    with closing(iter_trials(partial(reward_grader, seeds=seeds), code, seed, numbers, jobs)) as ending:
        for trial in ending:
            graded[trial.number] = trial
            journal.keep(trial)
            progress(trial)
    return [graded[number] for number in wanted]
