"""The scoreboard as a picture: a bar for every mark, with a line over its interval."""

from dataclasses import dataclass

from harness.report import formatting
from harness.report.escape import plain
from harness.report.render import render_svg
from harness.report.scoreboard import Entry, Scoreboard

LEFT, COLUMN, RIGHT, TOP, ROW = 200, 220, 70, 64, 46
BAR = 150
"""Width of a bar of 100 points; all of these in pixels of the picture."""
LONGEST_NAME = 26


@dataclass(frozen=True)
class Bar:
    """One mark: where it stands, how long it is, and its interval; no bar where there is no mark."""

    x: int
    text: str
    length: float | None
    low: float
    high: float


@dataclass(frozen=True)
class PictureRow:
    """One model."""

    y: int
    rank: str
    model: str
    provenance: str
    bars: tuple[Bar, ...]
    mean: str


@dataclass(frozen=True)
class Picture:
    """The whole picture, in pixels."""

    width: int
    height: int
    columns: tuple[tuple[int, str], ...]
    lines: tuple[PictureRow, ...]


def as_svg(board: Scoreboard) -> str:
    """As `reports/scoreboard.svg`; it follows the reader's choice of dark or light."""
    width = LEFT + COLUMN * len(board.columns) + RIGHT
    lines = tuple(
        PictureRow(
            TOP + ROW * number,
            row.standing.place,
            plain(row.standing.model, LONGEST_NAME),
            plain(row.provenance, LONGEST_NAME),
            tuple(_bar(LEFT + COLUMN * place, entry) for place, entry in enumerate(row.entries)),
            row.mean if row.standing.mean is not None else "–",
        )
        for number, row in enumerate(board.rows)
    )
    columns = tuple((LEFT + COLUMN * place, plain(c.title, LONGEST_NAME)) for place, c in enumerate(board.columns))
    return render_svg(
        "scoreboard.svg.j2", picture=Picture(width, TOP + ROW * max(len(lines), 1), columns, lines), bar=BAR
    )


def _bar(x: int, entry: Entry) -> Bar:
    score = entry.overall
    if score is None:
        return Bar(x, "no record", None, 0.0, 0.0)
    length = None if score.score is None else score.score / 100 * BAR
    return Bar(x, formatting.mark(score.score), length, score.low / 100 * BAR, score.high / 100 * BAR)
