"""Marks show interval and coverage, what was not assessed is never a zero, gates and provenance are always named."""

import re

import pytest
import sample_records as sample
from rich.console import Console

from harness.errors import SpecError
from harness.model import ErrorRatioScale, Observation, Outcome, Provenance
from harness.report import formatting
from harness.report.pages import render_all
from harness.report.views.finding import weaknesses
from harness.report.views.inputs import ReportInputs
from tests.written import show, shown_markdown

UNREVIEWED = "GPU mapping"


def page(*records, challenge=sample.CHALLENGE) -> str:
    return render_all(ReportInputs([challenge], records))["kv_cache.md"]


def board(*records) -> str:
    return render_all(ReportInputs([sample.CHALLENGE], records))["scoreboard.md"]


def section(text: str, heading: str) -> str:
    """From a heading to the next of its depth or higher."""
    depth = heading.count("#")
    return re.split(rf"^#{{1,{depth}}} ", text.split(heading + "\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def row(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_dimension_nobody_assessed_is_said_so_everywhere():
    text = page(sample.record())
    assert row(section(text, "## Dimension by dimension"), UNREVIEWED)[1:] == ["0.5", "glm-5 **not assessed**"]
    assert row(section(text, f"### {UNREVIEWED}"), "The mapping")[1:] == ["", "", "", "glm-5", ""]


def test_a_grade_that_failed_on_our_side_has_no_mark():
    unrun = {c.id: {"outcome": Outcome.JUDGE_ERROR, "detail": "the box broke"} for c in sample.CRITERIA}
    broken = sample.record("glm-5", unrun, status="judge_error", error="BoxError: the worker did not start")
    text, scores = page(broken), board(broken)
    assert row(section(text, "## At a glance"), "[glm-5]")[2] == "not assessed; could not be graded"
    assert "BoxError: the worker did not start" in section(text, "### glm-5")
    assert "Nothing was seen to hold" not in section(text, "### glm-5")
    assert "glm-5 [not assessed](kv_cache.md#glm-5) (could not be graded)" in row(scores, "[KV cache]")[1]
    assert "Not graded because the harness failed: glm-5/kv_cache" in scores


def test_every_mark_comes_with_interval_and_coverage():
    text = page(sample.record())
    assert row(section(text, "## At a glance"), "[glm-5]")[2] == "49, 87 %; [40, 53]"
    assert row(text, "Code quality")[2] == "glm-5 **100 [66.7, 100], 66 %**"
    assert row(board(sample.record()), "[KV cache]")[1] == "glm-5 [49, 87 %](kv_cache.md#glm-5) ([40, 53])"


def test_coverage_never_looks_larger_than_it_is():
    thin = sample.record()
    thin = thin.model_copy(update={"overall": thin.overall.model_copy(update={"coverage": 0.6999})})
    assert row(section(page(thin), "## At a glance"), "[glm-5]")[2].startswith("49, 69 %;")


def test_a_gate_names_its_criteria_probe_and_counterexample():
    text = section(page(sample.record()), "### glm-5")
    highest = "55.67 (59 less 10 times the 33.3 % not met of the critical weight assessed)"
    assert f"* Overall at most {highest}: a critical criterion failed: causality" in text
    assert "* Correctness at most 40: a critical criterion of Correctness failed: causality" in text
    assert "* Smallest failing input found: `B = 1, H = 1, S = 2, D = 1`, probe `causality`" in text
    assert "* At: `out[0, 0, 0, 1]: expected 0.25, got 0.518`" in text


def test_what_further_probes_saw_stands_beside_what_the_first_saw():
    also = (
        Observation(title="chunks see later tokens", detail="y[0] is 2"),
        Observation(title="weights are off", detail="y[1] is 3"),
    )
    lines = section(page(sample.changed(sample.record(), "causality", also=also)), "### glm-5").splitlines()
    assert [line.strip() for line in lines if "* Also: " in line] == [
        "* Also: chunks see later tokens: y[0] is 2",
        "* Also: weights are off: y[1] is 3",
    ]


def test_what_needs_a_review_is_listed_once_however_many_answers_there_are():
    asked = {c.id: c.review for c in sample.CRITERIA if c.review}
    unrun = {
        id: {"outcome": Outcome.NOT_RUN, "detail": f"needs a review: {question}"} for id, question in asked.items()
    }
    records = [sample.record(model, outcomes=sample.RIGHT | unrun) for model in ("one", "two", "three")]
    text = page(*records)
    assert row(section(text, "### Not assessed"), "needs a review") == [
        "needs a review", ", ".join(f"`{id}`" for id in asked), "all"
    ]  # fmt: skip
    assert text.count("needs a review") == text.count("What a reviewer is asked stands in challenge.toml.") == 1


def test_a_failed_build_shows_its_words_once_and_its_gates():
    text = section(page(sample.unbuilt()), "### broken")
    assert text.count("SyntaxError: invalid syntax (answer.py, line 3)") == 1
    assert "* Overall at most 20 (30 less 10, as no critical criterion earns credit), Correctness at most 0:" in text
    assert "| 0, 87 %; [0, 13]; does not build |" in page(sample.unbuilt()).replace("**", "")


def test_strengths_and_weaknesses_are_the_evidence_and_nothing_else():
    graded = sample.record()
    text = section(page(graded), "### glm-5")
    badly, well = text.split("#### Findings, the gravest first")[1].split("#### Does well")
    badly, well, uncredited = badly.split("#### Gates")[0], *well.split("#### Without credit")
    named = {c.id for c in sample.CRITERIA}
    assert {id for id in named if f"`{id}`" in well} == {
        e.criterion for e in graded.evidence if e.outcome is Outcome.PASSED
    }
    assert {id for id in named if f"`{id}`" in badly} == {"causality", "kill_rate"}
    assert {id for id in named if f"`{id}`" in uncredited} == {"gqa"}
    unseen = section(page(graded), "### Not assessed")
    assert {id for id in named if f"`{id}`" in unseen} == {"readability", "gpu_plan"}
    assert "Likeliest fault: agrees with" in badly
    assert "Run it again: `harness replay glm-5/kv_cache causality`" in badly
    assert "harness replay glm-5/kv_cache kill_rate" not in badly  # no probe feeds it


def test_credit_that_another_criterion_took_is_not_called_a_weakness():
    lost = {"outcome": Outcome.FAILED, "detail": "held", "rests_on": "first_token", "own_outcome": Outcome.PASSED}
    wrong = {"outcome": Outcome.FAILED, "detail": "out is wrong"}
    text = page(sample.record("one", sample.RIGHT | {"first_token": wrong, "softmax_laws": lost}))
    assert "* Held, but earns nothing while `first_token` fails: `softmax_laws`." in text
    assert row(section(text, "### Correctness"), "The weights obey")[3] == "no credit: one"
    assert "`softmax_laws`" not in text.split("#### Findings")[1].split("#### Without credit")[0]


@pytest.mark.parametrize("name", ["show", "md", "kv_cache.md", "index.html"])
def test_an_anchor_that_takes_the_credit_is_named_under_the_overall(name):
    lost = {"outcome": Outcome.FAILED, "detail": "held", "rests_on": "first_token", "own_outcome": Outcome.PASSED}
    wrong = {"outcome": Outcome.FAILED, "detail": "out is wrong"}
    failing = sample.RIGHT | {"first_token": wrong, "causality": lost, "prefill_then_decode": lost}
    said = "fails, so the other criteria judged by running earn nothing"
    for outcomes, shown in ((failing, True), (sample.RIGHT, False), (sample.RIGHT | {"first_token": wrong}, False)):
        record = sample.record("one", outcomes)
        console = Console(width=300)
        with console.capture() as captured:
            console.print(show(sample.CHALLENGE, record))
        pages = render_all(ReportInputs([sample.CHALLENGE], [record]))
        text = {"show": captured.get(), "md": shown_markdown(sample.CHALLENGE, record), **pages}[name]
        assert (said in text) is shown
        assert ("less 10, as no critical criterion earns credit" in text) is shown


def test_provenance_is_shown_wherever_a_submission_is():
    records = [sample.record(), sample.baseline(), sample.record("new", provenance=Provenance.MODEL_OUTPUT)]
    text, scores = page(*records), board(*records)
    expected = {"glm-5": "reconstruction", "baseline": "baseline, not ranked", "new": "model output"}
    for model, provenance in expected.items():
        assert row(section(text, "## At a glance"), f"[{model}]")[1] == provenance
        assert f"* Provenance: {provenance}" in section(text, f"### {model}")
        assert f"<summary>{model} ({provenance})</summary>" in scores
    for rank, model in (("1 (gold)", "glm-5"), ("–", "baseline")):
        assert row(scores, f"{rank} | {model}")[1] == f"{model} ({expected[model]})"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("harness", "0.2.0", "versions of the harness"),
        ("tier", "unsafe", "isolation tiers"),
        ("device", "H200", "devices"),
    ],
)
def test_records_that_do_not_compare_are_pointed_out(field, value, said):
    records = [sample.record(), sample.record("other", environment={field: value})]
    for text in (page(*records), board(*records)):
        (note,) = [line for line in text.splitlines() if "may not compare" in line]
        assert said in note
        assert "glm-5/kv_cache" in note and f"{value}: other/kv_cache" in note
    assert "may not compare" not in page(*records[:1]) + board(*records[:1])


