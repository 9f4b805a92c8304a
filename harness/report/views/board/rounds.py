"""Rounds: named groups of models on some challenges, with their winners."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model import Challenge, Round
from harness.report import formatting
from harness.report.views.board.summary import ChallengeWinner, challenge_winners
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import MarkSource, marks
from harness.report.views.notes import notes
from harness.scoring import Standing, standings
from harness.scoring.attempts import Attempts, MeasuredAnswer
from harness.scoring.marked import first_group


@dataclass(frozen=True)
class RoundRow:
    """One model of the round."""

    standing: Standing
    marks: tuple[str, ...]


@dataclass(frozen=True)
class RoundView:
    """One round's page."""

    round: Round
    source: MarkSource
    challenges: tuple[Challenge, ...]
    rows: tuple[RoundRow, ...]
    challenge_winners: tuple[ChallengeWinner, ...]
    verdict: str
    missing: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def round_view(inputs: ReportInputs, round: Round, source: MarkSource) -> RoundView:
    """Build the view of one round, by the marks of one source."""
    found = marks(inputs, source, round)
    known = {challenge.id: challenge for challenge in inputs.challenges}
    rubrics = [known[id] for id in round.challenges if id in known]
    places = standings(found.marked, [c.id for c in rubrics], found.head_to_heads)
    by_name = {(m.model, m.challenge): m.overall for m in found.marked}
    rows = tuple(
        RoundRow(
            place,
            tuple(
                formatting.standing(by_name[key]) if (key := (place.model, c.id)) in by_name else "none"
                for c in rubrics
            ),
        )
        for place in places
    )
    records = [
        summary
        for marked in found.marked
        if isinstance(marked, MeasuredAnswer)
        for summary in (marked.summaries if isinstance(marked, Attempts) else (marked,))
    ]
    return RoundView(
        round,
        source,
        tuple(rubrics),
        rows=rows,
        challenge_winners=challenge_winners(rubrics, found),
        verdict=_verdict(places),
        missing=tuple(model for model in round.models if model not in {place.model for place in places}),
        pairs=tuple(sorted({(min(f.left, f.right), max(f.left, f.right)) for f in found.head_to_heads if f.played})),
        notes=notes(rubrics, records),
    )


def _verdict(places: Sequence[Standing]) -> str:
    ranked = first_group([place for place in places if place.rank is not None])
    if not ranked:
        return "No model of this round has a mark on all of its challenges."
    first = ranked[0]
    if len(ranked) == 1:
        return (
            f"Only {first.model} has a mark on all challenges of this round: {formatting.whole(first.mean)} on average."
        )
    second = ranked[1]
    if first.mean == second.mean:
        return f"{first.model} and {second.model} are level at {formatting.whole(first.mean)}."
    margin = int(formatting.whole(first.mean)) - int(formatting.whole(second.mean))
    points = f"{margin} point{'' if margin == 1 else 's'}"
    marks = f"{formatting.whole(first.mean)} against {formatting.whole(second.mean)}"
    return f"{first.model} wins by {points}: {marks} on average."
