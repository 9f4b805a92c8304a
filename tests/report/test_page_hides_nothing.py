"""Every mark on the page leads to its evidence, what was not assessed is no zero, and what is missing is said."""

import json

import pytest
import sample_records as sample
from page_reader import Element, read

from harness.model import Challenge, Location, Mark, Outcome, Provenance, Review, Reviewer
from harness.report.documents import index
from harness.report.views.inputs import ReportInputs
from harness.report.writers.page import page

OTHER = sample.CHALLENGE.model_copy(update={"id": "another", "title": "Another task"})
GOOD = sample.record("good", sample.RIGHT, provenance=Provenance.MODEL_OUTPUT)


def shown(*records, challenges=(sample.CHALLENGE,), reviews=(), sources=None) -> Element:
    return read(page(ReportInputs(challenges, records, reviews, sources=sources or {})))


def board(tree: Element) -> dict[str, list[Element]]:
    """Cells of the scoreboard by model."""
    rows = tree.one("table", id="board").one("tbody").all("tr")
    return {row.attributes["data-model"]: [c for c in row.children if isinstance(c, Element)] for row in rows}


def matrix(tree: Element, model: str) -> dict[str, Element]:
    """Cells of one model in the table of criteria, by the first word of their row."""
    table = tree.one("div", **{"aria-label": "KV cache: criteria and models"})
    column = [th.text for th in table.one("thead").all("th")].index(model) - 1
    return {row.one("th").text.split(" (")[0]: row.all("td")[column] for row in table.one("tbody").all("tr")}


def test_every_mark_links_to_its_criteria():
    tree = shown(sample.record(), GOOD, sample.unbuilt())
    ids = {e.attributes["id"]: e for e in tree.all() if "id" in e.attributes}
    links = [a.attributes["href"][1:] for cell in tree.all("td", class_="mark") for a in cell.all("a")]
    # three submissions: an overall on the board, an overall and five dimensions beside the criteria
    assert len(links) == 3 * (1 + 1 + 5)
    assert {ids[link].tag for link in links} == {"details"}
    cells = tree.one("div", **{"aria-label": "KV cache: criteria and models"}).all("td")
    assert len([a for cell in cells for a in cell.all("a") if ids[a.attributes["href"][1:]].tag == "tr"]) == 3 * 11
    for criterion in sample.CRITERIA:
        assert sample.CRITERIA and ids[f"glm-5/kv_cache/{criterion.dimension}/{criterion.id}"].tag == "tr"


def test_marks_come_with_interval_coverage_and_status():
    tree = shown(sample.record(), sample.unbuilt())
    assert board(tree)["glm-5"][3].text == "49, 87 % [40, 53]"
    assert board(tree)["broken"][3].text == "0, 87 % [0, 13] does not build"
    assert board(tree)["broken"][3].has("class", "zero")


def test_what_nobody_assessed_is_no_number_and_sorts_last():
    cell = matrix(shown(sample.record()), "glm-5")["GPU mapping"]
    assert (cell.text, cell.attributes["data-sort"], cell.has("class", "open")) == ("not assessed", "", True)
    assert not cell.all("svg")


def test_nothing_assessed_at_all_is_shown_as_such():
    unrun = {c.id: {"outcome": Outcome.JUDGE_ERROR, "detail": "the box broke"} for c in sample.CRITERIA}
    tree = shown(sample.record("glm-5", unrun, status="judge_error", error="BoxError: gone"))
    assert {c.text.partition(" could")[0] for c in matrix(tree, "glm-5").values()} == {"not assessed", "· judge error"}
    assert board(tree)["glm-5"][3].text == "not assessed could not be graded"
    assert "BoxError: gone" in tree.one("details", id="glm-5/kv_cache").text
    assert "No weakness was seen" not in tree.one("details", id="glm-5/kv_cache").text
    assert json.loads(tree.one("script", id="marks").text)["marks"]["glm-5"]["kv_cache"] == ["not assessed"] * 6


def test_a_gate_names_its_probe_its_counterexample_and_how_to_see_it_again():
    gate = shown(sample.record()).one("details", id="glm-5/kv_cache")
    highest = "55.67 (59 less 10 times the 33.3 % not met of the critical weight assessed)"
    assert f"Overall at most {highest}: a critical criterion failed: causality" in gate.text
    assert "probe causality" in " ".join(gate.text.split()) and "B = 1, H = 1, S = 2, D = 1" in gate.text
    assert "expected 0.25, got 0.518" in gate.text
    assert "harness replay glm-5/kv_cache causality" in gate.text


