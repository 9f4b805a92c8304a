"""Views of marks for the page's template: cells that link to their evidence, the board, the heat maps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Score, Status
from harness.report import formatting
from harness.report.views.answers import ModelAnswer, in_order
from harness.report.views.board.rows import ScoreboardRow, SuitePlaces
from harness.report.writers.scoreboard import Scoreboard
from harness.scoring import Standing

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
    """One model on the scoreboard; `beside` has a sort key and the lines of each other suite."""

    model: str
    provenance: str
    rank: str
    rank_sort: str
    medal: str
    marks: tuple[MarkCell, ...]
    mean: tuple[str, ...]
    mean_sort: str
    beside: tuple[tuple[str, tuple[str, ...]], ...]
    chances: str
    chances_sort: str
    strength: str
    strength_sort: str
    won: str
    won_sort: str
    remark: str


@dataclass(frozen=True)
class HeatRow:
    """One submission in a heat map."""

    model: str
    provenance: str
    overall: MarkCell
    marks: tuple[MarkCell, ...]


@dataclass(frozen=True)
class HeatMap:
    """Models by dimensions (id, title, weight) of one challenge; `rows` are empty without answers."""

    id: str
    title: str
    dimensions: tuple[tuple[str, str, str], ...]
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
    return tuple(_board_row(row, board.beside) for row in board.rows)


def heat_maps(challenges: Iterable[Challenge], answers: Sequence[ModelAnswer]) -> tuple[HeatMap, ...]:
    """Build a heat map per challenge, by id."""
    return tuple(
        _heat_map(c, [a for a in answers if a.challenge == c.id]) for c in sorted(challenges, key=lambda c: c.id)
    )


def comparison(
    heat_maps: Sequence[HeatMap], models: Sequence[str], answers: Sequence[ModelAnswer]
) -> Mapping[str, object]:
    """Return the browser's data for comparing two models: [point, low, high, coverage] by model and challenge.

    The overall precedes the dimensions, in the order of `parts`; where there is no mark, words say why.
    """
    challenges = {
        heat.id: {"title": heat.title, "parts": [["", "Overall"], *([id, title] for id, title, _ in heat.dimensions)]}
        for heat in heat_maps
        if heat.rows
    }
    cells = {(heat.id, row.model): (row.overall, *row.marks) for heat in heat_maps for row in heat.rows}
    marks: dict[str, dict[str, list[object]]] = {model: {} for model in models}
    for answer in answers:
        ids = [id for heat in heat_maps if heat.id == answer.challenge for id, _, _ in heat.dimensions]
        scores = [answer.overall, *(answer.dimensions.get(id) for id in ids)]
        shown = zip(scores, cells[answer.challenge, answer.model], strict=True)
        marks[answer.model][answer.challenge] = [_numbers(score) or cell.point for score, cell in shown]
    return {"models": list(models), "challenges": challenges, "marks": marks}


def _sort(place: Standing | None) -> str:
    return "" if place is None or place.mean is None else repr(place.mean)


def _board_row(row: ScoreboardRow, suites: Sequence[SuitePlaces]) -> BoardRow:
    place = row.standing
    likely = sorted(enumerate(place.chances, 1), key=lambda chance: (-chance[1], chance[0]))
    ranks = [f"{rank}: {formatting.percent(share)}" for rank, share in likely[:MOST_RANKS] if share >= 0.01]
    return BoardRow(
        model=place.model,
        provenance=row.provenance,
        rank=place.place,
        rank_sort=str(place.rank or place.provisional or ""),
        medal=place.medal or "",
        marks=tuple(
            mark(
                entry.overall,
                f"{place.model}/{entry.challenge}",
                entry.status or Status.GRADED,
                "; ".join(
                    filter(
                        None,
                        (
                            entry.spread,
                            "look at the findings" if entry.integrity else "",
                            formatting.doubts(entry.doubts),
                        ),
                    )
                ),
            )
            for entry in row.entries
        ),
        mean=row.mean_lines,
        mean_sort="" if place.mean is None else repr(place.mean),
        beside=tuple((_sort(suite.places.get(place.model)), suite.lines(place.model)) for suite in suites),
        chances=", ".join(ranks),
        chances_sort=repr(sum(rank * share for rank, share in likely)) if likely else "",
        strength="" if place.strength is None else formatting.number(round(place.strength)),
        strength_sort="" if place.strength is None else repr(place.strength),
        won=row.won,
        won_sort=repr(place.wins) if place.duels else "",
        remark=row.remark,
    )


def _heat_map(challenge: Challenge, answers: Sequence[ModelAnswer]) -> HeatMap:
    return HeatMap(
        challenge.id,
        challenge.title,
        tuple((d.id, d.title, formatting.number(d.weight)) for d in challenge.dimensions),
        tuple(_heat_row(challenge, answer) for answer in in_order(answers)),
    )


def _heat_row(challenge: Challenge, answer: ModelAnswer) -> HeatRow:
    place = f"{answer.model}/{answer.challenge}"
    marks = tuple(
        mark(answer.dimensions[d.id], f"{place}/{d.id}")
        if d.id in answer.dimensions
        else MarkCell(formatting.missing_mark(challenge, d.id, answer.shown), link=f"{place}/{d.id}")
        for d in challenge.dimensions
    )
    overall = mark(answer.overall, place, answer.status)
    return HeatRow(answer.model, formatting.provenance(answer.provenance), overall, marks)


def _numbers(score: Score | None) -> list[float | str] | None:
    if score is None or score.score is None or not all(map(math.isfinite, (score.score, score.low, score.high))):
        return None
    ends = [float(formatting.mark(value)) for value in (score.score, score.low, score.high)]
    return [*ends, formatting.percent(score.coverage)]
