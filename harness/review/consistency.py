"""Contradictions within published figures, by their own arithmetic."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, floor

from harness.model import Comparison, Ranking, Review, ReviewerKind
from harness.numerics.rounding import half_up
from harness.review.published import Published, published


@dataclass(frozen=True)
class Contradiction:
    """Two published figures that cannot both hold.

    Attributes:
        said: published figure.
        follows: figure that follows from the others.
    """

    kind: str
    where: str
    said: str
    follows: str


OVERALLS = "An overall that is not the mean of its dimensions, rounded half up"
TWICE = "One submission marked differently in two rounds"
EDGES = "A winner that does not follow from the edges"
OVERALL_WINNERS = "A winner that does not follow from the overalls"
STANDINGS = "A figure of the final ranking that does not follow from the reviews"


def contradictions(
    reviews: Iterable[Review], comparisons: Sequence[Comparison] = (), ranking: Ranking | None = None
) -> tuple[Contradiction, ...]:
    """Return all contradictions, by kind; only published reviews count."""
    given = sorted(
        (r for r in reviews if r.reviewer.kind is ReviewerKind.PUBLISHED),
        key=lambda r: (r.reviewer.id, r.challenge, r.model),
    )
    return (
        *_overalls(given),
        *_twice(given),
        *_edges(comparisons),
        *_check_winners(given, comparisons),
        *(_standings(published(given), comparisons, ranking) if ranking else ()),
    )


def _overalls(reviews: Iterable[Review]) -> Iterator[Contradiction]:
    for review in reviews:
        if review.overall is None or not review.marks:
            continue
        mean = sum((Fraction(mark.mark) for mark in review.marks), Fraction(0)) / len(review.marks)
        if review.overall == half_up(mean):
            continue
        nearly = {floor(mean): " rounded down", ceil(mean): " rounded up"}.get(int(review.overall))
        how = f"is the mean{nearly}" if nearly and review.overall == int(review.overall) else "fits no rounding"
        yield Contradiction(
            OVERALLS,
            f"{review.model} on {review.challenge}, {review.reviewer.id}",
            f"overall {review.overall:g}",
            f"the mean of its {len(review.marks)} dimensions is {float(mean):.2f}; {review.overall:g} {how}",
        )


def _twice(reviews: Sequence[Review]) -> Iterator[Contradiction]:
    for first, second in combinations(reviews, 2):
        if (first.model, first.challenge) != (second.model, second.challenge):
            continue
        marks = {mark.target: mark.mark for mark in second.marks}
        moved = [
            (m.target, m.mark, marks[m.target]) for m in first.marks if m.target in marks and m.mark != marks[m.target]
        ]
        if not moved and first.overall == second.overall:
            continue
        dimensions = ", ".join(f"{target} {one:g} and {other:g}" for target, one, other in moved)
        yield Contradiction(
            TWICE,
            f"{first.model} on {first.challenge}",
            f"{first.reviewer.id}: overall {_mark(first.overall)}, {second.reviewer.id}: {_mark(second.overall)}",
            f"the files are the same; {dimensions}" if dimensions else "the files are the same",
        )


def _edges(comparisons: Iterable[Comparison]) -> Iterator[Contradiction]:
    for table in comparisons:
        edges = [sum(row.edge == side for row in table.rows) for side in (table.left, table.right)]
        most = None if edges[0] == edges[1] else (table.left, table.right)[edges[1] > edges[0]]
        if table.winner != most:
            yield Contradiction(
                EDGES,
                _pair(table),
                f"won by {table.winner}" if table.winner else "split",
                f"edges: {table.left} {edges[0]}, {table.right} {edges[1]} of {len(table.rows)} rows",
            )


def _check_winners(reviews: Sequence[Review], comparisons: Iterable[Comparison]) -> Iterator[Contradiction]:
    marks = {(r.reviewer.id, r.challenge, r.model): r.overall for r in reviews}
    for table in comparisons:
        for round in sorted({r.reviewer.id for r in reviews}):
            left, right = (marks.get((round, table.challenge, model)) for model in (table.left, table.right))
            if left is None or right is None:
                continue
            higher = None if left == right else (table.left if left > right else table.right)
            if table.winner != higher:
                yield Contradiction(
                    OVERALL_WINNERS,
                    _pair(table),
                    f"won by {table.winner}" if table.winner else "split",
                    f"{round} gives {table.left} {left:g} and {table.right} {right:g}",
                )


def _standings(
    marked: Sequence[Published], comparisons: Sequence[Comparison], ranking: Ranking
) -> Iterator[Contradiction]:
    for place in ranking.places:
        overalls = {
            one.challenge: one.overall for one in marked if one.model == place.model and one.overall.score is not None
        }
        if not overalls:
            yield Contradiction(STANDINGS, place.model, f"average {place.average:g}", "no published review of it")
            continue
        means = {id: Fraction(str(score.score)) for id, score in overalls.items()}
        average = sum(means.values(), Fraction(0)) / len(means)
        if place.average != half_up(average):
            yield Contradiction(
                STANDINGS,
                place.model,
                f"average {place.average:g}",
                f"the mean of its overalls is {float(average):.2f}",
            )
        yield from _extreme(place.model, "best", place.best, place.best_mark, means, max(means.values()))
        yield from _extreme(place.model, "worst", place.worst, place.worst_mark, means, min(means.values()))
        if place.won is not None and place.of is not None:
            yield from _check_won(place.model, place.won, place.of, comparisons)


def _extreme(
    model: str, word: str, said: Sequence[str], mark: float, means: dict[str, Fraction], end: Fraction
) -> Iterator[Contradiction]:
    names = sorted(id for id, mean in means.items() if mean == end)
    if mark != half_up(end) or sorted(said) != names:
        yield Contradiction(
            STANDINGS,
            f"{model}, {word} task",
            f"{', '.join(said)} {mark:g}",
            f"{', '.join(names)}: the mean over the rounds is {float(end):g}",
        )


def _check_won(model: str, won: int, of: int, comparisons: Sequence[Comparison]) -> Iterator[Contradiction]:
    own = [table for table in comparisons if model in (table.left, table.right)]
    wins = sum(table.winner == model for table in own)
    if comparisons and (won, of) != (wins, len(own)):
        yield Contradiction(STANDINGS, f"{model}, comparisons", f"{won} of {of} won", f"{wins} of {len(own)} won")


def _pair(table: Comparison) -> str:
    return f"{table.left} and {table.right} on {table.challenge}"


def _mark(mark: float | None) -> str:
    return "none" if mark is None else f"{mark:g}"
