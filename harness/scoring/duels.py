"""Duels: two submissions to one challenge compared on what both were assessed on."""

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
from harness.scoring.strength import STABLE, resampled


class HeadToHead(Protocol):
    """Who won between two models on one challenge. A `Duel` is one, and so is a published `Comparison`."""

    @property
    def challenge(self) -> str:
        """On what."""

    @property
    def left(self) -> str:
        """A model."""

    @property
    def right(self) -> str:
        """Another."""

    @property
    def played(self) -> bool:
        """Whether there was anything to compare."""

    @property
    def winner(self) -> str | None:
        """Who won; None for a split."""


NOISE = 2.0
"""A lead up to so many points is a split where both marks were measured."""
REVIEW_NOISE = 6.0
"""The same where the difference rests on reviews: one judge gave the same files marks so far apart."""


MOST_DRAWN = 2000
"""So many vectors of draws, 8 kB each, are at hand while the pairs of a challenge are gone through."""


@dataclass(frozen=True)
class Duel:
    """Two marks on the same criteria of one challenge.

    Attributes:
        challenge: id.
        left, right: models.
        left_mark, right_mark: in whole points; None where nothing was assessed on both.
        criteria: how many both were assessed on.
        noise: a lead up to this is a split.
        attempts: how many of the left and the right one; their marks are means.
        ahead: share of the draws in which the one that leads does so still when the attempts of both are drawn anew.
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

    @property
    def played(self) -> bool:
        """Whether there is anything to compare."""
        return self.left_mark is not None and self.right_mark is not None

    @property
    def lead(self) -> float:
        """Points of the left one over the right one."""
        return (self.left_mark or 0.0) - (self.right_mark or 0.0)

    @cached_property
    def winner(self) -> str | None:
        """Who leads by more than the noise, and would with other draws; None for a split, or where none was played."""
        if not self.played or abs(self.lead) <= self.noise or self.ahead < STABLE:
            return None
        return self.left if self.lead > 0 else self.right


@dataclass(frozen=True)
class RoundRobin:
    """Every two models on one challenge.

    Two models are compared on what both were assessed on in every attempt. Most were assessed on the same criteria, so
    marks are kept by sets of criteria and not by models.

    Attributes:
        challenge: id.
        answered: the model of each answer, sorted: one with several attempts is named as often.
        compared: the sets of criteria that models were assessed on in every attempt, each once.
        own: place in `compared` of the set of each model.
        marks: (answers, sets) int16, the whole points of the answer on what its model's set and the other share; -1
            where that is nothing.
        known: (models, models), `Duel.ahead` where it was found before, NaN elsewhere; None where nothing was.
    """

    challenge: str
    answered: tuple[str, ...]
    compared: tuple[frozenset[str], ...]
    own: tuple[int, ...]
    marks: NDArray[np.int16]
    known: NDArray[np.float64] | None = None

    @classmethod
    def of_bytes(cls, challenge: str, text: bytes) -> Self:
        """What `to_bytes` wrote."""
        line, _, rest = text.partition(b"\n")
        head = json.loads(line)
        answered = tuple(model for model, count in head["answers"] for _ in range(count))
        size = len(answered) * len(head["compared"]) * np.dtype(np.int16).itemsize
        return cls(
            challenge, answered, tuple(map(frozenset, head["compared"])), tuple(head["own"]),
            np.frombuffer(rest[:size], np.int16).reshape(len(answered), -1),
            np.frombuffer(rest[size:]).reshape(len(head["own"]), -1),
        )  # fmt: skip

    def to_bytes(self) -> bytes:
        """All of it, with how often who is ahead."""
        answers = list(zip(self.models, self._attempts.tolist(), strict=True))
        head = {"answers": answers, "compared": [sorted(ids) for ids in self.compared], "own": self.own}
        return json.dumps(head).encode() + b"\n" + self.marks.tobytes() + self._ahead.tobytes()

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Who answered, sorted."""
        return tuple(dict.fromkeys(self.answered))

    def duels(self) -> Iterator[Duel]:
        """Each pair once, by the models' names."""
        marks = [[None if mark < 0 else mark for mark in row] for row in self._means.tolist()]
        criteria, ahead, attempts = self.criteria.tolist(), self._ahead.tolist(), self._attempts.tolist()
        for i, j in combinations(range(len(self.models)), 2):
            yield Duel(
                self.challenge, self.models[i], self.models[j], marks[i][j], marks[j][i], criteria[i][j],
                attempts=(attempts[i], attempts[j]), ahead=ahead[i][j],
            )  # fmt: skip

    def wins(self) -> NDArray[np.float64]:
        """(models, models): 1 where the row's model beat the column's, half for a split, 0 where nothing was played."""
        lead = self._means - self._means.T
        split = (np.abs(lead) <= NOISE) | (self._ahead < STABLE)
        shares = np.where(split, 0.5, (lead > 0).astype(float))
        played = (self._means >= 0) & (self._means.T >= 0) & ~np.eye(len(self.models), dtype=bool)
        return np.where(played, shares, 0.0)

    @cached_property
    def criteria(self) -> NDArray[np.int64]:
        """(models, models): how many both were assessed on in every attempt."""
        sizes = np.array([[len(one & other) for other in self.compared] for one in self.compared], int)
        return sizes[np.ix_(self.own, self.own)] if self.own else np.zeros((0, 0), int)

    @cached_property
    def shared(self) -> Mapping[str, frozenset[str]]:
        """What each model was assessed on in every attempt."""
        return {model: self.compared[place] for model, place in zip(self.models, self.own, strict=True)}

    @cached_property
    def answers(self) -> Mapping[str, slice]:
        """Where the answers of each are in `marks`."""
        ends = np.cumsum(self._attempts).tolist()
        return {m: slice(end - n, end) for m, n, end in zip(self.models, self._attempts.tolist(), ends, strict=True)}

    @cached_property
    def _attempts(self) -> NDArray[np.int64]:
        """(models,): how many answers each has."""
        return np.array([*Counter(self.answered).values()], int)

    @cached_property
    def _means(self) -> NDArray[np.float64]:
        """(models, models): mean marks of the row's model on what both were assessed on; -1 where that is nothing."""
        if not self.models:
            return np.zeros((0, 0))
        begins = np.cumsum(self._attempts) - self._attempts
        sums = np.add.reduceat(self.marks.astype(float), begins, axis=0)
        # rounded, so that means of the same marks in another order are equal
        return np.round(sums / self._attempts[:, None], 9)[:, self.own]

    @cached_property
    def _ahead(self) -> NDArray[np.float64]:
        """(models, models): `Duel.ahead`; 1 where nothing can be drawn anew or the lead is noise."""
        lead, several = self._means - self._means.T, self._attempts > 1
        asked = (several[:, None] | several) & (self._means >= 0) & (np.abs(lead) > NOISE)
        shares = np.ones(lead.shape)
        if self.known is not None:
            shares = np.where(np.isnan(self.known), 1.0, self.known)
            asked &= np.isnan(self.known)
        drawn = lru_cache(MOST_DRAWN)(self._drawn)
        for i, j in np.argwhere(np.triu(asked, 1)).tolist():
            one, other = drawn(i, self.own[j], 0), drawn(j, self.own[i], 1)
            shares[i, j] = shares[j, i] = one.share_above(other) if lead[i, j] > 0 else other.share_above(one)
        return shares

    def _drawn(self, model: int, against: int, stream: int) -> "_DrawnMarks":
        """Those of a model against models with a set of criteria."""
        own = self.marks[self.answers[self.models[model]], against].astype(float)
        marks = np.round(resampled(len(own), stream=stream) @ own, 9)
        return _DrawnMarks(marks, float(marks.min()), float(marks.max()))


