"""A model that saw what was found in its earlier replies wins nothing against one that was asked once."""

import csv
import io
import json

import sample_records as sample

from harness.model import Round
from harness.report.pages import render_all
from harness.report.views.board.rounds import round_view
from harness.report.views.board.scoreboard import Scoreboard, scoreboard
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import MarkSource
from harness.report.writers.page import page
from harness.report.writers.scoreboard_svg import as_svg
from tests.written import as_csv, as_json, as_markdown

ONCE = [sample.record("good", sample.RIGHT), sample.record("poor", sample.NON_CAUSAL)]
MENDED = sample.record("mended-3-turns", sample.RIGHT).model_copy(update={"turns": 3})
TRIED = sample.record("tried-3-turns", sample.NON_CAUSAL).model_copy(update={"turns": 3})


def inputs(*more: object) -> ReportInputs:
    return ReportInputs((sample.CHALLENGE,), [*ONCE, *more])


def board(*more: object) -> Scoreboard:
    return scoreboard(inputs(*more))


def ranks(found: Scoreboard) -> dict[str, str]:
    return {row.standing.model: row.rank for row in found.rows}


def test_nobody_asked_once_moves_on_the_board() -> None:
    before = board()
    after = board(MENDED, TRIED)
    assert [row.standing for row in after.rows[:2]] == [row.standing for row in before.rows]
    assert [row.won for row in after.rows[:2]] == [row.won for row in before.rows]
    assert ranks(after) == {
        "good": "1 (gold)", "poor": "2 (silver)", "mended-3-turns": "1† (gold)", "tried-3-turns": "2† (silver)",
    }  # fmt: skip


def test_what_marks_come_to_is_told_of_models_asked_once() -> None:
    before, after = board(), board(MENDED, TRIED)
    assert [w.result for w in after.challenge_winners] == [w.result for w in before.challenge_winners]
    assert after.gaps == before.gaps and after.hybrids == before.hybrids and after.certainty == before.certainty


def test_every_form_of_the_board_tells_which_are_ranked_apart() -> None:
    found = board(MENDED)
    text = as_markdown(found)
    assert "| 1† | mended-3-turns (reconstruction) |" in text and "is ranked among models asked so" in text
    assert [row["turns"] for row in json.loads(as_json(found))["rows"]] == [1, 1, 3]
    assert [row["turns"] for row in csv.DictReader(io.StringIO(as_csv(found)))] == ["1", "1", "3"]
    assert "1†" in as_svg(found, "Board") and "1†" in page(inputs(MENDED))
    assert "ranked among models asked so" not in as_markdown(board())


def test_a_round_is_won_by_a_model_asked_once() -> None:
    round = Round(
        id="r", title="R", models=tuple(r.model for r in (*ONCE, MENDED)), challenges=(sample.CHALLENGE.id,)
    )  # fmt: skip
    view = round_view(inputs(MENDED), round, MarkSource.MEASURED)
    assert view.verdict.startswith("good wins by ")
    assert [row.standing.place for row in view.rows] == ["1", "2", "1†"]


def test_the_verdict_on_a_challenge_compares_models_asked_once() -> None:
    with_mended, without = (render_all(inputs(*more))["kv_cache.md"] for more in ([MENDED], []))
    lead = next(line for line in without.splitlines() if "good has" in line)
    assert lead in with_mended


def test_where_all_were_asked_in_several_turns_they_make_the_board() -> None:
    found = scoreboard(ReportInputs((sample.CHALLENGE,), [MENDED, TRIED]))
    assert list(ranks(found).values()) == ["1† (gold)", "2† (silver)"]
    assert len(found.gaps) == 1 and "mended-3-turns" in found.challenge_winners[0].result
