"""Summaries of marks: winners by challenge, differences between neighbours, and best dimensions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

from harness.model import Challenge, Provenance
from harness.numerics.rounding import exact, half_up
from harness.report import formatting
from harness.report.views.duel_words import describe_duel
from harness.report.views.mark_source import Marks
from harness.scoring import Standing
from harness.scoring.duels import Duel, tally
from harness.scoring.marked import Marked, first_group

MOST_GAPS = 3
"""Most differences listed between two neighbours."""


@dataclass(frozen=True)
class ChallengeWinner:
    """One challenge and its winner."""

    challenge: Challenge
    result: str


@dataclass(frozen=True)
class Hybrid:
    """One challenge with the best mark of every dimension, from any model, beside the best single answer."""

    title: str
    mark: str
    best: str
    parts: str


@dataclass(frozen=True)
class Meeting:
    """Two models over all challenges, with the tally in their order."""

    left: str
    right: str
    tally: str
    winners: str


def challenge_winners(challenges: Iterable[Challenge], marks: Marks) -> tuple[ChallengeWinner, ...]:
    """Return the winner of each challenge with a mark."""
    won = ((c, first_group(own)) for c in challenges if (own := _ordered(c, marks)))
    return tuple(ChallengeWinner(c, _winner(own, marks)) for c, own in won)


def gaps(challenges: Sequence[Challenge], standings: Sequence[Standing], marks: Marks) -> Iterator[str]:
    """Yield each ranked model's lead over the next, with the widest differences by dimension."""
    by_name = {(m.model, m.challenge): m for m in marks.marked}
    for above, below in pairwise(first_group([s for s in standings if s.rank is not None])):
        lead = formatting.points(exact(above.mean or 0.0) - exact(below.mean or 0.0))
        widest = "; ".join(_widest(challenges, above.model, below.model, by_name))
        yield f"{above.model} is {lead} ahead of {below.model}.{f' Widest: {widest}.' if widest else ''}"


def hybrids(challenges: Iterable[Challenge], marks: Marks) -> tuple[Hybrid, ...]:
    """Return the best marks for challenges with marks of two or more models, all asked alike."""
    return tuple(_hybrid(c, own) for c in challenges if len(own := first_group(_ordered(c, marks))) > 1)


def meetings(marks: Marks, order: Sequence[str], counted: Collection[str]) -> Iterator[Meeting]:
    """Yield the pairs of models that met, the better placed one first.

    Args:
        counted: ids of the challenges in the tally; others are named apart.
    """
    models = [model for model in order if model in marks.models]
    for left, right in combinations(models, 2):
        results = sorted((f for f in marks.between(left, right) if f.played), key=lambda f: f.challenge)
        if results:
            lead, behind = tally(left, right, [f for f in results if f.challenge in counted])
            results.sort(key=lambda f: f.challenge not in counted)
            per_task = "; ".join(
                f"{'' if f.challenge in counted else 'not counted: '}{f.challenge}: {f.winner or 'split'}"
                for f in results
            )
            yield Meeting(left, right, formatting.score(lead, behind), per_task)


def _ordered(challenge: Challenge, marks: Marks) -> list[Marked]:
    own = [m for m in marks.marked if m.challenge == challenge.id and m.overall.score is not None]
    models = [m for m in own if m.provenance is not Provenance.BASELINE]
    return sorted(models, key=lambda m: (m.turns > 1, -(m.overall.score or 0.0), m.model))


def _winner(own: Sequence[Marked], marks: Marks) -> str:
    if len(own) == 1:
        return f"only {own[0].model} has a mark"
    first, second = own[:2]
    result = next((f for f in marks.between(first.model, second.model) if f.challenge == first.challenge), None)
    if isinstance(result, Duel):
        return describe_duel(result, {m.model: m.overall for m in (first, second)})
    lead = formatting.points(exact(first.overall.score or 0.0) - exact(second.overall.score or 0.0))
    if result is None or not result.played:
        return f"{first.model} leads {second.model} by {lead}"
    if result.winner is None:
        return f"a split between {first.model} and {second.model}, {lead} apart"
    if result.winner == first.model:
        return f"{first.model} wins by {lead}"
    return f"{result.winner} was given the win, though {first.model} leads by {lead}"


def _widest(
    challenges: Sequence[Challenge], above: str, below: str, by_name: Mapping[tuple[str, str], Marked]
) -> Iterator[str]:
    found = []
    for challenge in challenges:
        one, other = by_name.get((above, challenge.id)), by_name.get((below, challenge.id))
        for dimension in challenge.dimensions if one and other else ():
            assert one and other
            pair = [m.dimensions.get(dimension.id) for m in (one, other)]
            marks = [score.score for score in pair if score is not None and score.score is not None]
            if len(marks) == 2 and marks[0] > marks[1]:
                both = f"{formatting.mark(marks[0])} against {formatting.mark(marks[1])}"
                found.append((marks[1] - marks[0], f"{dimension.title} on {challenge.title}, {both}"))
    yield from (text for _, text in sorted(found)[:MOST_GAPS])


def _hybrid(challenge: Challenge, own: Sequence[Marked]) -> Hybrid:
    parts = []
    total = weight = Fraction(0)
    for dimension in challenge.dimensions:
        marks = {m.model: d.score for m in own if (d := m.dimensions.get(dimension.id)) and d.score is not None}
        best = max(marks.values(), default=None)
        models = ", ".join(m for m in sorted(marks) if marks[m] == best and best) or "none"
        parts.append(f"{dimension.title} {formatting.mark(best)} ({models})")
        total += exact(dimension.weight) * exact(best or 0.0)
        weight += exact(dimension.weight) * (best is not None)
    mark = formatting.mark(float(half_up(total / weight)) if weight else None)
    return Hybrid(challenge.title, mark, f"{own[0].model}, {formatting.standing(own[0].overall)}", "; ".join(parts))
