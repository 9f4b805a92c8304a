"""Several attempts of one model at one challenge together: the mean with its spread, pass@k, and what they meet."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, sqrt
from statistics import NormalDist, stdev

import numpy as np

from harness.model import Provenance, Score, Severity, Status
from harness.numerics.rounding import exact
from harness.scoring.doubts import DoubtKind
from harness.scoring.marks import weighted_mean
from harness.scoring.memory import NO_MEMORY, FigureMemory, Floats
from harness.scoring.record_summary import RecordSummary
from harness.scoring.strength import resampled

CONFIDENCE = 0.95
"""Of the interval of a mean."""
DRAWS = 4000
"""How often the attempts are drawn anew for it."""


@dataclass(frozen=True)
class CriterionTally:
    """One criterion over several attempts.

    Attributes:
        criterion: id.
        met: attempts that meet it in full.
        assessed: attempts it was assessed on.
    """

    criterion: str
    met: int
    assessed: int


@dataclass(frozen=True)
class CommonFault:
    """A finding that attempts share, and how many of them have it."""

    criterion: str
    severity: Severity
    title: str
    attempts: int


@dataclass(frozen=True)
class Attempts:
    """All attempts of one model at one challenge; `Marked`, as a single answer is.

    Attributes:
        summaries: of their records, by number.
        memory: of what their means come to.
    """

    summaries: tuple[RecordSummary, ...]
    memory: FigureMemory = field(default=NO_MEMORY, compare=False, repr=False)

    @property
    def model(self) -> str:
        """Who answered."""
        return self.summaries[0].model

    @property
    def challenge(self) -> str:
        """What was answered."""
        return self.summaries[0].challenge

    @cached_property
    def provenance(self) -> Provenance:
        """Where the files come from; baseline where any attempt is one."""
        all = {summary.provenance for summary in self.summaries}
        return Provenance.BASELINE if Provenance.BASELINE in all else self.summaries[0].provenance

    @cached_property
    def marked(self) -> tuple[RecordSummary, ...]:
        """The attempts with a mark: those that the harness failed to grade count in nothing."""
        return tuple(
            s for s in self.summaries if s.status is not Status.JUDGE_ERROR and s.overall.score is not None
        )  # fmt: skip

    @cached_property
    def status(self) -> Status:
        """How far the furthest got."""
        all = {summary.status for summary in self.summaries}
        return next(s for s in (Status.GRADED, Status.BUILD_FAILED, Status.JUDGE_ERROR) if s in all)

    @cached_property
    def ranked(self) -> bool:
        """Whether every attempt counts in ranks."""
        return all(summary.ranked for summary in self.summaries)

    @cached_property
    def turns(self) -> int:
        """Replies the model was allowed, the most of any attempt."""
        return max(summary.turns for summary in self.summaries)

    @property
    def doubts(self) -> tuple[DoubtKind, ...]:
        """What is doubtful about any attempt, each kind once."""
        return tuple(dict.fromkeys(kind for summary in self.summaries for kind in summary.doubts))

    @property
    def integrity(self) -> int:
        """How many findings of all attempts tell of conduct in the box."""
        return sum(summary.integrity for summary in self.summaries)

    @cached_property
    def marks(self) -> tuple[float, ...]:
        """The overall of every attempt with a mark."""
        return tuple(s.overall.score for s in self.marked if s.overall.score is not None)

    @cached_property
    def overall(self) -> Score:
        """The mean of the overalls, with the interval of that mean; see `mean_score`."""
        scores = [s.overall for s in self.marked]
        given = np.array([_numbers(score) for score in scores], float)

        def find() -> Floats:
            return np.array(_numbers(mean_score(scores)), float)

        if not scores:
            return mean_score(scores)
        score, low, high, coverage = self.memory.recall(f"mean {self.challenge}/{self.model}", given, find).tolist()
        return Score(score=score, low=low, high=high, coverage=coverage)

    @cached_property
    def dimensions(self) -> Mapping[str, Score]:
        """The same for each heading."""
        ids = dict.fromkeys(id for summary in self.marked for id in summary.dimensions)
        return {id: mean_score([s.dimensions[id] for s in self.marked if id in s.dimensions]) for id in ids}

    @cached_property
    def deviation(self) -> float | None:
        """Sample standard deviation of the overalls (divided by n - 1); None for fewer than two."""
        return stdev(self.marks) if len(self.marks) > 1 else None

    @property
    def best(self) -> RecordSummary | None:
        """The attempt with the highest overall, the first of equal ones; None where none has a mark."""
        return max(self.marked, key=lambda s: s.overall.score or 0.0, default=None)

    @property
    def worst(self) -> RecordSummary | None:
        """The attempt with the lowest overall, the first of equal ones; None where none has a mark."""
        return min(self.marked, key=lambda s: s.overall.score or 0.0, default=None)

    @cached_property
    def passed(self) -> int:
        """How many attempts with a mark pass; see `passes`."""
        return sum(map(passes, self.marked))

    @cached_property
    def unanswered(self) -> int:
        """How many attempts with a mark have a reply that holds no answer."""
        return sum(summary.unanswered for summary in self.marked)

    @cached_property
    def unread(self) -> int:
        """How many attempts have no mark, for their reply could not be read with certainty."""
        return sum(summary.unread for summary in self.summaries)

    def pass_at(self, k: int) -> float:
        """`pass_at_k` of these attempts."""
        return pass_at_k(len(self.marked), self.passed, k)

    @cached_property
    def criteria(self) -> tuple[CriterionTally, ...]:
        """Every criterion of their rubrics by how many attempts meet it, in the order of the rubric."""
        seen: dict[str, list[float | None]] = {}
        for summary in self.marked:
            for result in summary.results:
                seen.setdefault(result.criterion, []).append(result.satisfied)
        return tuple(
            CriterionTally(id, sum(share == 1.0 for share in shares), sum(share is not None for share in shares))
            for id, shares in seen.items()
        )

    @cached_property
    def faults(self) -> tuple[CommonFault, ...]:
        """What was found in them, each fault once: the gravest first, then the commonest."""
        counts: dict[tuple[Severity, str], tuple[str, set[str]]] = {}
        for summary in self.summaries:
            for found in summary.findings:
                counts.setdefault((found.severity, found.title), (found.criterion, set()))[1].add(summary.name)
        every = [CommonFault(id, severity, title, len(own)) for (severity, title), (id, own) in counts.items()]
        return tuple(sorted(every, key=lambda fault: (-fault.severity.weight, -fault.attempts)))


MeasuredAnswer = RecordSummary | Attempts
"""What a model's mark on a challenge is made from."""