class _DrawnMarks(NamedTuple):
    """(draws,): mean marks when attempts are drawn anew, with the least and the largest."""

    marks: NDArray[np.float64]
    least: float
    largest: float

    def share_above(self, other: "_DrawnMarks") -> float:
        """Share of the draws in which these lie above the other's, ties as half of one."""
        if self.least > other.largest:  # of most pairs, and much quicker to see
            return 1.0
        return float((self.marks > other.marks).mean() + 0.5 * (self.marks == other.marks).mean())


class Duels(Sequence[Duel]):
    """Every two models on every challenge, by challenge and then by the models' names; made once asked for.

    Args:
        rounds: one for each challenge.
        models: whose duels are left; those of all without it.
    """

    def __init__(self, rounds: Iterable[RoundRobin] = (), models: Collection[str] | None = None) -> None:
        self._rounds = tuple(rounds)
        self._models = models

    def among(self, models: Collection[str], challenges: Collection[str]) -> Self:
        """Only those between these models on these challenges."""
        known = models if self._models is None else {model for model in models if model in self._models}
        return type(self)((each for each in self._rounds if each.challenge in challenges), known)

    def _known(self, model: str) -> bool:
        return self._models is None or model in self._models

    @cached_property
    def _all(self) -> tuple[Duel, ...]:
        every = (duel for each in self._rounds for duel in each.duels())
        return tuple(duel for duel in every if self._known(duel.left) and self._known(duel.right))

    def __len__(self) -> int:
        return sum(math.comb(sum(map(self._known, each.models)), 2) for each in self._rounds)

    @overload
    def __getitem__(self, place: int) -> Duel: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Duel, ...]: ...
    def __getitem__(self, place: int | slice) -> Duel | tuple[Duel, ...]:
        return self._all[place]

    def __iter__(self) -> Iterator[Duel]:
        return iter(self._all)

    def wins(self, models: Sequence[str]) -> NDArray[np.float64]:
        """The same as `win_table`, without making a duel."""
        place = {model: number for number, model in enumerate(models)}
        wins = np.zeros((len(models), len(models)))
        for each in self._rounds:
            known = [number for number, model in enumerate(each.models) if model in place and self._known(model)]
            at = [place[each.models[number]] for number in known]
            wins[np.ix_(at, at)] += each.wins()[np.ix_(known, known)]
        return wins


