"""Order of models on a scoreboard by the mean of their overalls, and its certainty.

A model has a medal to itself if the order survives resampling of challenges and attempts; models that are not clearly
behind its best share it. A provisional place moves no other model. Models asked in several turns, with feedback, are
ranked among themselves, as a first reply does not compare with a corrected one.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from harness.model import Provenance, Status
from harness.numerics.rounding import exact
from harness.scoring.attempts import Attempts
from harness.scoring.duels import HeadToHead, win_table
from harness.scoring.marked import Marked
from harness.scoring.memory import NO_MEMORY, FigureMemory
from harness.scoring.strength import STABLE, AttemptMarks, ahead, draw_means, elo, rank_chances, strengths

MEDAL_COVERAGE = 0.7
LEAST_COVERAGE = 0.5
"""Coverage below which most models' marks void a challenge for ranks, as the rest could reverse them."""
MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
APART = "\N{DAGGER}"
"""Suffix of the place of a model asked in several turns."""


@dataclass(frozen=True)
class Standing:
    """Place of one model.

    Attributes:
        mean: 0 to 100; None without any overall.
        coverage: mean coverage of the overalls.
        graded: number of challenges with an overall.
        of: number of challenges.
        rank: 1 is best, equal means share one.
        note: reason for a missing rank or medal, or a shared one.
        provisional: rank by the challenges it has, if it lacks some.
        wins: duels won against ranked models, a split counting half.
        duels: number of those duels.
        strength: strength by those on the Elo scale.
        chances: share of draws by rank, best first.
        turns: most replies allowed on a challenge.
    """

    model: str
    provenance: tuple[Provenance, ...]
    mean: float | None
    coverage: float
    graded: int
    of: int
    rank: int | None = None
    medal: str | None = None
    note: str = ""
    provisional: int | None = None
    missing: tuple[str, ...] = ()
    wins: float = 0.0
    duels: int = 0
    strength: float | None = None
    chances: tuple[float, ...] = ()
    turns: int = 1

    @property
    def apart(self) -> bool:
        """True if asked in several turns."""
        return self.turns > 1

    @property
    def place(self) -> str:
        """Rank for display: in brackets if provisional, marked if apart, empty if missing."""
        mark = APART if self.apart else ""
        if self.rank is not None:
            return f"{self.rank}{mark}"
        return "" if self.provisional is None else f"({self.provisional}){mark}"


def standings(
    marked: Iterable[Marked],
    challenges: Sequence[str],
    head_to_heads: Iterable[HeadToHead] = (),
    memory: FigureMemory = NO_MEMORY,
) -> tuple[Standing, ...]:
    """Rank all models: the ranked best first, then the unranked, baselines last; equal means by name.

    Unranked are baselines, models with a grade that does not count (a seed chosen by hand, or a part of the probes),
    and models without an overall on every challenge, whose place is provisional. If every model lacks one, all places
    are provisional, by the challenges that many have in common.

    Args:
        marked: marks; those on other challenges only add their model.
        head_to_heads: duels on these challenges.
    """
    by_model: dict[str, list[Marked]] = {}
    for one in marked:
        by_model.setdefault(one.model, []).append(one)
    rows = [_Row(model, by_model[model], challenges) for model in sorted(by_model)]
    duels = head_to_heads if isinstance(head_to_heads, Sequence) else list(head_to_heads)
    groups = ([row for row in rows if (row.turns > 1) is apart] for apart in (False, True))
    return tuple(chain.from_iterable(_rank(group, challenges, duels, memory) for group in groups))


