"""Comparisons of two submissions on the criteria assessed for both."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from itertools import combinations
from typing import NamedTuple, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from harness.model import Challenge, Provenance, Record, Status
from harness.scoring.assessed import AssessedAttempts, RubricColumns
from harness.scoring.record_summary import RecordSummary
from harness.scoring.strength import STABLE, draw_weights


class HeadToHead(Protocol):
    """Result between two models on one challenge."""

    @property
    def challenge(self) -> str:
        """Challenge id."""

    @property
    def left(self) -> str:
        """Id of one model."""

    @property
    def right(self) -> str:
        """Id of the other."""

    @property
    def played(self) -> bool:
        """True if there was anything to compare."""

    @property
    def winner(self) -> str | None:
        """Id of the winner; None for a split."""


NOISE = 2.0
"""Largest lead, in points, that is a split between measured marks."""
MOST_DRAWN = 2000
"""Cached vectors of draws, 8 kB each, for the pairs of a challenge."""


@dataclass(frozen=True)
class Duel:
    """Two marks on the same criteria of one challenge.

    Attributes:
        left_mark, right_mark: whole points, or means of attempts; None without common criteria.
        criteria: number of common criteria.
        noise: largest lead that is a split.
        ahead: share of draws of the attempts in which the leader leads.
        missed: critical criteria that only the leader misses where the other was not assessed; they refuse a win.
    """

    challenge: str
    left: str
    right: str
    left_mark: float | None
    right_mark: float | None
    criteria: int
    noise: float = NOISE
    attempts: tuple[int, int] = (1, 1)
    ahead: float = 1.0
    missed: frozenset[str] = frozenset()

    @property
    def played(self) -> bool:
        """True with common criteria."""
        return self.left_mark is not None and self.right_mark is not None

    @property
    def lead(self) -> float:
        """Lead of the left one in points."""
        return (self.left_mark or 0.0) - (self.right_mark or 0.0)

    @cached_property
    def winner(self) -> str | None:
        """Model with a lead above the noise in enough draws, and no critical failure aside; None for a split."""
        if not self.played or abs(self.lead) <= self.noise or self.ahead < STABLE or self.missed:
            return None
        return self.left if self.lead > 0 else self.right


@dataclass(frozen=True)
class RoundRobin:
    """Duels of all pairs of models on one challenge, with marks by set of criteria, as most models share theirs.

    Attributes:
        answered: model of each submission, sorted.
        compared: distinct sets of criteria assessed in every attempt of a model.
        own: index in `compared` of each model's set.
        marks: (submissions, sets) int16, whole points on the criteria common to both sets; -1 without any.
        missed: critical criteria that each model misses; see `AssessedAttempts.missed`.
        known: (models, models), earlier values of `Duel.ahead`, NaN for others.
    """

    challenge: str
    answered: tuple[str, ...]
    compared: tuple[frozenset[str], ...]
    own: tuple[int, ...]
    marks: NDArray[np.int16]
    missed: tuple[frozenset[str], ...]
    known: NDArray[np.float64] | None = None

    @classmethod
    def of_bytes(cls, challenge: str, text: bytes) -> Self:
        """Restore a round from `to_bytes`."""
        line, _, rest = text.partition(b"\n")
        head = json.loads(line)
        answered = tuple(model for model, count in head["answers"] for _ in range(count))
        size = len(answered) * len(head["compared"]) * np.dtype(np.int16).itemsize
        compared, own = tuple(map(frozenset, head["compared"])), tuple(head["own"])
        marks = np.frombuffer(rest[:size], np.int16).reshape(len(answered), -1)
        known = np.frombuffer(rest[size:]).reshape(len(own), -1)
        return cls(challenge, answered, compared, own, marks, tuple(map(frozenset, head["missed"])), known)

    def to_bytes(self) -> bytes:
        """Return the round as bytes, with all values of `Duel.ahead`."""
        answers = list(zip(self.models, self._attempts.tolist(), strict=True))
        compared, missed = ([sorted(ids) for ids in each] for each in (self.compared, self.missed))
        head = {"answers": answers, "compared": compared, "own": self.own, "missed": missed}
        return json.dumps(head).encode() + b"\n" + self.marks.tobytes() + self._ahead.tobytes()

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Models, sorted."""
        return tuple(dict.fromkeys(self.answered))

    def duels(self) -> Iterator[Duel]:
        """Yield each pair once, by name."""
        marks = [[None if mark < 0 else mark for mark in row] for row in self._means.tolist()]
        criteria, ahead, attempts = self.criteria.tolist(), self._ahead.tolist(), self._attempts.tolist()
        for i, j in combinations(range(len(self.models)), 2):
            yield Duel(
                self.challenge,
                self.models[i],
                self.models[j],
                marks[i][j],
                marks[j][i],
                criteria[i][j],
                attempts=(attempts[i], attempts[j]),
                ahead=ahead[i][j],
                missed=self._find_missed(i, j) if marks[i][j] != marks[j][i] else frozenset(),
            )

    def wins(self) -> NDArray[np.float64]:
        """Return (models, models): 1 for a win of the row's model, 0.5 for a split, 0 if unplayed."""
        lead = self._means - self._means.T
        split = (np.abs(lead) <= NOISE) | (self._ahead < STABLE)
        for i, j in combinations(range(len(self.models)), 2) if any(self.missed) else ():
            split[i, j] = split[j, i] = split[i, j] or bool(self._find_missed(i, j))
        shares = np.where(split, 0.5, (lead > 0).astype(float))
        played = (self._means >= 0) & (self._means.T >= 0) & ~np.eye(len(self.models), dtype=bool)
        return np.where(played, shares, 0.0)

    def _find_missed(self, one: int, other: int) -> frozenset[str]:
        """Return the critical criteria that only the leader of a pair misses outside the comparison."""
        leader, behind = (one, other) if self._means[one, other] > self._means[other, one] else (other, one)
        if self.missed[behind] - self.compared[self.own[leader]]:
            return frozenset()
        return self.missed[leader] - self.compared[self.own[behind]]

    @cached_property
    def criteria(self) -> NDArray[np.int64]:
        """(models, models), number of common criteria."""
        sizes = np.array([[len(one & other) for other in self.compared] for one in self.compared], int)
        return sizes[np.ix_(self.own, self.own)] if self.own else np.zeros((0, 0), int)

    @cached_property
    def shared(self) -> Mapping[str, frozenset[str]]:
        """Criteria assessed in every attempt of each model."""
        return {model: self.compared[place] for model, place in zip(self.models, self.own, strict=True)}

    @cached_property
    def answers(self) -> Mapping[str, slice]:
        """Slice of each model's submissions in `marks`."""
        ends = np.cumsum(self._attempts).tolist()
        return {m: slice(end - n, end) for m, n, end in zip(self.models, self._attempts.tolist(), ends, strict=True)}

    @cached_property
    def _attempts(self) -> NDArray[np.int64]:
        return np.array([*Counter(self.answered).values()], int)

    @cached_property
    def _means(self) -> NDArray[np.float64]:
        """(models, models), the row's mean marks on the common criteria; -1 without any."""
        if not self.models:
            return np.zeros((0, 0))
        begins = np.cumsum(self._attempts) - self._attempts
        means = np.add.reduceat(self.marks.astype(float), begins, axis=0) / self._attempts[:, None]
        return np.round(means, 9)[:, self.own]  # so that means of the same marks in another order are equal

    @cached_property
    def _ahead(self) -> NDArray[np.float64]:
        """(models, models), `Duel.ahead`; 1 without several attempts, or if the lead is noise."""
        lead, several = self._means - self._means.T, self._attempts > 1
        asked = (several[:, None] | several) & (self._means >= 0) & (np.abs(lead) > NOISE)
        shares = np.ones(lead.shape)
        if self.known is not None:
            shares = np.where(np.isnan(self.known), 1.0, self.known)
            asked &= np.isnan(self.known)
        drawn = lru_cache(MOST_DRAWN)(self._draw)
        for i, j in np.argwhere(np.triu(asked, 1)).tolist():
            one, other = drawn(i, self.own[j], 0), drawn(j, self.own[i], 1)
            shares[i, j] = shares[j, i] = one.share_above(other) if lead[i, j] > 0 else other.share_above(one)
        return shares

    def _draw(self, model: int, against: int, stream: int) -> "_DrawnMarks":
        own = self.marks[self.answers[self.models[model]], against].astype(float)
        marks = np.round(draw_weights(len(own), stream=stream) @ own, 9)
        return _DrawnMarks(marks, float(marks.min()), float(marks.max()))


