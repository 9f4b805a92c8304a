"""The order of models on a scoreboard: the plain mean of their overalls, and how far that order can be trusted.

A medal is a model's own where the order holds when the challenges are drawn anew; those that are not clearly behind its
best share it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from harness.model import Provenance, Status
from harness.numerics.rounding import exact
from harness.scoring.duels import HeadToHead, win_table
from harness.scoring.marked import Marked
from harness.scoring.strength import ahead, drawn_means, elo, rank_chances, strengths

MEDAL_COVERAGE = 0.7
MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
STABLE = 0.8
"""Share of the draws in which a model must lie ahead of another to count as better."""


@dataclass(frozen=True)
class Standing:
    """Where one model stands.

    Attributes:
        model: which.
        provenance: where its files come from; more than one where its submissions differ.
        mean: of its overalls, 0 to 100; None when it has none.
        coverage: mean coverage of those overalls.
        graded: challenges it has an overall on.
        of: challenges compared.
        rank: 1 is best, equal means share one; None when it is not ranked.
        medal: gold, silver, bronze or none.
        note: why it has no rank or no medal, or shares one, empty otherwise.
        wins: duels won, a split counting half; of `duels` with other ranked models.
        duels: how many it had.
        strength: by all of these, on the scale of Elo; None when it is not ranked.
        chances: share of the draws of challenges in which it comes to each rank, the first rank first.
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
    wins: float = 0.0
    duels: int = 0
    strength: float | None = None
    chances: tuple[float, ...] = ()


def standings(
    marked: Iterable[Marked], challenges: Sequence[str], head_to_heads: Iterable[HeadToHead] = ()
) -> tuple[Standing, ...]:
    """All models, the best first, then those that are not ranked, baselines last; equal means by name.

    Not ranked are baselines, models without an overall on every challenge, whose mean compares
    with no other, and models with a grade that does not count (a seed chosen by hand, or a part of the probes).

    Args:
        marked: one for each model and challenge, in any order.
        challenges: ids of the challenges compared.
        head_to_heads: duels between models on these challenges; those of models that are not ranked are passed over.
    """
    by_model: dict[str, list[Marked]] = {}
    for one in marked:
        if one.challenge in challenges:
            by_model.setdefault(one.model, []).append(one)
    rows = [_Row(model, by_model[model], len(challenges)) for model in sorted(by_model)]
    means = sorted(row.mean for row in rows if row.mean is not None and not row.unranked)
    rows.sort(key=lambda row: (row.baseline, bool(row.unranked), -(row.mean if row.mean is not None else -1)))
    places = [row.standing(means) for row in rows]
    marks = np.array([row.by_challenge(challenges) for row in rows[: len(means)]]).reshape(len(means), len(challenges))
    return (*_trusted(places[: len(means)], marks, head_to_heads), *places[len(means) :])


def _trusted(
    places: Sequence[Standing], marks: NDArray[np.float64], head_to_heads: Iterable[HeadToHead]
) -> Iterator[Standing]:
    """The ranked, with what is known about their order; models that cannot be distinguished share a medal."""
    if not places:
        return
    wins = win_table([place.model for place in places], head_to_heads)
    power = strengths(wins)
    means = drawn_means(marks)
    chances = rank_chances(means)
    groups = _alike(means)
    for number, place in enumerate(places):
        played = round(float((wins[number] + wins[:, number]).sum()))
        known = replace(
            place, wins=float(wins[number].sum()), duels=played, chances=tuple(chances[number].tolist()),
            strength=round(float(elo(power[number])), 1) if played else None,
        )  # fmt: skip
        shared = groups.count(groups[number]) > 1
        yield _sharing(known, MEDALS.get(places[groups[number]].rank or 0)) if shared else known


def _alike(means: NDArray[np.float64]) -> list[int]:
    """For each model, the best placed first: the first model it cannot be distinguished from, possibly itself."""
    first, lead = 0, ahead(means, 0)
    groups = []
    for number in range(len(means)):
        if lead[number] >= STABLE:
            first, lead = number, ahead(means, number)
        groups.append(first)
    return groups


def _sharing(place: Standing, medal: str | None) -> Standing:
    """A standing whose order within its group is not certain."""
    if place.coverage < MEDAL_COVERAGE or medal is None:
        return place
    return replace(place, medal=medal, note="shares its medal: the order turns when the challenges are drawn anew")


class _Row:
    """One model's marks on the way to its standing."""

    def __init__(self, model: str, records: Sequence[Marked], of: int) -> None:
        self.model = model
        self.of = of
        self.provenance = tuple(sorted({r.provenance for r in records}))
        self.baseline = Provenance.BASELINE in self.provenance
        marks = [r.overall for r in records if r.status is not Status.JUDGE_ERROR and r.overall.score is not None]
        self.graded = len(marks)
        total = sum((exact(m.score) for m in marks if m.score is not None), Fraction(0))
        self.mean = total / self.graded if marks else None
        self.coverage = float(sum((exact(m.coverage) for m in marks), Fraction(0)) / self.graded) if marks else 0.0
        self.unranked = self._why_unranked(all(r.ranked for r in records))
        self.marks = {r.challenge: r.overall.score for r in records if r.overall.score is not None}

    def _why_unranked(self, counts: bool) -> str:
        if self.baseline:
            return "baseline, not ranked"
        if self.graded < self.of:
            return f"not ranked: graded on {self.graded} of {self.of} challenges"
        return "" if counts else "not ranked: seed chosen by hand, or only a part of the probes ran"

    def by_challenge(self, challenges: Sequence[str]) -> list[float]:
        """Its overalls in the order of `challenges`; only for a model that has them all."""
        return [self.marks[id] for id in challenges]

    def standing(self, means: Sequence[Fraction]) -> Standing:
        """Its place among the `means` of all ranked models, the least first."""
        rank, medal, note = None, None, self.unranked
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
            self.model, self.provenance, mean, self.coverage, self.graded, self.of, rank, medal, note
        )  # fmt: skip