def _rank(
    rows: list["_Row"], challenges: Sequence[str], head_to_heads: Sequence[HeadToHead], memory: FigureMemory
) -> tuple[Standing, ...]:
    means = sorted(row.mean for row in rows if row.mean is not None and not row.unranked)
    provisional = _place_provisionally(rows)
    last = len(rows) + 1
    rows.sort(
        key=lambda row: (
            row.baseline,
            bool(row.unranked),
            provisional.get(row.model, last),
            -(row.mean if row.mean is not None else -1),
        )
    )
    places = [row.standing(means, provisional.get(row.model)) for row in rows]
    marks = np.array([row.by_challenge(challenges) for row in rows[: len(means)]]).reshape(len(means), len(challenges))
    attempts = [own for number, row in enumerate(rows[: len(means)]) for own in row.attempts(number, challenges)]
    drawn = draw_means(marks, attempts, memory=memory)
    return (*_add_certainty(places[: len(means)], drawn, head_to_heads), *places[len(means) :])


def find_largest_table(marked: Iterable[Marked]) -> tuple[str, ...]:
    """Return the challenges of the largest complete table of models and overalls, sorted.

    The table has the most marks, then the most models; its challenges are those of one model, or those common to all
    models with a given challenge. So one more challenge, or a model with few marks, leaves a large table as it is.
    Baselines, grades that do not count, and multi-turn submissions decide only without others.
    """
    every = list(marked)
    every = [m for m in every if m.turns == 1] or every
    with_marks = [m for m in every if _has_mark(m)]
    counting = [m for m in with_marks if m.ranked and m.provenance is not Provenance.BASELINE]
    answered: dict[str, set[str]] = {}
    for one in counting or with_marks or every:
        answered.setdefault(one.model, set()).add(one.challenge)
    own = Counter(frozenset(ids) for ids in answered.values())
    together = (frozenset.intersection(*(ids for ids in own if id in ids)) for id in {*chain(*own)})
    models = {ids: sum(count for other, count in own.items() if other >= ids) for ids in {*own, *together}}
    best = min(models, key=lambda ids: (-models[ids] * len(ids), -models[ids], sorted(ids)), default=frozenset[str]())
    return tuple(sorted(best))


def list_thin_challenges(marked: Iterable[Marked]) -> frozenset[str]:
    """Return challenges left out of ranks: most marked models have less than half of the rubric assessed.

    Otherwise a model could gain a place by what was not assessed. Baselines and grades that do not count decide only
    without others.
    """
    with_marks = [m for m in marked if _has_mark(m)]
    counting = [m for m in with_marks if m.ranked and m.provenance is not Provenance.BASELINE]
    thin: Counter[str] = Counter()
    for one in counting or with_marks:
        thin[one.challenge] += 1 if one.overall.coverage < LEAST_COVERAGE else -1
    return frozenset(id for id, balance in thin.items() if balance > 0)


def _place_provisionally(rows: Iterable["_Row"]) -> dict[str, int]:
    rows = list(rows)
    sparse = [row for row in rows if row.sparse]
    whole = [row for row in rows if not row.unranked]
    compared = {id for row in whole for id in row.marks}
    if not whole:
        compared = {*find_largest_table(m for row in sparse for m in row.records)}
        whole = [row for row in sparse if row.marks.keys() >= compared]
    means: dict[frozenset[str], list[Fraction]] = {}
    places = {}
    for row in sparse:
        if shared := compared & row.marks.keys():
            key = frozenset(shared)
            if key not in means:
                means[key] = sorted(_mean(other.marks, key) for other in whole)
            places[row.model] = 1 + len(means[key]) - bisect_right(means[key], _mean(row.marks, key))
    return places


def _has_mark(marked: Marked) -> bool:
    return marked.status is not Status.JUDGE_ERROR and marked.overall.score is not None


def _mean(marks: Mapping[str, float], challenges: Iterable[str]) -> Fraction:
    own = [exact(marks[id]) for id in challenges]
    return sum(own, Fraction(0)) / len(own)