class _DrawnMarks(NamedTuple):
    """(draws,) resampled mean marks, with minimum and maximum."""

    marks: NDArray[np.float64]
    least: float
    largest: float

    def share_above(self, other: "_DrawnMarks") -> float:
        """Return the share of draws with higher marks; ties count half."""
        if self.least > other.largest:  # true of most pairs, and much cheaper
            return 1.0
        return float((self.marks > other.marks).mean() + 0.5 * (self.marks == other.marks).mean())


class Duels(Sequence[Duel]):
    """Duels of all pairs, by challenge and names; computed on first use.

    Args:
        models: models to keep; all by default.
    """

    def __init__(self, rounds: Iterable[RoundRobin] = (), models: Collection[str] | None = None) -> None:
        self._rounds = tuple(rounds)
        self._models = models

    def among(self, models: Collection[str], challenges: Collection[str]) -> Self:
        """Return the duels between these models on these challenges."""
        known = models if self._models is None else {model for model in models if model in self._models}
        return type(self)((each for each in self._rounds if each.challenge in challenges), known)

    def _knows(self, model: str) -> bool:
        return self._models is None or model in self._models

    @cached_property
    def _all(self) -> tuple[Duel, ...]:
        every = (duel for each in self._rounds for duel in each.duels())
        return tuple(duel for duel in every if self._knows(duel.left) and self._knows(duel.right))

    def __len__(self) -> int:
        return sum(math.comb(sum(map(self._knows, each.models)), 2) for each in self._rounds)

    @overload
    def __getitem__(self, place: int) -> Duel: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Duel, ...]: ...
    def __getitem__(self, place: int | slice) -> Duel | tuple[Duel, ...]:
        return self._all[place]

    def __iter__(self) -> Iterator[Duel]:
        return iter(self._all)

    def wins(self, models: Sequence[str]) -> NDArray[np.float64]:
        """Return `win_table` without constructing the duels."""
        place = {model: number for number, model in enumerate(models)}
        wins = np.zeros((len(models), len(models)))
        for each in self._rounds:
            known = [number for number, model in enumerate(each.models) if model in place and self._knows(model)]
            at = [place[each.models[number]] for number in known]
            wins[np.ix_(at, at)] += each.wins()[np.ix_(known, known)]
        return wins


