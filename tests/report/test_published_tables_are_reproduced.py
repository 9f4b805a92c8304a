"""With published marks the pages give the published rounds, ranking, tables and matchups figure by figure."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.report import formatting
from harness.report.pages import render_all
from harness.report.views.board.rounds import RoundView, round_view
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.head_to_head import HeadToHeads
from harness.report.views.inputs import gather
from harness.report.views.mark_source import MarkSource, marks
from harness.workspace import Workspace

FIGURES: dict[str, Any] = json.loads(Path(__file__).with_name("published_reviews.json").read_text(encoding="utf-8"))
MATERIAL = gather(Workspace(Path(__file__).parents[2]))
BOARD = scoreboard(MATERIAL, MarkSource.PUBLISHED)
MATCHES = HeadToHeads(MATERIAL, marks(MATERIAL, MarkSource.PUBLISHED))
PAGES = render_all(MATERIAL, MarkSource.PUBLISHED)
SCORES = [(each["id"], score) for each in FIGURES["rounds"] for score in each["scores"]]


def round_of(id: str) -> RoundView:
    (round,) = (r for r in MATERIAL.rounds if r.id == id)
    return round_view(MATERIAL, round, MarkSource.PUBLISHED)


@pytest.mark.parametrize(("round", "score"), SCORES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_published_mark_is_imported(round: str, score: dict[str, Any]) -> None:
    (review,) = (
        r
        for r in MATERIAL.reviews
        if (r.reviewer.id, r.model, r.challenge) == (round, score["model"], score["challenge"])
    )
    published = dict(zip(FIGURES["dimensions"][score["challenge"]], score["marks"], strict=True))
    assert {mark.target: mark.mark for mark in review.marks} == published
    assert review.overall == score["overall"]


@pytest.mark.parametrize("id", FIGURES["expected_round_tables"])
def test_a_round_has_its_overalls_averages_and_margins(id: str) -> None:
    wanted = FIGURES["expected_round_tables"][id]
    view = round_of(id)
    columns = [challenge.id for challenge in view.challenges]
    told = {row.standing.model: dict(zip(columns, row.marks, strict=True)) for row in view.rows}
    (round,) = (r for r in FIGURES["rounds"] if r["id"] == id)
    for score in round["scores"]:
        assert told[score["model"]][score["challenge"]] == str(score["overall"])
    assert {row.standing.model: int(formatting.whole(row.standing.mean)) for row in view.rows} == wanted["average"]
    assert view.rows[0].standing.model == wanted["winner"]
    assert view.verdict.startswith(f"{wanted['winner']} wins by {wanted['margin']} points")
    winners = wanted.get("task_winners", dict.fromkeys(wanted["margins"], wanted["winner"]))
    assert {won.challenge.id: won.result for won in view.challenge_winners} == {
        challenge: f"{winners[challenge]} wins by {margin} points" for challenge, margin in wanted["margins"].items()
    }


def test_the_final_ranking_has_its_order_and_averages() -> None:
    places = [(row.standing.rank, row.standing.model, int(formatting.whole(row.standing.mean))) for row in BOARD.rows]
    assert places == [(p["rank"], p["model"], p["average"]) for p in FIGURES["expected_final_ranking"]]


@pytest.mark.parametrize("place", FIGURES["expected_final_ranking"], ids=lambda place: place["model"])
def test_best_and_worst_tasks_are_the_published_ones_or_told_as_contradictions(place: dict[str, Any]) -> None:
    (row,) = (row for row in BOARD.rows if row.standing.model == place["model"])
    told = {one.where: one.said for found in BOARD.contradictions.values() for one in found}
    titles = {c.id: c.title for c in MATERIAL.challenges}
    for word, shown in (("best", row.best), ("worst", row.worst)):
        said = place[word]
        as_published = f"{', '.join(sorted(titles[id] for id in said['challenges']))} ({said['published']})"
        contradicted = (
            told.get(f"{place['model']}, {word} task") == f"{', '.join(said['challenges'])} {said['published']}"
        )
        assert (shown == as_published) is not contradicted


def test_the_two_extremes_that_contradict_the_means_are_listed() -> None:
    found = BOARD.contradictions["A figure of the final ranking that does not follow from the reviews"]
    # 92 is the mean 92.5 rounded down, and 78 the lower of two rounds
    assert [(one.where, one.said) for one in found] == [
        ("qwen3.6-27b, best task", "kv_cache 92"),
        ("qwen3.6-27b, worst task", "fused_softmax_topk 78"),
    ]


def test_the_first_won_five_of_six() -> None:
    assert BOARD.rows[0].won == "5 of 6, 1 split"
    assert FIGURES["expected_final_ranking"][0]["matchups_won"] == "5/6"


@pytest.mark.parametrize("table", FIGURES["head_to_head"], ids=lambda t: f"{t['left']}-{t['right']}-{t['challenge']}")
def test_a_two_way_table_has_its_rows_edges_and_winner(table: dict[str, Any]) -> None:
    view = MATCHES.of(table["left"], table["right"])
    (bout,) = (b for b in view.sections if b.challenge.id == table["challenge"])
    shown = [[line.criterion, line.left, line.right, line.edge] for line in bout.lines]
    edge = {None: "", "tie": ""}
    assert shown == [[*row, edge.get(winner, winner)] for *row, winner in table["rows"]]
    assert bout.winner == (table["winner"] or "split")


def test_there_are_nine_tables_with_ninety_five_rows() -> None:
    shown = [b for m in BOARD.meetings for b in MATCHES.of(m.left, m.right).sections]
    assert (len(shown), sum(len(bout.lines) for bout in shown)) == (9, 95)


@pytest.mark.parametrize("wanted", FIGURES["expected_matchups"], ids=lambda m: f"{m['left']}-{m['right']}")
def test_a_matchup_has_its_winners_and_tally(wanted: dict[str, Any]) -> None:
    (meeting,) = (m for m in BOARD.meetings if {m.left, m.right} == {wanted["left"], wanted["right"]})
    assert f"{meeting.left} {meeting.tally}" == wanted["overall"]
    told = dict(each.split(": ") for each in meeting.winners.split("; "))
    assert told == {c: wanted[c] for c in ("fused_softmax_topk", "kv_cache", "layernorm_backward")}


def test_six_overalls_are_no_mean_and_three_submissions_were_marked_twice_differently() -> None:
    kinds = {kind: len(found) for kind, found in BOARD.contradictions.items()}
    # six of the twelve overalls equal the plain mean rounded half up; one model was in both rounds
    assert kinds["An overall that is not the mean of its dimensions, rounded half up"] == 6
    assert kinds["One submission marked differently in two rounds"] == 3
    assert kinds["A winner that does not follow from the edges"] == 2


def test_published_marks_never_move_a_measured_one() -> None:
    without = render_all(replace(MATERIAL, reviews=(), comparisons=(), ranking=None, letters=(), defects=()))
    measured = render_all(MATERIAL)
    for name in ("scoreboard.md", "rounds/round-1.md", "head_to_head/glm-5_vs_qwen3.6-27b.md"):
        assert measured[name] == without[name]


def test_published_pages_say_that_nobody_ran_anything() -> None:
    assert PAGES
    for name, text in PAGES.items():
        if name.endswith(".svg"):
            continue
        assert "did not run them" in text, name
