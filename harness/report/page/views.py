"""Views of marks for the page's template."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Score, Status
from harness.report import formatting
from harness.report.views.answers import ModelAnswer, in_order
from harness.report.views.board.rows import Entry, ScoreboardRow
from harness.report.writers.scoreboard import Scoreboard

MOST_RANKS = 3
"""Most ranks listed per model, likeliest first."""


@dataclass(frozen=True)
class MarkCell:
    """A mark with its certainty and a link to its evidence.

    Attributes:
        point: mark, or why there is none.
        note: warnings about comparing it.
        sort: sort key; empty without a mark.
        shade: 0 to 10 for a colour; empty without a mark.
        link: id of the evidence on this page, or empty.
    """

    point: str
    interval: str = ""
    coverage: str = ""
    note: str = ""
    sort: str = ""
    shade: str = ""
    link: str = ""


@dataclass(frozen=True)
class BoardRow:
    """One model on the scoreboard.

    Attributes:
        marks: one per challenge.
        chances: likeliest ranks when the challenges are drawn anew.
        mean_rank: mean of those ranks, to sort by; empty without any.
    """

    entry: ScoreboardRow
    marks: tuple[MarkCell, ...]
    chances: str
    mean_rank: str


@dataclass(frozen=True)
class HeatRow:
    """One answer in a heat map."""

    answer: ModelAnswer
    overall: MarkCell
    marks: tuple[MarkCell, ...]


@dataclass(frozen=True)
class HeatMap:
    """Models by dimensions of one challenge; `rows` are empty without answers."""

    challenge: Challenge
    rows: tuple[HeatRow, ...]


def mark(score: Score | None, link: str, status: Status = Status.GRADED, note: str = "") -> MarkCell:
    """Build the cell of one score; `link` is the id of its evidence."""
    if score is None:
        return MarkCell("no record")
    text = "; ".join(filter(None, ("" if status is Status.GRADED else formatting.status(status), note)))
    if score.score is None or not math.isfinite(score.score):
        return MarkCell(formatting.NOT_ASSESSED, note=text, link=link)
    shade = str(min(10, max(0, int(score.score // 10))))
    interval, coverage = formatting.interval(score), formatting.percent(score.coverage)
    return MarkCell(formatting.mark(score.score), interval, coverage, text, repr(score.score), shade, link)


def board_rows(board: Scoreboard) -> tuple[BoardRow, ...]:
    """Build the rows of the scoreboard."""
    return tuple(map(_board_row, board.rows))


def heat_maps(challenges: Iterable[Challenge], answers: Sequence[ModelAnswer]) -> tuple[HeatMap, ...]:
    """Build a heat map per challenge, by id."""
    return tuple(
        HeatMap(c, tuple(_heat_row(c, answer) for answer in in_order(a for a in answers if a.challenge == c.id)))
        for c in sorted(challenges, key=lambda c: c.id)
    )


def comparison(
    heat_maps: Sequence[HeatMap], models: Sequence[str], answers: Sequence[ModelAnswer]
) -> Mapping[str, object]:
    """Return the browser's data for comparing two models: [point, low, high, coverage] by model and challenge.

    The overall precedes the dimensions, in the order of `parts`; where there is no mark, words say why.
    """
    rubrics = {heat.challenge.id: heat.challenge for heat in heat_maps if heat.rows}
    challenges = {
        id: {"title": c.title, "parts": [["", "Overall"], *([d.id, d.title] for d in c.dimensions)]}
        for id, c in rubrics.items()
    }
    cells = {(row.answer.model, row.answer.challenge): row for heat in heat_maps for row in heat.rows}
    marks: dict[str, dict[str, list[object]]] = {model: {} for model in models}
    for answer in answers:
        marked = answer.marked
        scores = [marked.overall, *(marked.dimensions.get(d.id) for d in rubrics[answer.challenge].dimensions)]
        row = cells[answer.model, answer.challenge]
        shown = zip(scores, (row.overall, *row.marks), strict=True)
        marks[answer.model][answer.challenge] = [_numbers(score) or cell.point for score, cell in shown]
    return {"models": list(models), "challenges": challenges, "marks": marks}


def _board_row(row: ScoreboardRow) -> BoardRow:
    likely = sorted(enumerate(row.standing.chances, 1), key=lambda chance: (-chance[1], chance[0]))
    ranks = [f"{rank}: {formatting.percent(share)}" for rank, share in likely[:MOST_RANKS] if share >= 0.01]
    marks = tuple(
        mark(entry.overall, f"{row.standing.model}/{entry.challenge}", entry.status or Status.GRADED, _note(entry))
        for entry in row.entries
    )
    return BoardRow(row, marks, ", ".join(ranks), repr(sum(rank * share for rank, share in likely)) if likely else "")


def _note(entry: Entry) -> str:
    conduct = "look at the findings" if entry.integrity else ""
    return "; ".join(filter(None, (entry.spread, conduct, formatting.doubts(entry.doubts))))


def _heat_row(challenge: Challenge, answer: ModelAnswer) -> HeatRow:
    place, own = f"{answer.model}/{answer.challenge}", answer.marked
    marks = tuple(
        mark(own.dimensions[d.id], f"{place}/{d.id}")
        if d.id in own.dimensions
        else MarkCell(formatting.missing_mark(challenge, d.id, answer.shown), link=f"{place}/{d.id}")
        for d in challenge.dimensions
    )
    return HeatRow(answer, mark(own.overall, place, own.status), marks)


def _numbers(score: Score | None) -> list[float | str] | None:
    if score is None or score.score is None or not all(map(math.isfinite, (score.score, score.low, score.high))):
        return None
    ends = [float(formatting.mark(value)) for value in (score.score, score.low, score.high)]
    return [*ends, formatting.percent(score.coverage)]
