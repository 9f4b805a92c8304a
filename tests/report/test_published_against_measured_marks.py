"""Every published mark stands beside ours with provenance, interval and evidence; what cannot be compared is said."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sample_records as sample

from harness.model import BuildFailure, LetterGrades, Mark, Outcome, Provenance, PublishedDefect, Review, Reviewer
from harness.report.pages import render_all
from harness.report.views.inputs import gather
from harness.report.views.mark_source import MarkSource
from harness.report.views.published.published_vs_measured import PublishedVsMeasured, published_vs_measured
from harness.review.defects import DefectRuling, read_defects
from harness.scoring.agreement import alpha
from harness.workspace import Workspace
from tests.written import published_markdown

OURS = Workspace(Path(__file__).resolve().parents[2])
DEFECT = PublishedDefect(
    id="no-mask", model="glm-5", challenge="kv_cache", said="The mask is missing", criteria=("causality",)
)  # fmt: skip
EMPTY = published_vs_measured([sample.CHALLENGE], [], [], [])


def review(model: str = "glm-5", name: str = "round-1", kind: str = "published", overall: float | None = 82, **marks):
    return Review(
        model=model, challenge="kv_cache", overall=overall, reviewer=Reviewer(kind=kind, id=name, date="2026-04"),
        marks=tuple(Mark(target=target, mark=mark) for target, mark in marks.items()),
    )  # fmt: skip


def view(records=(), reviews=(), defects=()) -> PublishedVsMeasured:
    return published_vs_measured([sample.CHALLENGE], records, reviews, defects)


def page(*arguments, **named) -> str:
    return published_markdown(view(*arguments, **named))


def section(text: str, heading: str) -> str:
    depth = heading.count("#")
    return re.split(rf"^#{{1,{depth}}} ", text.split(heading + "\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the lines of all tables, without heads."""
    lines = text.splitlines()
    bodies = [line for number, line in enumerate(lines) if line.startswith("| ") and not _head(lines, number)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in bodies]


def _head(lines: list[str], number: int) -> bool:
    return number + 1 < len(lines) and lines[number + 1].startswith("|:")


def line(text: str, title: str) -> list[str]:
    (found,) = [row for row in rows(section(text, "## Marks")) if re.fullmatch(rf"\[?{title}(\].*)?", row[0])]
    return found


def test_a_mark_stands_beside_ours_with_interval_coverage_difference_and_evidence():
    text = page([sample.record()], [review(correctness=95, gpu_mapping=80)])
    # by the sample: one critical criterion failed, so 40 at most in its dimension and 59 in all; 95 is not in [40, 40]
    assert line(text, "Correctness") == [
        "[Correctness](kv_cache.md#correctness)", "reconstruction", "95 (round-1)", "40", "−55, outside",
        "failed: `causality`",
    ]  # fmt: skip
    assert line(text, "Overall")[2:5] == ["82 (round-1)", "49 [40, 53], 87 %", "−33, outside"]
    assert "Correctness at most 40" in line(text, "Overall")[5]


def test_a_dimension_that_one_side_did_not_mark_has_no_difference():
    text = page([sample.record()], [review(gpu_mapping=80)])
    assert line(text, "GPU mapping")[2:] == [
        "80 (round-1)", "not assessed", "–", "not assessed: `gpu_plan`",
    ]  # fmt: skip
    assert line(text, "Completeness")[2:5] == ["no mark", "75", "–"]


def test_two_rounds_are_both_shown_and_compared_at_their_mean():
    found = view([sample.record()], [review(correctness=30), review(name="round-2", correctness=60)])
    (correctness,) = found.lines
    assert correctness.rounds == "30 (round-1), 60 (round-2)"
    assert (correctness.difference, correctness.inside) == (-5.0, False)


def test_a_mark_inside_our_interval_is_said_to_be_inside():
    # readability was not assessed: code quality is 100 or as little as 66.7
    found = view([sample.record(provenance=Provenance.MODEL_OUTPUT)], [review(code_quality=70)])
    assert found.lines[0].difference_text == "+30, inside"


def test_only_published_reviews_are_compared():
    text = page([sample.record()], [review(kind="person", correctness=10), review("qwen3.6-27b", kind="model")])
    assert text == page([sample.record()], [])


