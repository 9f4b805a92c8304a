"""Whatever names, words and marks records hold, the scoreboard's tables are whole and say the same in every format."""

import csv
import io
import json
import re
from itertools import groupby

import sample_records as sample
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from harness.model import Challenge, Provenance, Record, Score, Status
from harness.report.document import plain_text
from harness.report.documents.board import entry_cell
from harness.report.views.board.rows import Entry
from harness.report.views.board.scoreboard import Scoreboard, scoreboard
from harness.report.views.inputs import ReportInputs
from tests import shares
from tests.written import as_csv, as_json, as_markdown, as_table

names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True)
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ["|", "a|b", "\\|", "`", "```", "<b>", "[x](y)", "[red]", "\n# h\n", "\r", "\u2028", "漢字", "🙂", "\x1b[31m", "*"]
)
WHOLE = st.integers(0, 100).map(float)
PARTS = ("score", "low", "high", "coverage")


@st.composite
def scores(draw: st.DrawFn) -> Score:
    low, point, high = sorted(draw(st.tuples(WHOLE, WHOLE, WHOLE)))
    return Score(score=draw(st.sampled_from([point, None])), low=low, high=high, coverage=draw(st.floats(0, 1)))


@st.composite
def boards(draw: st.DrawFn) -> Scoreboard:
    ids = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    challenges = [sample.CHALLENGE.model_copy(update={"id": id, "title": draw(words)}) for id in ids]
    records = [
        graded(draw, model, challenge)
        for model in draw(st.lists(names, max_size=4, unique=True))
        for challenge in draw(st.lists(st.sampled_from(challenges), unique_by=lambda c: c.id, max_size=3))
    ]
    return scoreboard(ReportInputs(challenges, records))


def graded(draw: st.DrawFn, model: str, challenge: Challenge) -> Record:
    changes = {
        "status": draw(st.sampled_from(Status)), "provenance": draw(st.sampled_from(Provenance)),
        "ranked": draw(st.booleans()), "overall": draw(scores()), "remarks": (draw(words),), "error": draw(words),
    }  # fmt: skip
    record = sample.record(model, challenge=challenge).model_copy(update=changes)
    return sample.changed(record, "causality", title=draw(words))


EMPTY = scoreboard(ReportInputs([], []))


@settings(max_examples=shares.examples(100))
@given(boards())
@example(EMPTY)
def test_csv_and_json_hold_the_same_figures(board: Scoreboard):
    header, *lines = csv.reader(io.StringIO(as_csv(board)))
    document = json.loads(as_json(board))
    assert all(len(line) == len(header) for line in lines)
    for line, row in zip(lines, document["rows"], strict=True):
        cells = dict(zip(header, line, strict=True))
        for name in ("rank", "medal", "model", "mean", "graded", "of", "note"):
            assert cells[name] == ("" if row[name] is None else str(row[name]))
        for challenge in document["challenges"]:
            mark = row["scores"].get(challenge["id"], {})
            told = [cells[f"{challenge['id']}_{part}"] for part in PARTS]
            assert told == ["" if mark.get(part) is None else str(mark[part]) for part in PARTS]


@settings(max_examples=shares.examples(100))
@given(boards())
@example(EMPTY)
def test_every_row_of_the_markdown_has_every_cell(board: Scoreboard):
    text = as_markdown(board)
    tables = [list(rows) for is_row, rows in groupby(text.splitlines(), lambda line: line.startswith("|")) if is_row]
    for table in tables:
        assert len({len(cells(line)) for line in table}) == 1, table
    marked = [cells(line) for line in tables[0][2:]] if board.rows else []
    for row, shown in zip(board.rows, marked, strict=True):
        assert f"{row.standing.model} ({row.provenance})" in shown
    plain = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", re.sub(r"\\(.)", r"\1", text)).replace("*", "")
    for entry in (entry for row in board.rows for entry in row.entries if entry.marked):
        first, *rest = lines_of(entry)
        assert f"{first} ({', '.join(rest)})" in plain if rest else first in plain


def lines_of(entry: Entry) -> list[str]:
    return [plain_text(line) for line in entry_cell(entry).lines]


def cells(line: str) -> list[str]:
    assert line.startswith("|") and line.endswith("|")
    return [re.sub(r"\\(.)", r"\1", cell).strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


@settings(max_examples=shares.examples(50))
@given(boards())
@example(EMPTY)
def test_the_columns_of_the_table_are_straight(board: Scoreboard):
    console = Console(width=2000, file=io.StringIO(), color_system=None)
    console.print(as_table(board))
    lines = console.file.getvalue().splitlines()
    header = next(line for line in lines if line.startswith("Rank"))
    column = cell_len(header[: header.index("Model")])
    for row in board.rows:
        (shown,) = [line for line in lines if starts_at(line, row.standing.model, column)]
        for entry in row.entries:
            assert lines_of(entry)[0] in shown


def starts_at(line: str, word: str, column: int) -> bool:
    """Whether `word` stands alone at a column of the screen."""
    place = next((i for i in range(len(line)) if cell_len(line[:i]) == column), len(line))
    return line[place:].split(" ")[0] == word and line[:place].endswith(" ")