def _add_certainty(
    places: Sequence[Standing], means: NDArray[np.float64], head_to_heads: Iterable[HeadToHead]
) -> Iterator[Standing]:
    """Yield the standings with the certainty of their order from (models, draws) means."""
    if not places:
        return
    wins = win_table([place.model for place in places], head_to_heads)
    power = strengths(wins)
    chances = rank_chances(means)
    groups = _group_alike(means)
    for number, place in enumerate(places):
        played = round(float((wins[number] + wins[:, number]).sum()))
        known = replace(
            place,
            wins=float(wins[number].sum()),
            duels=played,
            chances=tuple(chances[number].tolist()),
            strength=round(float(elo(power[number])), 1) if played else None,
        )
        shared = groups.count(groups[number]) > 1
        yield _share_medal(known, MEDALS.get(places[groups[number]].rank or 0)) if shared else known


def _group_alike(means: NDArray[np.float64]) -> list[int]:
    """Return for each model, best first, the first model indistinguishable from it, or itself."""
    first, lead = 0, ahead(means, 0)
    groups = []
    for number in range(len(means)):
        if lead[number] >= STABLE:
            first, lead = number, ahead(means, number)
        groups.append(first)
    return groups


def _share_medal(place: Standing, medal: str | None) -> Standing:
    if place.coverage < MEDAL_COVERAGE or medal is None:
        return place
    return replace(place, medal=medal, note="shares its medal: the order turns when the challenges are drawn anew")


class _Row:
    def __init__(self, model: str, records: Sequence[Marked], challenges: Sequence[str]) -> None:
        self.model = model
        self.records = [r for r in records if r.challenge in challenges]
        self.of = len(challenges)
        self.provenance = tuple(sorted({r.provenance for r in records}))
        self.baseline = Provenance.BASELINE in self.provenance
        self.turns = max((r.turns for r in self.records), default=1)
        marks = [r.overall for r in self.records if _has_mark(r)]
        self.graded = len(marks)
        total = sum((exact(m.score) for m in marks if m.score is not None), Fraction(0))
        self.mean = total / self.graded if marks else None
        self.coverage = float(sum((exact(m.coverage) for m in marks), Fraction(0)) / self.graded) if marks else 0.0
        self.marks = {r.challenge: r.overall.score or 0.0 for r in self.records if _has_mark(r)}
        self._several = {r.challenge: r.marks for r in self.records if isinstance(r, Attempts) and len(r.marks) > 1}
        self.missing = tuple(id for id in challenges if id not in self.marks)
        counts = all(r.ranked for r in self.records)
        self.sparse = counts and not self.baseline and bool(self.missing)
        self.unranked = self._explain_missing_rank(counts)

    def _explain_missing_rank(self, counts: bool) -> str:
        if self.baseline:
            return "baseline, not ranked"
        if not counts:
            return "not ranked: seed chosen by hand, or only a part of the probes ran"
        lacks = f"graded on {self.graded} of {self.of} challenges, not on {', '.join(self.missing)}"
        return lacks if self.missing else ""

    def by_challenge(self, challenges: Sequence[str]) -> list[float]:
        return [self.marks[id] for id in challenges]

    def attempts(self, number: int, challenges: Sequence[str]) -> Iterator[AttemptMarks]:
        for column, id in enumerate(challenges):
            if id in self._several:
                yield AttemptMarks(number, column, self._several[id], crc32(f"{self.model}/{id}".encode()))

    def standing(self, means: Sequence[Fraction], provisional: int | None) -> Standing:
        rank, medal, note = None, None, self.unranked
        if self.sparse:
            note = f"{'not ranked' if provisional is None else 'provisional'}: {note}"
        if self.mean is not None and not note:
            rank = 1 + len(means) - bisect_right(means, self.mean)
            covered = self.coverage >= MEDAL_COVERAGE
            medal = MEDALS.get(rank) if covered and len(means) > 1 else None
            note = (
                ""
                if covered or rank not in MEDALS
                else f"no medal: less than {MEDAL_COVERAGE:.0%} of the rubric was assessed"
            )
        mean = None if self.mean is None else float(self.mean)
        return Standing(
            self.model,
            self.provenance,
            mean,
            self.coverage,
            self.graded,
            self.of,
            rank,
            medal,
            note,
            provisional,
            self.missing,
            turns=self.turns,
        )