def test_each_challenge_may_have_its_own_device():
    other = sample.CHALLENGE.model_copy(update={"id": "in_cuda"})
    records = [sample.record(), sample.record(challenge=other, environment={"device": "emulated"})]
    assert "may not compare" not in render_all(ReportInputs([sample.CHALLENGE, other], records))["scoreboard.md"]


def test_an_error_ratio_is_explained_as_the_challenge_judges_it():
    scale = ErrorRatioScale(unit="what the sum of *n* terms may cost", passes=1.5)
    own = sample.CHALLENGE.model_copy(update={"error_ratio": scale})
    assert "over 32 is wrong" in page(sample.record())
    assert "over 32 is wrong" not in page(sample.record(), challenge=own)
    assert r"over what the sum of \*n\* terms may cost. Up to 1.5 is right" in page(sample.record(), challenge=own)


def test_a_fault_that_several_criteria_saw_is_one_weakness_with_all_that_was_seen():
    def wrong(place: str) -> dict:
        return {
            "outcome": Outcome.FAILED, "title": "out is wrong", "detail": f"out[{place}] is 2",
            "also": (Observation(title="out is wrong", detail="out is NaN"),),
            "diagnosis": sample.cause(f"off by {place}"),
        }  # fmt: skip

    seen = {"first_token": wrong("0"), "causality": wrong("1"), "shapes": wrong("2")}
    record = sample.record(outcomes=sample.RIGHT | seen)
    text = section(page(record), "### glm-5").split("#### Findings")[1]
    assert "1. **out is wrong** (critical: `first_token`, `causality`)" in text
    assert "2. **out is wrong** (major: `shapes`)" in text
    assert "* Seen: out[0] is 2" in text
    assert "* Also: causality: out[1] is 2" in text
    assert text.count("* Also: out is NaN") == 2  # once for each weakness
    assert "Likeliest fault: off by 0" in text