def duel(challenge: Challenge, left: Record, right: Record) -> Duel:
    """Compare two records of one challenge on the criteria assessed for both.

    Gates apply if the criteria behind them are among these; that of a failed build always does.
    """
    return attempts_duel(challenge, [left], [right])


def attempts_duel(challenge: Challenge, left: Sequence[Record], right: Sequence[Record]) -> Duel:
    """Compare the attempts of two models by their mean marks on the criteria assessed in all.

    Attempts that the harness failed to grade are left out.
    """
    graded = [[r for r in side if r.status is not Status.JUDGE_ERROR] or side[:1] for side in (left, right)]
    summaries = [_summarize_side(record, number) for number, side in enumerate(graded) for record in side]
    (found,) = round_robin(challenge, summaries).duels()
    return replace(found, left=left[0].model, right=right[0].model)


def _summarize_side(record: Record, side: int) -> RecordSummary:
    # the side's index as the model's name keeps the sides in order
    return replace(RecordSummary.of(record), submission_name=replace(record.submission_name, model=str(side)))


def round_robin(
    challenge: Challenge,
    ordered: Sequence[RecordSummary],
    before: RoundRobin | None = None,
    unchanged: Collection[str] = (),
) -> RoundRobin:
    """Compare all pairs of models with these records of one challenge.

    Args:
        ordered: records sorted by model.
        before: earlier round by the same rubric.
        unchanged: models with the same records as then.
    """
    own: dict[str, list[RecordSummary]] = {}
    for summary in ordered:
        own.setdefault(summary.model, []).append(summary)
    rubric = RubricColumns(challenge)
    # laid out on demand: records of an unchanged model are not read if all its sets are known
    laid_out = {model: cache(partial(AssessedAttempts, rubric, records)) for model, records in own.items()}
    shared = {
        model: before.shared[model] if before and model in unchanged else laid_out[model]().criteria for model in own
    }
    compared = tuple(sorted({*shared.values()}, key=sorted))
    blocks = []
    for model, records in own.items():
        block = np.empty((len(records), len(compared)), np.int16)
        for number, ids in enumerate(compared):
            if before and model in unchanged and ids in before.compared:
                block[:, number] = before.marks[before.answers[model], before.compared.index(ids)]
            else:
                block[:, number] = laid_out[model]().marks(shared[model] & ids)
        blocks.append(block)
    return RoundRobin(
        challenge.id,
        tuple(s.model for s in ordered),
        compared,
        tuple(compared.index(ids) for ids in shared.values()),
        np.concatenate(blocks),
        tuple(
            before.missed[before.models.index(model)] if before and model in unchanged else laid_out[model]().missed
            for model in own
        ),
        _reuse_ahead(tuple(own), before, unchanged),
    )


