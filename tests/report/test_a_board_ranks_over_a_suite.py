"""A board ranks over its suite: what is outside it, and who answered little, changes nobody else's place."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
import sample_records as sample
from toy_suites import written

from harness.errors import NotFoundError, SpecError
from harness.model import Challenge, ChallengeSuite, Record
from harness.report.pages import render_all
from harness.report.views.board.scoreboard import Scoreboard, scoreboard
from harness.report.views.inputs import ReportInputs
from harness.report.writers.page import page
from harness.scoring.suites import ALL_MARKED, board_suite, find_suite, read_suites
from harness.store.own_suite import ranking_suite
from harness.workspace import Workspace
from tests.written import as_json, as_markdown

CHECKOUT = Path(__file__).parents[2]
FIRST, SECOND, NEW = (
    sample.CHALLENGE.model_copy(update={"id": id, "title": id.title()}) for id in ("first", "second", "new")
)
CORE = ChallengeSuite(id="core", title="core", challenges=("first", "second"))
WHOLE = [
    sample.record(model, outcomes, challenge=challenge)
    for model, outcomes in (("good", sample.RIGHT), ("poor", sample.NON_CAUSAL))
    for challenge in (FIRST, SECOND)
]
OUTSIDE = sample.record("poor", sample.RIGHT, challenge=NEW)
SPARSE = sample.record("sparse", sample.RIGHT, challenge=SECOND)


def board(records: list[Record], suite: ChallengeSuite | None = CORE) -> Scoreboard:
    challenges: list[Challenge] = [FIRST, SECOND, NEW]
    return scoreboard(ReportInputs(challenges, records, suite=suite))


def places(found: Scoreboard) -> dict[str, tuple[object, ...]]:
    return {
        row.standing.model: (row.rank, row.standing.mean, row.standing.strength, row.standing.chances)
        for row in found.rows
    }


@pytest.mark.parametrize("suite", [CORE, None], ids=["core", "no suite"])
@pytest.mark.parametrize("added", [[OUTSIDE], [SPARSE], [OUTSIDE, SPARSE]], ids=["challenge", "model", "both"])
def test_nobody_else_moves(suite: ChallengeSuite | None, added: list[Record]) -> None:
    before, after = places(board(WHOLE, suite)), places(board([*WHOLE, *added], suite))
    assert {model: after[model] for model in before} == before
    assert {before["good"][0], before["poor"][0]} == {"1 (gold)", "2 (silver)"}


def test_what_is_left_out_is_told_with_what_shows_it() -> None:
    text = as_markdown(board([*WHOLE, OUTSIDE]))
    assert "to which these do not belong: new; harness scoreboard --suite all counts them." in text
    assert "New" not in text.partition("\n| Rank")[2].partition("\n")[0]
    without = as_markdown(board([*WHOLE, OUTSIDE], None))
    assert "Ranked over first, second, which most models have answered together, and not over new." in without
    assert "[New](new.md)" in without


def test_a_sparse_model_is_told_what_it_lacks() -> None:
    (row,) = [row for row in json.loads(as_json(board([*WHOLE, SPARSE])))["rows"] if row["model"] == "sparse"]
    assert (row["rank"], row["provisional"], row["missing"]) == (None, 1, ["first"])
    assert row["note"] == "provisional: graded on 1 of 2 challenges, not on first"


def test_the_page_shows_models_that_answered_nothing_of_the_suite() -> None:
    stranger = sample.record("stranger", sample.RIGHT, challenge=NEW)
    text = page(ReportInputs([FIRST, SECOND, NEW], [*WHOLE, stranger], suite=CORE))
    assert "not ranked: graded on 0 of 2 challenges" in text


def test_the_committed_board_is_that_of_all_eight_challenges_with_the_first_three_as_core() -> None:
    workspace = Workspace(CHECKOUT)
    board, core = read_suites(workspace)
    assert list(core.challenges) == ["fused_softmax_topk", "kv_cache", "layernorm_backward"]
    assert sorted(board.challenges) == sorted(workspace.challenges())
    assert find_suite((board, core), board_suite(workspace)) == board
    assert find_suite((board, core), None) == core


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[[suites]]\nid = "core"\ntitle = "c"\nchallenges = ["frist"]\n',
            r"suites\.core: no challenge 'frist'; did you",
        ),
        ('[[suites]]\nid = "core"\ntitle = "c"\nchallenges = []\n', "suite 'core' names no challenge"),
        ('[[suites]]\nid = "all"\ntitle = "c"\nchallenges = ["first"]\n', "give this one another id"),
        ('[[suites]]\nid = "a"\ntitle = "c"\nchallenges = ["first", "first"]\n', "names 'first' twice"),
        ('[[suites]]\nid = "a"\ntitle = "c"\nchallenges = ["first"]\n' * 2, "suite 'a' appears twice"),
        ('[[suites]]\nid = "a"\ntitel = "c"\n', "titel"),
    ],
)
def test_a_malformed_file_of_suites_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told) as raised:
        read_suites(written(tmp_path, text))
    assert "challenges/suites.toml" in str(raised.value)


def test_a_suite_is_chosen_by_name(tmp_path: Path) -> None:
    workspace = written(tmp_path, '[[suites]]\nid = "small"\ntitle = "s"\nchallenges = ["first"]\n')
    found = find_suite(read_suites(workspace), "small")
    assert found is not None and found.challenges == ("first",)
    assert find_suite(read_suites(workspace), None) is None
    with pytest.raises(NotFoundError, match="no suite 'smal'; did you mean 'small'"):
        find_suite(read_suites(workspace), "smal")


def thin(model: str, challenge: Challenge = NEW) -> Record:
    """A record with full marks for the little that was assessed of it."""
    unrun = {c.id: sample.NEEDS_REVIEW for c in sample.CRITERIA if c.id != "first_token"}
    return sample.record(model, {**unrun, "first_token": sample.PASSED}, challenge=challenge)


@pytest.mark.parametrize("suite", [None, ALL_MARKED], ids=["no suite", "all"])
def test_little_assessed_buys_no_place(suite: ChallengeSuite | None) -> None:
    without = places(board(WHOLE, suite))
    bought = board([*WHOLE, thin("poor"), thin("good")], suite)
    assert thin("poor").overall.coverage < 0.5
    assert places(bought) == without
    text = as_markdown(bought)
    assert "`new` is shown but does not count: for most models less than 50 % of its rubric could be assessed." in text
    assert "[New](new.md)" in text and "| Mean of 2 |" in text


def test_a_thin_challenge_is_in_no_tally_and_named_apart() -> None:
    wrong = sample.NON_CAUSAL | {"first_token": sample.FUTURE}
    lost = sample.record("good", wrong, challenge=NEW)
    inputs = ReportInputs([FIRST, SECOND, NEW], [*WHOLE, lost, thin("poor"), thin("third")], suite=ALL_MARKED)
    pages = render_all(inputs)
    text = pages["scoreboard.md"]
    assert scoreboard(inputs).thin == ("new",) and "| good | 2 of 2 |" in text
    assert "| 2-0 | first: good; second: good; not counted: new: poor |" in text
    page = pages["head_to_head/good_vs_poor.md"]
    assert "**2-0**: good is ahead of poor. A split counts half for each. Not counted, as on the" in page
    assert "| poor (not counted) |" in page


def test_what_most_models_were_assessed_on_counts_for_one_that_was_not() -> None:
    known = [sample.record("good", sample.RIGHT, challenge=NEW), sample.record("third", sample.RIGHT, challenge=NEW)]
    counted = board([*WHOLE, *known, thin("poor")], ALL_MARKED)
    assert (counted.thin, "new" in counted.compared) == ((), True)


def test_places_over_the_other_suites_stand_beside() -> None:
    inputs = ReportInputs([FIRST, SECOND, NEW], [*WHOLE, OUTSIDE], suite=ALL_MARKED, suites=(CORE, ALL_MARKED))
    found = scoreboard(inputs)
    (beside,) = found.beside
    alone = places(board(WHOLE))
    assert {m: (p.rank and f"{p.rank} ({p.medal})", p.mean) for m, p in beside.places.items()} == {
        model: place[:2] for model, place in alone.items()
    }
    assert "| Rank | Model | Mean of 3 | core (2) |" in as_markdown(found)
    assert "over the suite core, of 2 challenges" in as_markdown(found) and "core (2)" in page(inputs)
    rows = {row["model"]: row["suites"] for row in json.loads(as_json(found))["rows"]}
    assert rows["good"]["core"]["place"] == "1"


def test_the_file_of_suites_states_the_board(tmp_path: Path) -> None:
    suites = '[[suites]]\nid = "core"\ntitle = "c"\nchallenges = ["first"]\n'
    assert ranking_suite(written(tmp_path / "a", f'board = "all"\n{suites}')) == ALL_MARKED
    stated = ranking_suite(written(tmp_path / "b", suites))
    assert stated is not None and stated.id == "core"
    with pytest.raises(SpecError, match="board names no suite: 'al'"):
        ranking_suite(written(tmp_path / "c", f'board = "al"\n{suites}'))


def test_the_days_of_the_grades_stand_on_the_board() -> None:
    later = [r.model_copy(update={"made": r.made + timedelta(days=3)}) for r in WHOLE[:1]]
    """On the page alone, which is written anew for every machine: of equal outcomes the Markdown is the same."""
    inputs, moved = (ReportInputs([FIRST, SECOND], records) for records in (WHOLE, [*WHOLE[1:], *later]))
    assert "graded on 20 November 2026" in page(inputs)
    assert "graded from 20 November 2026 to 23 November 2026" in page(moved)
    assert as_markdown(board(WHOLE)) == as_markdown(board([*WHOLE[1:], *later]))