@pytest.mark.parametrize(("options", "merged"), [
    ((None, None), True), (("gqa", "gqa"), True), (("gqa", "window"), False), (("gqa", None), False),
])  # fmt: skip
def test_what_two_options_fail_in_the_same_words_is_two_weaknesses(options, merged):
    """Nor does an option share one with what every answer is asked."""
    gqa = next(c for c in sample.CRITERIA if c.id == "gqa")
    pair = [gqa.model_copy(update={"id": id, "capability": o}) for id, o in zip(("one", "two"), options, strict=True)]
    challenge = sample.CHALLENGE.model_copy(update={"criteria": (sample.CRITERIA[0], *pair)})
    wrong = {"outcome": Outcome.FAILED, "title": "out is wrong"}
    seen = {sample.CRITERIA[0].id: sample.PASSED, "one": wrong, "two": wrong}
    record = sample.record(outcomes=seen, challenge=challenge)
    assert {f.title for f in record.findings} == {"out is wrong"} and len({f.severity for f in record.findings}) == 1
    found = [w.criteria for w in weaknesses(challenge, record)]
    assert found == ([("one", "two")] if merged else [("one",), ("two",)])


def test_a_record_of_another_rubric_is_pointed_out_and_still_shown():
    larger = sample.CHALLENGE.model_copy(
        update={"criteria": (*sample.CRITERIA, sample.CRITERIA[0].model_copy(update={"id": "brand_new"}))}
    )
    text = page(sample.record(), challenge=larger)
    assert "graded by an older version of the rubric; grade again: glm-5/kv_cache." in text
    added = f"{sample.CRITERIA[0].title.rstrip('.')} (`brand_new`, critical)"
    assert row(section(text, "### Correctness"), added)[4] == "not in this record: glm-5"


def test_a_record_of_an_unknown_challenge_is_pointed_out():
    assert "challenge is not here: glm-5/kv_cache." in render_all(ReportInputs([], [sample.record()]))["scoreboard.md"]


def test_no_report_takes_the_scoreboard_s_place():
    clash = sample.CHALLENGE.model_copy(update={"id": "scoreboard"})
    with pytest.raises(SpecError, match="scoreboard"):
        render_all(ReportInputs([clash], [sample.record(challenge=clash)]))


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (Outcome.PASSED, "Held, but earns nothing"),
        (Outcome.PARTIAL, "Held in part, but earns nothing"),
        (Outcome.NOT_RUN, "Not measured, and counts as 0"),
        (Outcome.UNSUPPORTED, "Not measured, and counts as 0"),
        (None, "Not run, and counts as 0"),
    ],
)
def test_what_earns_nothing_is_said_to_have_held_only_where_it_did(own, words):
    lost = {"outcome": Outcome.FAILED, "detail": "no credit", "rests_on": "first_token", "own_outcome": own}
    made = sample.record(outcomes=sample.RIGHT | {"softmax_laws": lost})
    item = next(e for e in made.evidence if e.criterion == "softmax_laws")
    assert formatting.uncredited(item) == words


def test_what_does_not_build_is_not_said_to_hold_anything():
    assert {formatting.uncredited(e) for e in sample.unbuilt().evidence if e.rests_on} == {"Not run, and counts as 0"}
