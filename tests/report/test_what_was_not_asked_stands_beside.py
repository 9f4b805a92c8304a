"""The board with what original prompts did not ask for, and what they contradict, follow from the records."""

import html
import json
import re

import pytest
import sample_records as sample
from page_reader import read
from rich.console import Console

from harness.model import Challenge, Observation, Origin, Outcome, Record
from harness.report.exports.junit import junit
from harness.report.pages import NOT_ASKED, SCOREBOARD, render_all
from harness.report.views.board.not_asked_board import MarkPair, not_asked_board
from harness.report.views.inputs import ReportInputs
from harness.report.views.origins import origin_facts
from harness.report.views.submission import list_not_asked
from harness.scoring import score
from tests.written import show, shown_markdown

HOW = "Rule 4 hides the past, rule 7 shows it."
MODELS = {"glm-5": sample.NON_CAUSAL, "good": sample.RIGHT}


def origin(**fields: object) -> Origin:
    return Origin.model_validate(
        {
            "collection": "answers", "repository": "https://example.org/answers", "commit": "0" * 40, "folder": "kv",
            "licence": "MIT", "redistribute": True, "adapter": "adapter.py", "decides": "nothing", "dispute": "write",
            "prompt": "kv/PROMPT.md", "prompt_sha256": "1" * 64, **fields,
        }
    )  # fmt: skip


def answered(model: str, **fields: object) -> Record:
    """A record as a collection with that origin has it, its marks without what was not asked."""
    given = origin(**fields)
    record = sample.record(model, MODELS[model])
    scored = score(sample.CHALLENGE, record.evidence, built=True, unmarked=given.unmarked)
    marks = {"overall": scored.overall, "dimensions": scored.dimensions, "gates": scored.gates}
    return record.model_copy(update={"origin": given, **marks})


def inputs(**fields: object) -> ReportInputs:
    return ReportInputs([sample.CHALLENGE], [answered(model, **fields) for model in MODELS])


def test_marks_with_it_are_those_of_the_whole_evidence() -> None:
    board = not_asked_board(inputs(not_asked={"causality": "no word of it"}), ["kv_cache"])
    marks = {row.model: row.marks for row in board.rows}
    # by the sample: (3 x 100 + 1 x 75 + 1 x 100 + 1 x 0) / 6 without the mask, and with it, which is critical, the cap
    assert marks["glm-5"] == (MarkPair("79", "49"),) and not marks["good"][0].differ
    assert [(row.model, row.place.without, row.place.having) for row in board.rows] == [
        ("good", "1", "1"), ("glm-5", "2", "2"),
    ]  # fmt: skip
    assert (board.changed, board.marks) == (1, 2)
    ((criterion,),) = [prompt.criteria for prompt in board.prompts]
    assert (criterion.unmet, criterion.met) == (("failed: looks into the future (glm-5)",), ("good",))


def test_what_an_adapter_decides_counts_in_neither() -> None:
    board = not_asked_board(inputs(not_asked={"lint": "no"}, not_charged={"causality": "our adapter"}), ["kv_cache"])
    assert [pair.differ for row in board.rows for pair in row.marks] == [False, False]


def test_an_answer_that_was_not_assessed_is_named_on_neither_side() -> None:
    board = not_asked_board(inputs(not_asked={"gqa": "no groups"}), [])
    ((criterion,),) = [prompt.criteria for prompt in board.prompts]
    assert sample.NON_CAUSAL["gqa"]["outcome"] is Outcome.NOT_OFFERED
    assert (criterion.unmet, criterion.met) == ((), ("good",))


def test_every_kind_of_fault_that_was_seen_is_named() -> None:
    record = answered("glm-5", not_asked={"causality": "no word of it"})
    crash = Observation(title="`prefill` raises AssertionError")
    more = [e.model_copy(update={"also": (crash,)}) if e.criterion == "causality" else e for e in record.evidence]
    (beside,) = list_not_asked(sample.CHALLENGE, record.model_copy(update={"evidence": tuple(more)}))
    assert beside.seen.endswith(f": {sample.FUTURE['title']}; {crash.title}")


def test_the_scoreboard_leads_to_the_page_only_where_there_is_one() -> None:
    having, lacking = render_all(inputs(not_asked={"lint": "no"})), render_all(inputs())
    assert "](not_asked.md)" in having[SCOREBOARD] and "`kv/PROMPT.md`" in having[NOT_ASKED]
    assert NOT_ASKED not in lacking and "not_asked" not in lacking[SCOREBOARD]


def test_a_dimension_without_asked_criteria_is_said_to_be_not_asked() -> None:
    own = {c.id: "no word of it" for c in sample.CHALLENGE.criteria if c.dimension == "code_quality"}
    record = answered("glm-5", not_asked=own)
    assert "correctness" in record.dimensions and "code_quality" not in record.dimensions
    place = [d.id for d in sample.CHALLENGE.dimensions].index("code_quality")
    pages = render_all(ReportInputs([sample.CHALLENGE], [record]))
    text = pages["index.html"]
    matrix = read(text).one("div", **{"aria-label": "KV cache: criteria and models"})
    (row,) = [r for r in matrix.all("tr") if r.text.startswith("Code quality")]
    (data,) = re.findall('id="marks">(.*?)</script>', text)
    marks = json.loads(data)["marks"]["glm-5"]["kv_cache"]
    assert (row.one("td").text, marks[1 + place]) == ("not asked", "not asked")
    console = Console(width=300)
    with console.capture() as captured:
        console.print(show(sample.CHALLENGE, record))
    for shown in (pages["kv_cache.md"], captured.get(), shown_markdown(sample.CHALLENGE, record)):
        assert re.search(r"Code quality.*not asked", shown)


