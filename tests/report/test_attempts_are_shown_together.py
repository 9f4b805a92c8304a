"""Reports show several attempts as one answer: mean and spread, pass@k, and how many meet each criterion."""

import json
from html.parser import HTMLParser
from statistics import stdev

import pytest
import sample_records as sample

from harness.model import BuildFailure, Outcome, Record
from harness.report.pages import render_all
from harness.report.views.answers import answers
from harness.report.views.attempts import attempts_report
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.comparison import compare
from harness.report.views.inputs import ReportInputs
from harness.scoring.attempts import Attempts
from tests.written import (
    as_csv,
    as_json,
    attempts_csv,
    attempts_json,
    attempts_markdown,
    compared_csv,
    compared_data,
    compared_markdown,
)


def attempts(model: str, marks: str) -> list[Record]:
    """An attempt for each letter: r a right one, f one that fails a critical criterion."""
    kinds = {"r": sample.record(model, sample.RIGHT), "f": sample.record(model, FAILING)}
    return [kinds[mark].model_copy(update={"attempt": number}) for number, mark in enumerate(marks, 1)]


FAILING = sample.RIGHT | {"causality": {"outcome": Outcome.FAILED, "title": "sees later positions", "detail": "Seen."}}
RECORDS = [*attempts("alpha", "rrfrf"), *attempts("beta", "fff"), sample.record("gamma", sample.RIGHT)]


def several(model: str) -> Attempts:
    (found,) = (a.attempts for a in answers(RECORDS) if a.model == model)
    assert found is not None
    return found


def inputs() -> ReportInputs:
    return ReportInputs((sample.CHALLENGE,), RECORDS)


def test_the_middle_attempt_by_mark_stands_for_all() -> None:
    by_model = {a.model: a for a in answers(RECORDS)}
    assert by_model["alpha"].shown.attempt == 1 and by_model["beta"].shown.attempt == 2
    assert by_model["alpha"].marked.overall == several("alpha").overall
    assert by_model["gamma"].attempts is None and by_model["gamma"].shown.attempt is None


def test_the_view_counts_what_the_attempts_meet() -> None:
    view = attempts_report(sample.CHALLENGE, several("alpha"))
    assert view.count == "5" and dict(view.figures)["Pass"] == "3 of 5"
    assert dict(view.pass_at) == {"1": "60 %", "2": "90 %", "3": "100 %", "4": "100 %", "5": "100 %"}
    counts = {count.id: count.met for count in view.criteria}
    assert counts["causality"] == "met by 3 of 5" and counts["first_token"] == "met by 5 of 5"
    assert view.gravest == "sees later positions (in 2 of 5)"
    assert [row.name for row in view.rows] == [f"alpha/kv_cache/attempt-{n}" for n in range(1, 6)]


def test_every_page_shows_each_model_once_with_its_mean() -> None:
    pages = render_all(inputs())
    mean = f"{several('alpha').overall.score:g}"
    challenge = pages["kv_cache.md"]
    assert challenge.count("\n### alpha\n") == 1 and "9 submissions" in challenge
    for text in ("met by 3 of 5", "`alpha/kv_cache/attempt-4`", "3 of 5", "pass@1 60 %, pass@2 90 %"):
        assert text in challenge
    board = pages["scoreboard.md"]
    assert "## Attempts" in board and "mean of 5 attempts, SD" in board and mean in board
    pair = pages["head_to_head/alpha_vs_beta.md"]
    assert "3 of 5 pass" in pair and "0 of 3 pass" in pair and "met by 0 of 3" in pair


def test_the_page_holds_attempts_and_each_id_once() -> None:
    ids: list[str] = []

    class Ids(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            ids.extend(value or "" for name, value in attrs if name == "id")

    page = render_all(inputs())["index.html"]
    Ids().feed(page)
    assert len(ids) == len(set(ids)) and "alpha/kv_cache" in ids
    assert "pass@5" in page and "met by 3 of 5" in page


def test_without_attempts_nothing_speaks_of_them() -> None:
    single = ReportInputs((sample.CHALLENGE,), [sample.record(m, sample.RIGHT) for m in ("alpha", "beta")])
    for name, text in render_all(single).items():
        assert "pass@" not in text and "attempt" not in text.partition("<script")[0], name


def test_two_models_are_compared_over_their_attempts() -> None:
    compared = compare([sample.CHALLENGE], RECORDS, "alpha", "beta")
    (shared,) = compared.challenges
    assert shared.duel.attempts == (5, 3) and "means of 5 and 3 attempts" in shared.result
    assert next(row.criterion.id for row in shared.apart if row.lead and row.lead > 0) == "causality"
    data = compared_data(compared)["challenges"][0]
    assert data["left"]["pass_at"]["1"] == 0.6 and json.dumps(data)
    assert "met by 3 of 5: sees later positions" in compared_markdown(compared)
    assert "0.6" in compared_csv(compared)


def test_single_answers_and_attempts_meet() -> None:
    (shared,) = compare([sample.CHALLENGE], RECORDS, "gamma", "beta").challenges
    assert shared.duel.winner == "gamma" and shared.duel.attempts == (1, 3)


def test_formats_of_the_summary_agree() -> None:
    found = several("alpha")
    data = attempts_json(sample.CHALLENGE, found)
    assert data["overall"]["score"] == found.overall.score and len(data["records"]) == 5
    assert data["criteria"]["causality"] == {"met": 3, "assessed": 5}
    assert attempts_csv(sample.CHALLENGE, found).count("\n") == 6
    assert "* Pass: 3 of 5" in attempts_markdown(sample.CHALLENGE, found)


def test_the_board_states_the_attempts_in_its_data() -> None:
    board = scoreboard(inputs())
    rows = {row["model"]: row["scores"]["kv_cache"] for row in json.loads(as_json(board))["rows"]}
    assert rows["alpha"]["attempts"] == 5 and rows["alpha"]["pass_at"]["2"] == 0.9 and "attempts" not in rows["gamma"]
    assert as_csv(board).count("\n") == 4


def test_an_attempt_without_an_answer_counts_in_every_figure_and_is_named() -> None:
    """One of five passes: pass@1 is 20 %, where the four with code alone would say 25 %."""
    given = attempts("delta", "rffff")
    nothing = {"model": "delta", "attempt": 3, "build": BuildFailure(stage="reply", text="is a refusal")}
    given[2] = sample.unbuilt().model_copy(update=nothing)
    marks = [record.overall.score or 0.0 for record in given]
    (one,) = (answer.attempts for answer in answers(given))
    assert one is not None
    found = attempts_json(sample.CHALLENGE, one)
    assert (found["attempts"], found["marked"], found["unanswered"], found["passed"]) == (5, 5, 1, 1)
    assert (found["pass_at"]["1"], found["pass_at"]["5"]) == (0.2, 1.0)
    assert marks[2] == 0 and found["overall"]["score"] == pytest.approx(sum(marks) / 5)
    assert found["deviation"] == pytest.approx(stdev(marks))
    words = "1 of 5 gave no code that can be graded"
    assert attempts_report(sample.CHALLENGE, one).count == f"5, {words}"
    assert f"5, {words}" in attempts_markdown(sample.CHALLENGE, one)
    pages = render_all(ReportInputs((sample.CHALLENGE,), given))
    assert all(words in pages[name] for name in ("kv_cache.md", "scoreboard.md", "index.html"))