def _reuse_ahead(
    models: Sequence[str], before: RoundRobin | None, unchanged: Collection[str]
) -> NDArray[np.float64] | None:
    """Return (models, models), earlier `Duel.ahead` of unchanged pairs, NaN for others; None without `before`."""
    if before is None:
        return None
    known = np.full((len(models), len(models)), np.nan)
    here = [number for number, model in enumerate(models) if model in unchanged]
    there = [before.models.index(models[number]) for number in here]
    known[np.ix_(here, here)] = before._ahead[np.ix_(there, there)]
    return known


def duels(
    challenges: Iterable[Challenge],
    summaries: Iterable[RecordSummary],
    play: Callable[[Challenge, Sequence[RecordSummary]], RoundRobin] = round_robin,
) -> Duels:
    """Return the duels of every two models on every challenge with grades of both, without baselines."""
    by_challenge: dict[str, list[RecordSummary]] = {}
    for summary in sorted(summaries, key=lambda s: s.submission_name.order):
        if summary.status is not Status.JUDGE_ERROR and summary.provenance is not Provenance.BASELINE:
            by_challenge.setdefault(summary.challenge, []).append(summary)
    rubrics = sorted((c for c in challenges if c.id in by_challenge), key=lambda c: c.id)
    return Duels(play(rubric, by_challenge[rubric.id]) for rubric in rubrics)


def win_table(models: Sequence[str], head_to_heads: Iterable[HeadToHead]) -> NDArray[np.float64]:
    """Return (models, models), wins of the row's model over the column's; a split counts half for each."""
    if isinstance(head_to_heads, Duels):
        return head_to_heads.wins(models)
    place = {model: number for number, model in enumerate(models)}
    wins = np.zeros((len(models), len(models)))
    for one in head_to_heads:
        if one.played and one.left in place and one.right in place:
            left, right = place[one.left], place[one.right]
            share = 0.5 if one.winner is None else float(one.winner == one.left)
            wins[left, right] += share
            wins[right, left] += 1.0 - share
    return wins


def tally(left: str, right: str, results: Iterable[HeadToHead]) -> tuple[float, float]:
    """Return the challenges won by left and right; a split counts half for each."""
    played = [f for f in results if f.played]
    halves = 0.5 * sum(f.winner is None for f in played)
    return (sum(f.winner == left for f in played) + halves, sum(f.winner == right for f in played) + halves)