def test_a_build_that_lowers_every_mark_is_not_said_to_be_in_none() -> None:
    record = sample.unbuilt(origin=origin(not_asked={"lint": "no word of it", "gqa": "no groups"}))
    assert record.build is not None
    gating = record.model_copy(update={"build": record.build.model_copy(update={"criteria": ("lint",)})})
    told = [dict(origin_facts(one))["Not asked"].partition(":")[0] for one in (record, gating)]
    assert told == ["lint, gqa", "gqa"]


COMPILED = sample.CHALLENGE.model_copy(
    update={
        "criteria": tuple(
            c.model_copy(update={"metric": None, "compiler": "compiles"}) if c.id == "lint" else c
            for c in sample.CRITERIA
        )
    }
)


def pages(challenge: Challenge, record: Record) -> dict[str, str]:
    console = Console(width=300)
    with console.capture() as captured:
        console.print(show(challenge, record))
    shown = {"show": captured.get(), "md": shown_markdown(challenge, record)}
    return shown | render_all(ReportInputs([challenge], [record]))


@pytest.mark.parametrize("page", ["show", "md", "kv_cache.md", "index.html"])
@pytest.mark.parametrize("built", [True, False])
def test_what_decides_the_build_is_not_said_to_be_in_no_gate(page: str, built: bool) -> None:
    given = origin(not_asked={"lint": "pseudocode is allowed", "gqa": "no groups"})
    record = sample.record("one", sample.RIGHT, origin=given) if built else sample.unbuilt(origin=given)
    text = html.unescape(pages(COMPILED, record)[page])
    rest, end = ("#### ", "See it") if page == "kv_cache.md" else ("Also seen, not", "Graded")
    apart = text.partition("Not asked, yet it decides whether anything could be run")[2].partition(rest)
    assert "lint" in apart[0] and "pseudocode is allowed" in apart[0] and "gqa" not in apart[0]
    assert ("No repaired copy was graded." in apart[0]) is not built
    assert "gqa" in apart[2].partition(end)[0] and "pseudocode" not in apart[2]


def test_the_page_of_what_was_not_asked_names_what_decides_the_build() -> None:
    given = ReportInputs([COMPILED], [answered("good", not_asked={"lint": "no"})])
    assert "One exception: what fails `lint` cannot be run" in render_all(given)[NOT_ASKED]
    assert "One exception" not in render_all(inputs(not_asked={"gqa": "no"}))[NOT_ASKED]


@pytest.mark.parametrize("page", ["show", "md", "kv_cache.md", "index.html"])
def test_a_contradiction_of_the_prompt_stands_beside_the_finding(page: str) -> None:
    record = answered("glm-5", contradicted={"causality": HOW, "lint": "Never shown: it is met."})
    text = html.unescape(pages(sample.CHALLENGE, record)[page])
    finding = text[text.index(sample.FUTURE["title"]) :]
    assert "Its prompt" in finding and HOW in finding
    assert "Never shown" not in text
    assert record.overall == sample.record("glm-5", sample.NON_CAUSAL).overall


def test_what_several_answers_share_is_written_once_with_their_names() -> None:
    """The adapter's own words stand beside the model that they are about."""
    why = "our adapter cuts each row"
    shared = {"not_asked": {"gqa": "no groups"}, "dispute": "open an issue", "decides": "rows are cut"}
    one, other, third = (
        answered(name, **shared, not_charged=charged)
        for name, charged in (
            ("glm-5", {"lint": why, "shapes": why}),
            ("good", {"lint": why, "shapes": why}),
            ("good", {}),
        )
    )
    third = third.model_copy(update={"model": "third"})
    text = render_all(ReportInputs([sample.CHALLENGE], [one, other, third]))["kv_cache.md"]
    assert text.count("open an issue") == text.count(why) == 1
    assert f"| Not charged | good, glm-5 | lint, shapes: {why} |" in text
    assert "| A wrong finding | all | open an issue |" in text
    assert "did not ask for is in no mark: [why, and what was seen](not_asked.md)" in text


def test_every_criterion_that_is_not_charged_reaches_ci() -> None:
    record = answered("good", not_charged={"lint": "first", "shapes": "second"})
    (found,) = re.findall('name="not charged" value="([^"]*)"', junit([record]))
    assert found == "lint: first; shapes: second"


def test_a_terminal_names_the_adapter_and_the_way_to_contest_a_finding_in_two_lines() -> None:
    record = answered("glm-5", not_charged={"lint": "our adapter"}, dispute="open an issue")
    shown = pages(sample.CHALLENGE, record)
    lines = [line.strip() for line in shown["show"].splitlines()]
    assert "Our adapter: adapter.py for kv, no line of it counted; 1 criterion is not charged" in lines
    assert "All of this, and how to contest a finding: harness show glm-5/kv_cache --format md" in lines
    assert "* A wrong finding: open an issue" in shown["md"]
    assert "contest" not in pages(sample.CHALLENGE, sample.record())["show"]
