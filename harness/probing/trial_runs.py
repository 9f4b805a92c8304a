"""Many trials of generated mutants at once, and what they add up to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from harness.numerics.intervals import ShareInterval, share_interval
from harness.probing.code import ChallengeCode
from harness.probing.trial_journal import TrialJournal
from harness.probing.trial_pool import ended_trials
from harness.probing.trials import MutantTrial, Trials

MOST = 40
"""Mutants drawn for each one that is wanted, at most: most that are drawn are right, or never reached."""


@dataclass(frozen=True)
class KilledShare:
    """How many of some wrong answers the probes noticed.

    Attributes:
        name: what they have in common.
        killed: those on which a criterion failed.
        gated: those on which a critical one did.
        count: all of them.
    """

    name: str
    killed: int
    gated: int
    count: int

    @classmethod
    def of(cls, name: str, trials: Iterable[MutantTrial]) -> "KilledShare":
        """The share of some trials; those that are not wrong do not count."""
        wrong = [trial for trial in trials if trial.wrong]
        return cls(name, sum(bool(t.criterion) for t in wrong), sum(t.critical for t in wrong), len(wrong))

    @property
    def share(self) -> float:
        """Killed of all."""
        return self.killed / self.count if self.count else 0.0

    @property
    def interval(self) -> ShareInterval:
        """95 % interval of the share."""
        return share_interval(self.killed, self.count)


def shares_by(trials: Sequence[MutantTrial], key: Callable[[MutantTrial], str]) -> list[KilledShare]:
    """The share for each value of `key`, the lowest first."""
    groups = sorted({key(trial) for trial in trials if trial.wrong})
    shares = [KilledShare.of(group, (t for t in trials if key(t) == group)) for group in groups]
    return sorted(shares, key=lambda share: (share.share, -share.count))


def run_trials(
    code: ChallengeCode, seed: int, wanted: int, jobs: int = 1, *, first: int = 0,
    progress: Callable[[MutantTrial], None] = lambda trial: None,
) -> list[MutantTrial]:  # fmt: skip
    """The fates of the first mutants of a seed, until `wanted` of them are wrong; the same for any number of jobs.

    Trials that an earlier run of the same sources kept are not made again.

    Args:
        code: the challenge's.
        seed: of the run.
        wanted: wrong answers to try.
        jobs: processes.
        first: number of the first mutant.
        progress: called with each trial as it ends.

    Raises:
        JudgeError: a process ended by itself.
    """
    journal = TrialJournal(code, seed, MutantTrial)
    tried = {trial.number: trial for trial in journal.read()}
    if (told := _enough(tried, wanted, first)) is not None:
        return told
    numbers = (number for number in range(first, first + MOST * wanted) if number not in tried)
    with closing(ended_trials(Trials, code, seed, numbers, jobs)) as ending:
        for trial in ending:
            tried[trial.number] = trial
            journal.keep(trial)
            progress(trial)
            if (told := _enough(tried, wanted, first)) is not None:
                return told
    return [tried[number] for number in sorted(tried) if number >= first]


def _enough(tried: Mapping[int, MutantTrial], wanted: int, first: int) -> list[MutantTrial] | None:
    """The first trials without a gap of which `wanted` are wrong; None while there are too few."""
    found: list[MutantTrial] = []
    while wanted and first + len(found) in tried:
        found.append(tried[first + len(found)])
        wanted -= found[-1].wrong
    return None if wanted else found