def test_provenance_is_told_at_the_head_and_beside_every_row():
    gathered = gather(OURS)
    read = {review.model for review in gathered.reviews} | {grades.model for grades in gathered.letters}
    rebuilt = {"provenance": Provenance.RECONSTRUCTION}
    gathered = replace(
        gathered, records=tuple(r.model_copy(update=rebuilt) for r in gathered.records if r.model in read)
    )
    text = published_markdown(_bundled(gathered))
    assert "**A reconstruction is not the model's own file.**" in section(text, "## What is compared")
    origins = {r.name: r.provenance for r in gathered.records}
    assert all(f"`{name}`" in section(text, "## What is compared") for name in origins)
    body = [
        row
        for heading in (
            "## In figures",
            "## Marks",
            "## Defects that were named",
            "## Failures that no judge named",
        )
        for row in rows(section(text, heading))
    ]
    assert len(body) > 100
    lacking = {"no record"} if any(d.submission not in origins for d in gathered.defects) else set()
    assert {row[1] for row in body} == {provenance.replace("-", " ") for provenance in origins.values()} | lacking


def test_a_model_s_own_files_are_not_called_a_reconstruction():
    text = page([sample.record(provenance=Provenance.MODEL_OUTPUT)], [review(correctness=95)], [DEFECT])
    assert "econstruction" not in text
    assert line(text, "Correctness")[1] == "model output"


def test_marks_of_a_reconstruction_s_text_are_set_apart():
    reviews = [review(correctness=95, code_quality=10)]
    found = view([sample.record()], reviews)
    assert [(one.title, one.own_text) for one in found.lines] == [("Correctness", False), ("Code quality", True)]
    assert [one.title for one in found.largest] == ["Correctness"]
    assert "reconstructed text" in line(page([sample.record()], reviews), "Code quality")[5]
    own = view([sample.record(provenance=Provenance.MODEL_OUTPUT)], reviews)
    assert not any(one.own_text for one in own.lines)


def test_agreement_is_over_all_dimensions_that_both_marked():
    reviews = [review(correctness=95, completeness=78, gpu_mapping=80), review(name="round-2", correctness=85)]
    found = view([sample.record()], reviews)
    figures = {row.scope: (row.units, row.alpha) for row in found.agreements}
    assert figures["All challenges"] == (2, pytest.approx(alpha([(90, 40), (78, 75)])))
    assert figures["Published rounds with each other, on the same submissions"] == (1, pytest.approx(alpha([(95, 85)])))


def test_equal_marks_have_no_alpha_and_it_is_said():
    text = page([sample.record()], [review(overall=None, correctness=40)])
    assert ["All challenges", "1", "not defined: all marks are equal"] in rows(section(text, "## Agreement"))


def test_of_three_models_the_order_is_said_to_say_nothing():
    names = ("glm-5", "minimax-m2.7", "qwen3.6-27b")
    outcomes = (sample.RIGHT, sample.NON_CAUSAL, sample.NON_CAUSAL | {"shapes": {"outcome": Outcome.FAILED}})
    records = [sample.record(name, seen) for name, seen in zip(names, outcomes, strict=True)]
    text = page(records, [review(name, overall=mark) for name, mark in zip(names, (90, 80, 70), strict=True)])
    (order,) = rows(section(text, "## Agreement"))[-1:]
    assert order == ["KV cache", "3", "1.00", "0.33: says nothing, as even a perfect order of 3 models has 0.33"]


@pytest.mark.parametrize("models", [("glm-5",), ("glm-5", "qwen3.6-27b")])
def test_one_model_or_two_are_too_few_to_order(models: tuple[str, ...]):
    text = page([sample.record(model) for model in models], [review(model) for model in models])
    assert rows(section(text, "## Agreement"))[-1] == ["KV cache", str(len(models)), "too few models", "–"]


def test_a_review_without_a_record_is_shown_without_a_mark_of_ours():
    text = page([], [review(correctness=95)], [DEFECT])
    assert line(text, "Correctness") == ["Correctness", "no record", "95 (round-1)", "no record", "–", ""]
    assert "* No mark was given by both sides." in text
    assert ["All challenges", "0", "nothing to compare"] in rows(section(text, "## Agreement"))
    assert "no record of the submission: `causality`" in section(text, "## Defects that were named")


def test_records_nobody_reviewed_leave_an_honest_empty_page():
    text = page([sample.record()])
    assert "Nothing: there are no published reviews and no published defects." in text
    assert "No published review is about any of the challenges." in section(text, "## Marks")
    assert section(text, "## Defects that were named").strip() == "None are listed."
    assert section(text, "## Failures that no judge named").strip() == "Nothing."
    assert "## Agreement" not in text
    assert text == published_markdown(EMPTY)


def test_a_grade_without_any_coverage_is_compared_with_nothing():
    unrun = {c.id: {"outcome": Outcome.JUDGE_ERROR, "detail": "the box broke"} for c in sample.CRITERIA}
    broken = sample.record("glm-5", unrun, status="judge_error", error="BoxError: the worker did not start")
    found = view([broken], [review(correctness=95)], [DEFECT])
    assert (found.lines, found.overalls, found.failures) == ((), (), ())
    assert found.defects[0].ruling is DefectRuling.UNSEEN
    assert line(page([broken], [review(correctness=95)]), "Correctness")[3:5] == ["not assessed", "–"]