def duel(challenge: Challenge, left: Record, right: Record) -> Duel:
    """Compare two records of one challenge, each marked again on the criteria that both were assessed on.

    Gates apply as far as the criteria behind them are among these; a submission that does not build keeps its own.
    """
    return attempts_duel(challenge, [left], [right])


def attempts_duel(challenge: Challenge, left: Sequence[Record], right: Sequence[Record]) -> Duel:
    """Compare the attempts of two models: the means of their marks on the criteria that all were assessed on.

    Attempts that the harness failed to grade are left out.

    Args:
        challenge: the rubric.
        left, right: the records of each model.
    """
    graded = [[r for r in side if r.status is not Status.JUDGE_ERROR] or side[:1] for side in (left, right)]
    summaries = [_summary(record, number) for number, side in enumerate(graded) for record in side]
    (found,) = round_robin(challenge, summaries).duels()
    return replace(found, left=left[0].model, right=right[0].model)


def _summary(record: Record, side: int) -> RecordSummary:
    """A record under the name of its side: sides keep their order, whatever the models are called."""
    return replace(RecordSummary.of(record), submission_name=replace(record.submission_name, model=str(side)))


def round_robin(
    challenge: Challenge, ordered: Sequence[RecordSummary], before: RoundRobin | None = None,
    unchanged: Collection[str] = (),
) -> RoundRobin:  # fmt: skip
    """Every two of the models with these records of one challenge.

    Args:
        challenge: the rubric.
        ordered: the records, sorted by model.
        before: an earlier round by the same rubric.
        unchanged: models whose records are those of then; what was found between them is not found again.
    """
    own: dict[str, list[RecordSummary]] = {}
    for summary in ordered:
        own.setdefault(summary.model, []).append(summary)
    rubric = RubricColumns(challenge)
    # laid out once it is needed: the records of an unchanged model are not read where the sets are known
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
        challenge.id, tuple(s.model for s in ordered), compared, tuple(compared.index(ids) for ids in shared.values()),
        np.concatenate(blocks), _known_ahead(tuple(own), before, unchanged),
    )  # fmt: skip


def _known_ahead(
    models: Sequence[str], before: RoundRobin | None, unchanged: Collection[str]
) -> NDArray[np.float64] | None:
    """(models, models): `Duel.ahead` of pairs in which neither changed, NaN for others; None without a round before."""
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
    """Every pair of models on every challenge both have a grade on; baselines fight none.

    Args:
        challenges: the rubrics, in any order.
        summaries: of records, in any order; those of other challenges are passed over.
        play: makes the round of one challenge.
    """
    by_challenge: dict[str, list[RecordSummary]] = {}
    for summary in sorted(summaries, key=lambda s: s.submission_name.order):
        if summary.status is not Status.JUDGE_ERROR and summary.provenance is not Provenance.BASELINE:
            by_challenge.setdefault(summary.challenge, []).append(summary)
    rubrics = sorted((c for c in challenges if c.id in by_challenge), key=lambda c: c.id)
    return Duels(play(rubric, by_challenge[rubric.id]) for rubric in rubrics)


def win_table(models: Sequence[str], head_to_heads: Iterable[HeadToHead]) -> NDArray[np.float64]:
    """(models, models): times the one of the row beat the one of the column, half for each side of a split."""
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
    """Challenges won by the left and the right model; a split is half for each."""
    played = [f for f in results if f.played]
    halves = 0.5 * sum(f.winner is None for f in played)
    return (
        sum(f.winner == left for f in played) + halves,
        sum(f.winner == right for f in played) + halves,
    )
