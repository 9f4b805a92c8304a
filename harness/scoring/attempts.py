"""Combined marks of a model's attempts at one challenge."""

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
from harness.scoring.marks import compute_mean
from harness.scoring.memory import NO_MEMORY, FigureMemory, Floats
from harness.scoring.record_summary import RecordSummary, list_numbers
from harness.scoring.strength import draw_weights

CONFIDENCE = 0.95
"""Confidence level of a mean's interval."""
DRAWS = 4000
"""Bootstrap draws of the attempts."""


@dataclass(frozen=True)
class CriterionTally:
    """Number of attempts that meet a criterion in full, and that it was assessed on."""

    criterion: str
    met: int
    assessed: int


@dataclass(frozen=True)
class CommonFault:
    """A finding and the number of attempts that share it."""

    criterion: str
    severity: Severity
    title: str
    attempts: int


@dataclass(frozen=True)
class Attempts:
    """All attempts of one model at one challenge, by number."""

    summaries: tuple[RecordSummary, ...]
    memory: FigureMemory = field(default=NO_MEMORY, compare=False, repr=False)

    @property
    def model(self) -> str:
        """Model id."""
        return self.summaries[0].model

    @property
    def challenge(self) -> str:
        """Challenge id."""
        return self.summaries[0].challenge

    @cached_property
    def provenance(self) -> Provenance:
        """Provenance; baseline if any attempt is one."""
        all = {summary.provenance for summary in self.summaries}
        return Provenance.BASELINE if Provenance.BASELINE in all else self.summaries[0].provenance

    @cached_property
    def marked(self) -> tuple[RecordSummary, ...]:
        """Attempts with a mark that the harness could grade."""
        return tuple(s for s in self.summaries if s.status is not Status.JUDGE_ERROR and s.overall.score is not None)

    @cached_property
    def status(self) -> Status:
        """Best status."""
        all = {summary.status for summary in self.summaries}
        return next(s for s in (Status.GRADED, Status.BUILD_FAILED, Status.JUDGE_ERROR) if s in all)

    @cached_property
    def ranked(self) -> bool:
        """True if every attempt counts in ranks."""
        return all(summary.ranked for summary in self.summaries)

    @cached_property
    def turns(self) -> int:
        """Largest number of replies allowed."""
        return max(summary.turns for summary in self.summaries)

    @property
    def doubts(self) -> tuple[DoubtKind, ...]:
        """Kinds of doubt about any attempt."""
        return tuple(dict.fromkeys(kind for summary in self.summaries for kind in summary.doubts))

    @property
    def integrity(self) -> int:
        """Number of findings about conduct in the sandbox."""
        return sum(summary.integrity for summary in self.summaries)

    @cached_property
    def marks(self) -> tuple[float, ...]:
        """Overalls of the marked attempts."""
        return tuple(s.overall.score for s in self.marked if s.overall.score is not None)

    @cached_property
    def overall(self) -> Score:
        """`mean_score` of the overalls."""
        scores = [s.overall for s in self.marked]
        given = np.array([list_numbers(score) for score in scores], float)

        def find() -> Floats:
            return np.array(list_numbers(mean_score(scores)), float)

        if not scores:
            return mean_score(scores)
        score, low, high, coverage = self.memory.recall(f"mean {self.challenge}/{self.model}", given, find).tolist()
        return Score(score=score, low=low, high=high, coverage=coverage)

    @cached_property
    def dimensions(self) -> Mapping[str, Score]:
        """`mean_score` by dimension."""
        ids = dict.fromkeys(id for summary in self.marked for id in summary.dimensions)
        return {id: mean_score([s.dimensions[id] for s in self.marked if id in s.dimensions]) for id in ids}

    @cached_property
    def deviation(self) -> float | None:
        """Sample standard deviation of the overalls, with n - 1; None below two."""
        return stdev(self.marks) if len(self.marks) > 1 else None

    @property
    def best(self) -> RecordSummary | None:
        """First attempt with the highest overall."""
        return max(self.marked, key=lambda s: s.overall.score or 0.0, default=None)

    @property
    def worst(self) -> RecordSummary | None:
        """First attempt with the lowest overall."""
        return min(self.marked, key=lambda s: s.overall.score or 0.0, default=None)

    @cached_property
    def passed(self) -> int:
        """Number of marked attempts that pass."""
        return sum(map(passes, self.marked))

    @cached_property
    def unanswered(self) -> int:
        """Number of marked attempts without a submission in the reply."""
        return sum(summary.unanswered for summary in self.marked)

    @cached_property
    def unread(self) -> int:
        """Number of attempts whose reply is not read with certainty."""
        return sum(summary.unread for summary in self.summaries)

    def pass_at(self, k: int) -> float:
        """Return `pass_at_k` of these attempts."""
        return pass_at_k(len(self.marked), self.passed, k)

    @cached_property
    def criteria(self) -> tuple[CriterionTally, ...]:
        """Tally of every criterion, in rubric order."""
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
        """Findings of all attempts, once each, by severity and then frequency."""
        counts: dict[tuple[Severity, str], tuple[str, set[str]]] = {}
        for summary in self.summaries:
            for found in summary.findings:
                counts.setdefault((found.severity, found.title), (found.criterion, set()))[1].add(summary.name)
        every = [CommonFault(id, severity, title, len(own)) for (severity, title), (id, own) in counts.items()]
        return tuple(sorted(every, key=lambda fault: (-fault.severity.weight, -fault.attempts)))


