"""The scoreboard as an SVG picture."""

import textwrap
from collections.abc import Iterator
from functools import partial

from harness.report.escape import plain
from harness.report.jinja import render
from harness.report.views.board.scoreboard import Scoreboard

LEFT, RIGHT, TOP, ROW, FOOT = 190, 92, 84, 50, 16
MARKS = 700
"""Room for all challenges together; these are pixels of the picture."""
NARROWEST, WIDEST, GAP = 88, 220, 16
"""Least and greatest width of a challenge's column, and the gap between two bars."""
LONGEST_NAME = 24
TITLE_LINES = 3
LETTER = 7
"""Width of a letter of a title."""


def as_svg(board: Scoreboard) -> str:
    """Return `reports/scoreboard.svg`, which follows the reader's choice of dark or light."""
    column = max(NARROWEST, min(WIDEST, MARKS // max(1, len(board.challenges))))
    columns = [(LEFT + column * number, _title(c.title, column)) for number, c in enumerate(board.challenges)]
    end, notes = TOP + ROW * max(len(board.rows), 1), tuple(_below(board))
    return render(
        "scoreboard.svg.j2",
        board=board,
        columns=columns,
        bar=column - GAP,
        top=TOP,
        step=ROW,
        width=LEFT + column * len(columns) + RIGHT,
        height=end + FOOT * len(notes),
        below=[(end + FOOT * number, note) for number, note in enumerate(notes)],
        short=partial(plain, limit=LONGEST_NAME),
    )


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