def test_a_finding_shows_the_lines_at_its_locations():
    places = (("answer.py", 5), ("gone.py", 1), ("answer.py", 99))
    failed = sample.FUTURE | {"locations": tuple(Location(file=file, line=line) for file, line in places)}
    record = sample.record(outcomes=sample.RIGHT | {"causality": failed})
    lines = [f"line {n}  <b>{'x' * 300 if n == 6 else n}</b>" for n in range(1, 12)]
    sources = {record.name: {"answer.py": "\n".join(lines)}}
    tree = shown(record, sources=sources)
    (excerpt,) = tree.one("details", id=record.name).all("figure", class_="code")
    assert excerpt.one("figcaption").text == "answer.py, line 5"
    told = [line.strip() for line in "".join(_words(excerpt.one("pre"))).split("\n")]
    assert [line.split()[0] for line in told] == ["2", "3", "4", "5", "6", "7", "8"]
    assert told[3] == "5 line 5  <b>5</b>"
    assert max(map(len, told)) <= 210 and told[4].endswith("…")
    assert excerpt.one("pre").one("b").text.startswith("5 line 5")
    assert not shown(record).all("figure", class_="code")


def _words(element: Element) -> list[str]:
    return [word for c in element.children for word in ([c] if isinstance(c, str) else _words(c))]


def test_reviews_stand_beside_what_was_measured():
    reviewer = Reviewer(kind="published", id="round-1", date="2026-04")
    marks = (Mark(target="correctness", mark=95, remark="Reads well."),)
    given = Review(model="glm-5", challenge="kv_cache", reviewer=reviewer, marks=marks, overall=91)
    tree = shown(sample.record(), reviews=[given])
    table = tree.one("details", id="glm-5/kv_cache").one("div", **{"aria-label": "Reviews of glm-5 on KV cache"})
    rows = {row.one("th").text: [c.text for c in row.all("td")] for row in table.one("tbody").all("tr")}
    assert rows["Correctness"][1:] == ["95"]
    assert rows["Overall"] == ["49 [40, 53], 87 %", "91"]
    assert board(tree)["glm-5"][3].text == "49, 87 % [40, 53]"


def test_provenance_stands_beside_every_row():
    tree = shown(sample.record(), GOOD)
    rows = [r for table in tree.all("table") for r in table.all("tr") if "data-model" in r.attributes]
    assert len(rows) == 4
    for row in rows:
        provenance = {"glm-5": "reconstruction", "good": "model output"}[row.attributes["data-model"]]
        assert row.attributes["data-provenance"] == provenance
    assert all(p in board(tree)[m][1].text for m, p in (("glm-5", "reconstruction"), ("good", "model output")))


def test_an_empty_workspace_says_what_to_do():
    text = shown(challenges=()).one("main").text
    assert "Nothing has been graded yet: harness grade --all" in text
    assert "There is no challenge here." in text


def test_a_challenge_nobody_answered_is_there_and_empty():
    tree = shown(sample.record(), challenges=[sample.CHALLENGE, OTHER])
    (fold,) = [d for d in tree.all("details") if d.all("summary")[0].text == "No model has answered 1 more yet"]
    assert "Another task" in fold.text


def test_one_model_alone_makes_a_whole_page():
    tree = shown(GOOD)
    assert list(board(tree)) == ["good"]
    assert [len(s.all("option")) for s in tree.all("select")[-2:]] == [1, 1]


def test_a_challenge_that_one_model_did_not_answer_has_no_mark_for_it():
    tree = shown(sample.record(), GOOD, sample.record(challenge=OTHER), challenges=[sample.CHALLENGE, OTHER])
    assert board(tree)["good"][3].text == "no record"
    assert board(tree)["good"][3].attributes["data-sort"] == ""


def test_of_very_many_submissions_every_mark_still_leads_somewhere(monkeypatch):
    monkeypatch.setattr(index, "MOST_DETAILED", 1)
    tree = shown(sample.record(), GOOD)
    ids = {e.attributes.get("id") for e in tree.all()}
    assert {a.attributes["href"][1:] for a in tree.all("a")} <= ids
    details = tree.one("details", id="glm-5/kv_cache")
    assert sample.FUTURE["title"] in details.text and not details.all("table")


@pytest.mark.parametrize("provenance", list(Provenance))
def test_a_row_can_be_found_by_its_provenance(provenance):
    tree = shown(sample.record(provenance=provenance))
    (row,) = [r for r in tree.one("table", id="board").all("tr") if "data-model" in r.attributes]
    options = [o.text for o in tree.one("select", id="filter-provenance").all("option")]
    assert row.attributes["data-provenance"] in options


def test_the_data_to_compare_are_the_marks_of_the_records():
    record: Challenge | object = sample.record()
    data = json.loads(shown(record).one("script", id="marks").text)
    assert data["challenges"]["kv_cache"]["parts"][:2] == [["", "Overall"], ["correctness", "Correctness"]]
    assert data["marks"]["glm-5"]["kv_cache"][0] == [49, 40, 53, "87 %"]
    assert data["marks"]["glm-5"]["kv_cache"][4] == "not assessed"
