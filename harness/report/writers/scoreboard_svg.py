"""The scoreboard as an SVG picture, which follows the reader's choice of dark or light."""

from harness.report import formatting
from harness.report.escape import plain
from harness.report.jinja import render
from harness.report.views.board.scoreboard import Scoreboard

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 210, 690, 66, 46
"""Pixels of the picture: its width, the ends of the scale, the first row and the height of each."""


def as_svg(board: Scoreboard, title: str) -> str:
    """Return `reports/scoreboard.svg`: every model's mean on a scale, with the marks behind it."""
    rows = []
    for number, row in enumerate(board.rows):
        place, main = row.standing, board.mean(row)
        name = f"{place.place}{'' if place.place.startswith('(') else '.'} " if place.place else ""
        below = ", ".join((row.provenance, *row.mean_lines[1:]))
        dots = [
            (_across(m.score), f"{0.25 + 0.75 * m.coverage:.2f}") for m in board.marks_of(row) if m.score is not None
        ]
        span = main and tuple(map(_across, (main.low, main.score or 0.0, main.high)))
        mean = "–" if place.mean is None else formatting.whole(place.mean)
        rows.append((TOP + ROW * number + 24, plain(name + place.model, 26), plain(below, 34), mean, dots, span))
    thin = ", ".join(plain(c.title) for c in board.challenges if c.id in board.thin)
    return render(
        "scoreboard.svg.j2",
        width=WIDTH,
        top=TOP,
        bottom=TOP + ROW * max(len(rows), 1),
        title=plain(title, 70),
        legend=f"From 0 to 100. Large dot: {board.mean_title.lower()} on its interval; small dots: each challenge.",
        ticks=[(_across(mark), mark) for mark in (0, 25, 50, 75, 100)],
        rows=rows,
        below=[f"Too little was assessed to be in a mean or a place: {thin}."] if thin else [],
    )


def _across(mark: float) -> float:
    return round(LEFT + mark / 100 * (RIGHT - LEFT), 1)
