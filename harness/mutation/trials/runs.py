"""Many trials of generated mutants at once, and their statistics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from harness.mutation.trials.journal import TrialJournal
from harness.mutation.trials.mutant_trials import MutantTrial, Trials
from harness.mutation.trials.pool import iter_trials
from harness.numerics.intervals import ShareInterval, share_interval
from harness.probing.challenge_code.code import ChallengeCode

MOST = 40
"""Most mutants drawn per wrong one wanted: most draws are right, or never reached."""


@dataclass(frozen=True)
class KilledShare:
    """The share of some wrong answers that the probes noticed.

    Attributes:
        name: common trait of the answers.
        gated: number with a failed critical criterion.
    """

    name: str
    killed: int
    gated: int
    count: int

    @classmethod
    def of(cls, name: str, trials: Iterable[MutantTrial]) -> "KilledShare":
        """Compute the share of some trials, counting only wrong mutants."""
        wrong = [trial for trial in trials if trial.wrong]
        return cls(name, sum(bool(t.criterion) for t in wrong), sum(t.critical for t in wrong), len(wrong))

    @property
    def share(self) -> float:
        """Killed over all."""
        return self.killed / self.count if self.count else 0.0

    @property
    def interval(self) -> ShareInterval:
        """95 % interval of the share."""
        return share_interval(self.killed, self.count)


def shares_by(trials: Sequence[MutantTrial], key: Callable[[MutantTrial], str]) -> list[KilledShare]:
    """Return the share for each value of `key`, lowest first."""
    groups = sorted({key(trial) for trial in trials if trial.wrong})
    shares = [KilledShare.of(group, (t for t in trials if key(t) == group)) for group in groups]
    return sorted(shares, key=lambda share: (share.share, -share.count))


def run_trials(
    code: ChallengeCode,
    seed: int,
    wanted: int,
    jobs: int = 1,
    *,
    first: int = 0,
    progress: Callable[[MutantTrial], None] = lambda trial: None,
) -> list[MutantTrial]:
    """Return the first trials of a seed of which `wanted` are wrong, independent of the number of jobs.

    Reuse the journal's trials.

    Args:
        first: number of the first mutant.
        progress: callback with each finished trial.

    Raises:
        JudgeError: a process ended by itself.
    """
    journal = TrialJournal(code, seed, MutantTrial)
    tried = {trial.number: trial for trial in journal.read()}
    if (told := _find_enough(tried, wanted, first)) is not None:
        return told
    numbers = (number for number in range(first, first + MOST * wanted) if number not in tried)
    with closing(iter_trials(Trials, code, seed, numbers, jobs)) as ending:
        for trial in ending:
            tried[trial.number] = trial
            journal.keep(trial)
            progress(trial)
            if (told := _find_enough(tried, wanted, first)) is not None:
                return told
    return [tried[number] for number in sorted(tried) if number >= first]


def _find_enough(tried: Mapping[int, MutantTrial], wanted: int, first: int) -> list[MutantTrial] | None:
    """Return the first gapless trials with `wanted` wrong ones, or None."""
    found: list[MutantTrial] = []
    while wanted and first + len(found) in tried:
        found.append(tried[first + len(found)])
        wanted -= found[-1].wrong
    return None if wanted else found