def test_what_ran_and_nobody_named_is_what_no_confirmed_defect_accounts_for():
    seen = view([sample.record()], [review()])
    assert [u.evidence.criterion for u in seen.failures] == ["causality", "kill_rate"]
    named = view([sample.record()], [review()], [DEFECT])
    assert [u.evidence.criterion for u in named.failures] == ["kill_rate"]
    assert (named.count(DefectRuling.CONFIRMED), named.defects[0].shown[0][0]) == (1, "causality")
    blamed = DEFECT.model_copy(update={"probe": "another_probe"})
    assert [u.evidence.criterion for u in view([sample.record()], [review()], [blamed]).failures] == [
        "causality",
        "kill_rate",
    ]


def test_an_answer_that_does_not_build_accuses_nothing_that_did_not_run():
    unrun = {"outcome": Outcome.FAILED, "detail": "the submission does not build", "rests_on": "build"}
    outcomes = {c.id: sample.NEEDS_REVIEW if c.review else unrun for c in sample.CRITERIA}
    failure = BuildFailure(stage="import", text="SyntaxError")
    unbuilt = sample.record("glm-5", outcomes, built=False, build=failure)
    found = view([unbuilt], [review()], [DEFECT])
    assert (found.failures, found.defects[0].ruling) == ((), DefectRuling.UNSEEN)
    assert found.hidden == (("does not build, so none of it ran", 1),)


def test_words_of_defects_and_records_stay_words():
    hostile = "<script>alert(1)</script> | [x](http://x) `"
    told = {"title": hostile, "detail": hostile, "diagnosis": sample.cause(hostile)}
    seen = sample.NON_CAUSAL | {"causality": sample.FUTURE | told}
    defect = DEFECT.model_copy(update={"said": hostile})
    text = page([sample.record("glm-5", seen)], [review(correctness=95)], [defect])
    assert "<script>" not in text
    assert not re.search(r"(?<!\\)\]\(http", text)
    widths = {len(row) for row in rows(re.sub(r"\\\|", "", section(text, "## Defects that were named")))}
    assert widths == {6}


def test_who_was_given_a_letter_was_reviewed():
    grades = [LetterGrades(model="glm-5", letters={"kv_cache": "A"})]
    found = published_vs_measured([sample.CHALLENGE], [sample.record()], [], [], grades)
    assert [u.evidence.criterion for u in found.failures] == ["causality", "kill_rate"]
    text = published_markdown(found)
    assert "`glm-5/kv_cache`" in section(text, "## What is compared")
    assert "1 of these answers was also given a letter" in text and "no review" not in text


def test_the_order_of_what_is_given_does_not_matter():
    names = ("glm-5", "minimax-m2.7", "qwen3.6-27b")
    records, reviews = [sample.record(n) for n in names], [review(n, correctness=90) for n in names]
    expected = page(records, reviews, [DEFECT])
    for some, others in itertools.product(itertools.permutations(records), itertools.permutations(reviews)):
        assert page(some, others, [DEFECT]) == expected


def test_every_link_of_the_bundled_page_leads_somewhere():
    gathered = gather(OURS)
    text = published_markdown(_bundled(gathered))
    published = render_all(gathered, MarkSource.PUBLISHED)
    pages = {**render_all(gathered), **{f"published/{name}": body for name, body in published.items()}}
    anchors = {
        f"{name}#{re.sub(r'[^a-z0-9 _-]', '', title.lower()).replace(' ', '-')}"
        for name, body in pages.items()
        for title in re.findall(r"^#+ (.*)$", body, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(([^)]*)\)", text))
    assert len(links) > 30
    assert links <= anchors | pages.keys()


def test_the_bundled_counts_add_up():
    found = _bundled(gather(OURS))
    assert len(found.defects) == sum(map(found.count, DefectRuling)) == len(read_defects(OURS))
    assert sum(count for _, count in found.hidden) == found.count(DefectRuling.UNSEEN)
    assert len(found.overalls) == 9
    accounted = {(n.defect.submission, criterion) for n in found.defects for criterion, _ in n.shown}
    assert not accounted & {(u.record.name, u.evidence.criterion) for u in found.failures}


def _bundled(gathered) -> PublishedVsMeasured:
    defects = read_defects(OURS)
    return published_vs_measured(gathered.challenges, gathered.records, gathered.reviews, defects, gathered.letters)
