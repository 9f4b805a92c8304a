"""Right answers judged by many seeds, where every verdict against one is a fault of a probe."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from harness.mutation.checks.check import check_right_answer
from harness.mutation.trials.journal import TrialJournal
from harness.mutation.trials.pool import iter_trials
from harness.probing.challenge_code.code import ChallengeCode


@dataclass(frozen=True)
class RightAnswerTrial:
    """A right answer judged by one seed.

    Attributes:
        right: true if no probe objected.
        detail: objections.
        not_run: criteria left open in both runs.
    """

    number: int
    seed: int
    name: str
    right: bool
    detail: str
    not_run: tuple[str, ...]


@dataclass(frozen=True)
class RightAnswers:
    """A judge of a challenge's right answers, seed by seed from `seed` on."""

    code: ChallengeCode
    seed: int

    def __len__(self) -> int:
        """Return the number of right answers: the reference and its variants."""
        return 1 + len(self.code.variants)

    def trial(self, number: int) -> RightAnswerTrial:
        """Judge one answer: the first seed judges and times all, later ones only judge."""
        later, index = divmod(number, len(self))
        variant = self.code.variants[index - 1] if index else None
        result = check_right_answer(self.code, self.seed + later, variant, races=later == 0)
        return RightAnswerTrial(
            number, self.seed + later, result.name, result.right, result.detail, tuple(sorted(result.not_run))
        )


@contextmanager
def right_answers(code: ChallengeCode, seed: int) -> Iterator[RightAnswers]:
    """Yield a judge for one process."""
    yield RightAnswers(code, seed)


def judge_right_answers(
    code: ChallengeCode,
    seed: int,
    seeds: int,
    jobs: int = 1,
    progress: Callable[[RightAnswerTrial], None] = lambda trial: None,
) -> Sequence[RightAnswerTrial]:
    """Judge the reference and each variant by several seeds, beginning with `seed`.

    Reuse the journal's trials.

    Raises:
        JudgeError: a process ended by itself.
    """
    journal = TrialJournal(code, seed, RightAnswerTrial)
    wanted = range(seeds * len(RightAnswers(code, seed)))
    judged = {trial.number: trial for trial in journal.read() if trial.number in wanted}
    numbers = (number for number in wanted if number not in judged)
    with closing(iter_trials(right_answers, code, seed, numbers, jobs)) as ending:
        for trial in ending:
            judged[trial.number] = trial
            journal.keep(trial)
            progress(trial)
    return [judged[number] for number in wanted]