MeasuredAnswer = RecordSummary | Attempts
"""Source of a model's mark on a challenge."""


def passes(summary: RecordSummary) -> bool:
    """Return whether an attempt builds and fails no critical criterion."""
    return summary.status is Status.GRADED and not any(result.gates for result in summary.results)


def by_answer(summaries: Iterable[RecordSummary], memory: FigureMemory = NO_MEMORY) -> tuple[MeasuredAnswer, ...]:
    """Group attempts by model and challenge; single submissions stay as they are."""
    groups: dict[tuple[str, str], list[RecordSummary]] = {}
    for summary in summaries:
        name = summary.submission_name
        groups.setdefault((name.challenge, name.model), []).append(summary)
    return tuple(_combine(own, memory) for own in groups.values())


def _combine(own: Sequence[RecordSummary], memory: FigureMemory) -> MeasuredAnswer:
    if len(own) == 1 and own[0].submission_name.attempt is None:
        return own[0]
    return Attempts(tuple(sorted(own, key=lambda summary: summary.submission_name.order)), memory)


def mean_score(scores: Sequence[Score]) -> Score:
    """Return the mean of one mark over attempts, with an interval for unassessed parts and chance.

    The attempts are resampled with replacement. The interval runs from a low percentile of the means of their lowest
    marks to a high one of the means of their highest, and stays within the range of the marks: with two or three
    attempts it is that range and may miss the true mean. Its percentiles are expanded, which corrects for small samples
    (Hesterberg, What teachers should know about the bootstrap, The American Statistician 69, 2015). Attempts without a
    point are left out.
    """
    known = [score for score in scores if score.score is not None]
    if not known:
        return Score(score=None, low=0.0, high=100.0, coverage=0.0)
    point = _mean(score.score for score in known if score.score is not None)
    weights = draw_weights(len(known), DRAWS)
    tail = _compute_tail(len(known))
    low = float(np.quantile(weights @ [score.low for score in known], tail))
    high = float(np.quantile(weights @ [score.high for score in known], 1 - tail))
    coverage = _mean(score.coverage for score in known)
    return Score(score=point, low=min(point, round(low, 6)), high=max(point, round(high, 6)), coverage=coverage)


def _mean(numbers: Iterable[float]) -> float:
    # exact, so that equal means tie
    often = Counter(numbers)
    return float(compute_mean([exact(number) for number in often], [Fraction(n) for n in often.values()]))


def _compute_tail(n: int) -> float:
    """Return the lower tail for n attempts, Phi(-sqrt(n / (n - 1)) t) with Student's t."""
    if n == 1:
        return 0.5
    # imported late: only several attempts need it
    from scipy.special import stdtrit

    student = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
    return NormalDist().cdf(-sqrt(n / (n - 1)) * student)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the probability that k of n attempts, drawn without replacement, include one of the c that pass.

    The unbiased estimator 1 - C(n - c, k) / C(n, k) of Chen et al., Evaluating large language models trained on code,
    arXiv:2107.03374 (2021), section 2.1.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {n} attempts of which {c} pass is not defined")
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))
