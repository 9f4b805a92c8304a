"""The scoreboard as a picture: each mark over its bar, paler with less coverage, and a line for its interval."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from harness.report import formatting
from harness.report.escape import plain
from harness.report.views.board.rows import Entry
from harness.report.writers.render import render_svg
from harness.report.writers.scoreboard import Scoreboard

LEFT, RIGHT, TOP, ROW, FOOT = 190, 92, 84, 50, 16
MARKS = 700
"""Room for all challenges together; these are pixels of the picture."""
NARROWEST, WIDEST, GAP = 88, 220, 16
"""Least and greatest width of a challenge's column, and the gap between two bars."""
LONGEST_NAME = 24
TITLE_LINES = 3
LETTER = 7
"""Width of a letter of a title."""


@dataclass(frozen=True)
class Bar:
    """One mark; `length` is None without one."""

    x: int
    text: str
    coverage: str
    length: float | None
    low: float
    high: float
    shade: float


@dataclass(frozen=True)
class PictureRow:
    """One model."""

    y: int
    rank: str
    model: str
    provenance: str
    bars: tuple[Bar, ...]
    mean: str
    of: str


@dataclass(frozen=True)
class Picture:
    """The whole picture, in pixels; a column has its place and the lines of its title, bottom line last."""

    width: int
    height: int
    bar: int
    columns: tuple[tuple[int, tuple[tuple[int, str], ...]], ...]
    mean: str
    lines: tuple[PictureRow, ...]
    below: tuple[tuple[int, str], ...]


def as_svg(board: Scoreboard) -> str:
    """Return `reports/scoreboard.svg`, which follows the reader's choice of dark or light."""
    column = max(NARROWEST, min(WIDEST, MARKS // max(1, len(board.challenges))))
    bar = column - GAP
    places = [LEFT + column * number for number in range(len(board.challenges))]
    lines = tuple(
        PictureRow(
            TOP + ROW * number,
            place if (place := row.standing.place).startswith("(") or not place else f"{place}.",
            plain(row.standing.model, LONGEST_NAME),
            plain(row.provenance, LONGEST_NAME),
            tuple(_bar(x, bar, entry) for x, entry in zip(places, row.entries, strict=True)),
            formatting.whole(row.standing.mean) if row.standing.mean is not None else "–",
            ", ".join(row.mean_lines[1:]),
        )
        for number, row in enumerate(board.rows)
    )
    titles = [_title(c.title, column) for c in board.challenges]
    end, notes = TOP + ROW * max(len(lines), 1), tuple(_below(board))
    picture = Picture(
        LEFT + column * len(places) + RIGHT,
        end + FOOT * len(notes),
        bar,
        tuple(zip(places, titles, strict=True)),
        board.mean_title,
        lines,
        tuple((end + FOOT * number, note) for number, note in enumerate(notes)),
    )
    return render_svg("scoreboard.svg.j2", picture=picture)


def _below(board: Scoreboard) -> Iterator[str]:
    if board.graded:
        yield (
            f"Graded {board.graded} by running the answers. Beside a mark stands the share of the rubric that was "
            "assessed, below it the interval that the rest leaves open."
        )
    if board.thin:
        titles = ", ".join(plain(c.title) for c in board.challenges if c.id in board.thin)
        yield f"Too little was assessed to be in a mean or a place: {titles}."


def _title(title: str, column: int) -> tuple[tuple[int, str], ...]:
    """Wrap a title to its column, with each line's height; the first lines may be empty."""
    lines = textwrap.wrap(plain(title), column // LETTER, max_lines=TITLE_LINES, placeholder="…")
    lines = [""] * (TITLE_LINES - len(lines)) + lines
    return tuple((TOP - 28 - 15 * (TITLE_LINES - 1 - number), line) for number, line in enumerate(lines))


def _bar(x: int, bar: int, entry: Entry) -> Bar:
    score = entry.overall
    if score is None:
        return Bar(x, "no record", "", None, 0.0, 0.0, 0.0)
    length = None if score.score is None else score.score / 100 * bar
    covered = "" if score.coverage == 1 else formatting.percent(score.coverage)
    ends = (score.low / 100 * bar, score.high / 100 * bar)
    return Bar(x, formatting.mark(score.score), covered, length, *ends, shade=0.15 + 0.85 * score.coverage)
