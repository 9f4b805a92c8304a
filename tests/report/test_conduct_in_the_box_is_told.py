"""What an answer was seen doing in the box is in every report, said to carry no mark, and moves none."""

import csv
import io
import json
import re

import pytest
import sample_records as sample
from rich.console import Console

from harness.model import Signal, SignalKind
from harness.report.pages import render_all
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.inputs import ReportInputs
from tests.written import as_csv, as_json, as_markdown, as_table, show

SIGNALS = [
    Signal(kind=SignalKind.UNSEEN_FILE, detail="/etc/passwd"),
    Signal(kind=SignalKind.BACKGROUND, detail="0.4 s of processor time"),
]
UNMARKED = "carries no mark, look at it"


def watched(record):
    return record.model_copy(update={"signals": tuple(SIGNALS)})


def board(*records):
    return scoreboard(ReportInputs([sample.CHALLENGE], records))


def told(drawn) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(drawn)
    return console.file.getvalue()


def test_show_tells_it_behind_the_critical_failures():
    lines = told(show(sample.CHALLENGE, watched(sample.record()))).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"1. {sample.FUTURE['title']} (critical"))
    numbered = [line for line in lines[start:] if line[:1].isdigit() and ". " in line[:4]]
    assert numbered[1] == f"2. {SignalKind.UNSEEN_FILE.value} ({UNMARKED}: integrity)"
    assert numbered[2] == f"3. {SignalKind.BACKGROUND.value} ({UNMARKED}: integrity)"
    assert "Seen: /etc/passwd" in lines[lines.index(numbered[1]) + 1]
    assert "Run it again" not in lines[lines.index(numbered[1]) + 2]


def test_the_page_tells_it_with_the_weaknesses():
    page = render_all(ReportInputs([sample.CHALLENGE], [watched(sample.record("good", sample.RIGHT))]))["kv_cache.md"]
    assert f"1. **{SignalKind.UNSEEN_FILE.value}** ({UNMARKED}: `integrity`)" in page
    assert "No weakness was seen" not in page
    assert "This changes no mark; look at the findings: good/kv_cache." in page


@pytest.mark.parametrize("drawn", [as_markdown, lambda board: told(as_table(board))])
def test_the_scoreboard_flags_it_and_only_it(drawn):
    seen = drawn(board(watched(sample.record()), sample.record("good", sample.RIGHT))).replace("\\", "")
    assert "49, 87 % !" in seen and re.search(r"98, 87 %(?! !)", seen)
    assert "98, 87 % !" not in seen


def test_a_note_explains_the_flag_where_there_is_one():
    assert "look at the findings: glm-5/kv_cache." in "".join(board(watched(sample.record())).notes)
    assert board(sample.record()).notes == ()


def test_data_formats_count_it():
    flagged = board(watched(sample.record()), sample.record("good", sample.RIGHT))
    rows = {row["model"]: row["scores"]["kv_cache"]["integrity"] for row in json.loads(as_json(flagged))["rows"]}
    assert rows == {"glm-5": len(SIGNALS), "good": 0}
    lines = {line["model"]: line["kv_cache_integrity"] for line in csv.DictReader(io.StringIO(as_csv(flagged)))}
    assert lines == {"glm-5": str(len(SIGNALS)), "good": "0"}


def test_no_mark_and_no_rank_moves():
    records = [sample.record(), sample.record("good", sample.RIGHT)]
    plain, flagged = board(*records), board(*map(watched, records))
    assert [row.standing for row in flagged.rows] == [row.standing for row in plain.rows]
    assert [e.overall for row in flagged.rows for e in row.entries] == [
        e.overall for r in plain.rows for e in r.entries
    ]


def test_words_of_an_answer_stay_words():
    hostile = [Signal(kind=SignalKind.UNSEEN_FILE, detail="a|b`[x](http://y)<script>\x1b[2J")]
    record = sample.record()
    record = record.model_copy(update={"signals": tuple(hostile)})
    page = render_all(ReportInputs([sample.CHALLENGE], [record]))["kv_cache.md"]
    assert "<script>" not in page and "\x1b" not in page and "[x](http" not in page


def test_a_submission_that_does_not_build_still_says_why():
    page = render_all(ReportInputs([sample.CHALLENGE], [watched(sample.unbuilt())]))["kv_cache.md"]
    assert "```text\nSyntaxError: invalid syntax (answer.py, line 3)\n```" in page
