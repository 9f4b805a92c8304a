"""The scoreboard says the same as a table, as Markdown, as JSON and as CSV."""

import csv
import io
import json
import re

import pytest
import sample_records as sample
from rich.console import Console

from harness.model import ChallengeSuite
from harness.report.pages import render_all
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.inputs import ReportInputs
from tests.written import as_csv, as_json, as_markdown, as_table

OTHER = sample.CHALLENGE.model_copy(update={"id": "another", "title": "Another task"})
RECORDS = [
    sample.record(), sample.record(challenge=OTHER), sample.baseline(), sample.baseline(challenge=OTHER),
    sample.record("good", sample.RIGHT), sample.record("good", sample.RIGHT, challenge=OTHER), sample.unbuilt(),
]  # fmt: skip
BOARD = scoreboard(ReportInputs([sample.CHALLENGE, OTHER], RECORDS))


def test_json_holds_the_figures_of_the_records():
    document = json.loads(as_json(BOARD))
    assert [c["id"] for c in document["challenges"]] == ["another", "kv_cache"]
    rows = {row["model"]: row for row in document["rows"]}
    assert [row["model"] for row in document["rows"]] == ["good", "glm-5", "broken", "baseline"]
    for record in RECORDS:
        mark = rows[record.model]["scores"][record.challenge]
        assert (mark["status"], mark["score"], mark["low"], mark["high"], mark["coverage"]) == (
            record.status, record.overall.score, record.overall.low, record.overall.high, record.overall.coverage,
        )  # fmt: skip
    assert "another" not in rows["broken"]["scores"]
    assert (rows["good"]["rank"], rows["good"]["medal"], rows["baseline"]["rank"]) == (1, "gold", None)


def test_csv_and_json_agree():
    rows = list(csv.DictReader(io.StringIO(as_csv(BOARD))))
    document = json.loads(as_json(BOARD))
    assert [row["model"] for row in rows] == [row["model"] for row in document["rows"]]
    for line, row in zip(rows, document["rows"], strict=True):
        assert line["rank"] == ("" if row["rank"] is None else str(row["rank"]))
        assert float(line["mean"]) == row["mean"]
        for challenge in ("another", "kv_cache"):
            mark = row["scores"].get(challenge)
            for part in ("score", "low", "high", "coverage"):
                text = line[f"{challenge}_{part}"]
                assert (float(text) if text else None) == (mark[part] if mark else None)


@pytest.mark.parametrize(
    "lines",
    [["98, 87 %", "[85, 98]"], ["49, 87 %", "[40, 53]"], ["0, 87 %", "[0, 13]", "does not build"]],
)
def test_table_and_markdown_show_the_same_marks_line_by_line(lines):
    console = Console(width=250, file=io.StringIO(), record=True)
    console.print(as_table(BOARD))
    table = console.export_text().splitlines()
    found = [(n, at.start()) for n, line in enumerate(table) for at in re.finditer(re.escape(lines[0]), line)]
    assert any(all(table[n + i][at:].startswith(line) for i, line in enumerate(lines)) for n, at in found)
    first, *below = lines
    assert re.search(rf"\[{re.escape(first)}\]\([^)]*\) \({re.escape(', '.join(below))}\)", as_markdown(BOARD))


def test_a_wide_table_goes_on_below_with_its_models_again():
    parts = {}
    for width in (44, 60, 250):
        console = Console(width=width, file=io.StringIO(), record=True)
        console.print(as_table(BOARD))
        text = console.export_text()
        assert max(map(len, map(str.rstrip, text.splitlines()))) <= width
        parts[width] = text.split("\n\n")
    assert [len(parts[width]) for width in (44, 60, 250)] == [3, 2, 1]
    assert all(sum(line.split()[:1] == ["Rank"] for line in part.splitlines()) == 1 for part in parts[44])
    assert all(model in part for part in parts[44] for model in ("good", "glm-5", "broken", "baseline"))
    shown = " ".join(parts[44])
    assert all(mark in shown for mark in ("98, 87 %", "[85, 98]", "0, 87 %", "no record"))


def test_the_report_is_the_markdown():
    assert render_all(ReportInputs([sample.CHALLENGE, OTHER], RECORDS))["scoreboard.md"] == as_markdown(BOARD)


def test_who_lacks_a_challenge_has_a_place_in_brackets_and_is_told_why():
    suite = ChallengeSuite(id="both", title="both", challenges=("another", "kv_cache"))
    board = scoreboard(ReportInputs([sample.CHALLENGE, OTHER], RECORDS, suite=suite))
    text = as_markdown(board)
    assert "* broken: provisional: graded on 1 of 2 challenges, not on another." in text
    assert "| (3) | broken (reconstruction) | **0, 87 %**; 1 of 2 |" in text
    (line,) = [line for line in csv.DictReader(io.StringIO(as_csv(board))) if line["model"] == "broken"]
    assert (line["rank"], line["provisional"], line["missing"]) == ("", "3", "another")


def test_a_narrow_terminal_loses_no_word_of_the_table():
    console = Console(width=70, file=io.StringIO(), record=True)
    console.print(as_table(BOARD))
    assert "…" not in console.export_text()