def passes(summary: RecordSummary) -> bool:
    """Whether an attempt passes: it builds, and no critical criterion failed."""
    return summary.status is Status.GRADED and not any(result.gates for result in summary.results)


def by_answer(summaries: Iterable[RecordSummary], memory: FigureMemory = NO_MEMORY) -> tuple[MeasuredAnswer, ...]:
    """One for each model and challenge, in the order they first come: single answers as they are, attempts together."""
    groups: dict[tuple[str, str], list[RecordSummary]] = {}
    for summary in summaries:
        name = summary.submission_name
        groups.setdefault((name.challenge, name.model), []).append(summary)
    return tuple(_together(own, memory) for own in groups.values())


def _together(own: Sequence[RecordSummary], memory: FigureMemory) -> MeasuredAnswer:
    if len(own) == 1 and own[0].submission_name.attempt is None:
        return own[0]
    return Attempts(tuple(sorted(own, key=lambda summary: summary.submission_name.order)), memory)


def _numbers(score: Score) -> tuple[float | None, float, float, float]:
    return score.score, score.low, score.high, score.coverage


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean of marks of several attempts, with an interval that bears both what was not assessed and chance.

    The attempts are drawn anew with repetition, as many as there are. The interval runs from a low percentile of the
    means of their lowest marks to a high one of the means of their highest: it bounds the mean whatever the parts not
    assessed would bring. The percentiles are those of the expanded percentile interval, which allows for a small number
    (Hesterberg, What teachers should know about the bootstrap, The American Statistician 69, 2015). It
    never leaves the range of the marks: of two or three attempts it is that range, and the true mean may lie outside
    it; the interval of one attempt is its own.

    Args:
        scores: of one mark in each attempt; those without a point are left out.
    """
    known = [score for score in scores if score.score is not None]
    if not known:
        return Score(score=None, low=0.0, high=100.0, coverage=0.0)
    point = _mean(score.score for score in known if score.score is not None)
    weights = resampled(len(known), DRAWS)
    tail = _tail(len(known))
    low = float(np.quantile(weights @ [score.low for score in known], tail))
    high = float(np.quantile(weights @ [score.high for score in known], 1 - tail))
    coverage = _mean(score.coverage for score in known)
    return Score(score=point, low=min(point, round(low, 6)), high=max(point, round(high, 6)), coverage=coverage)


def _mean(numbers: Iterable[float]) -> float:
    """Found exactly: it may be a tie."""
    often = Counter(numbers)
    return float(weighted_mean([exact(number) for number in often], [Fraction(n) for n in often.values()]))


def _tail(n: int) -> float:
    """The share of the draws of n attempts below their interval: Phi(-sqrt(n / (n - 1)) t), t that of Student."""
    if n == 1:
        return 0.5
    # loaded here: without several attempts nothing needs it
    from scipy.special import stdtrit

    student = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
    return NormalDist().cdf(-sqrt(n / (n - 1)) * student)


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k attempts passes, drawn without repetition from n of which c pass.

    The unbiased estimator 1 - C(n - c, k) / C(n, k) of Chen et al., Evaluating large language models trained on code,
    arXiv:2107.03374 (2021), section 2.1.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {n} attempts of which {c} pass is not defined")
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))
