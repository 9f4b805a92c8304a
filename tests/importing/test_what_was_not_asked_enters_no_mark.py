"""What the prompt that an answer was written to did not ask for is shown beside its marks, and enters none of them."""

import hashlib
from pathlib import Path

import pytest
from collected_answers import Published, commit

from harness.errors import SpecError
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.importing.collection import open_collection
from harness.importing.importer import lay_out
from harness.model import Outcome, Record
from harness.scoring.doubts import find_doubts
from harness.scoring.record_summary import RecordSummary
from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, REFERENCE
from tests.written import shown_markdown

PROMPT = b"Sum the rows. Scale them.\n"
# `values` asks for a scale of 3, `linear` for one of 1
WRONG = REFERENCE.replace("total * scale", "total * scale + (scale == 1.0)")


def state(published: Published, criterion: str = "linear", sha256: str = "") -> None:
    """State the prompt in the manifest, and one criterion that it did not ask for."""
    files = {"theirs.py": WRONG.encode()}
    place = published.clone / "answers" / "first" / "PROMPT.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    made = commit(published.clone, {**files, "PROMPT.md": PROMPT})
    published.state(files, commit=made)
    text = published.manifest.read_text()
    table = (
        f'[challenges.{CHALLENGE_ID}]\nprompt = "answers/first/PROMPT.md"\n'
        f'sha256 = "{sha256 or hashlib.sha256(PROMPT).hexdigest()}"\n'
        f'[challenges.{CHALLENGE_ID}.not_asked]\n{criterion} = "the prompt says nothing of it"\n'
    )
    published.manifest.write_text(text.replace("[[answers]]", f"{table}[[answers]]", 1))


def laid_out(published: Published) -> Path:
    with open_collection(published.workspace, "published", published.clone) as importer:
        return lay_out(importer, published.workspace.fetched_folder("published"))[0]


def graded(published: Published) -> Record:
    return grade_one(published.workspace, laid_out(published), Options(publish=False)).record


def test_it_is_seen_and_enters_no_mark_finding_or_duel(published: Published) -> None:
    state(published)
    record = graded(published)
    linear = next(e for e in record.evidence if e.criterion == "linear")
    assert linear.outcome is Outcome.FAILED
    assert (record.overall.score, record.overall.low, record.overall.high, record.overall.coverage) == (
        100,
        100,
        100,
        1,
    )
    assert record.findings == () and record.unmarked == {"linear": "the prompt says nothing of it"}
    assert [r.satisfied for r in RecordSummary.of(record).results if r.criterion == "linear"] == [None]


def test_the_record_carries_the_list_so_that_its_marks_follow_from_it_alone(published: Published) -> None:
    state(published)
    record = Record.from_json(graded(published).to_json())
    rubric = published.workspace.challenge(CHALLENGE_ID)
    assert find_doubts(record, rubric, lambda: record.probe_set or "") == ()
    assert record.origin and record.origin.prompt_sha256 == hashlib.sha256(PROMPT).hexdigest()
    asked = record.model_copy(update={"origin": record.origin.model_copy(update={"not_asked": {}})})
    assert "overall" in {doubt.field for doubt in find_doubts(asked, rubric, lambda: record.probe_set or "")}


def test_pages_show_it_beside_with_the_reason(published: Published) -> None:
    state(published)
    page = shown_markdown(published.workspace.challenge(CHALLENGE_ID), graded(published))
    beside = page.partition("## Also seen, not asked by the original prompt")[2].partition("## ")[0]
    assert "linear" in beside and "the prompt says nothing of it" in beside
    assert "linear" not in page.partition("## Every criterion")[2].partition("<details>")[0]


@pytest.mark.parametrize(
    ("criterion", "words"),
    [("linea", r"not_asked\.linea.* is no criterion"), ("values", r"not_asked\.values.* anchor")],
)
def test_only_criteria_other_than_the_anchor_can_be_left_out(published: Published, criterion: str, words: str) -> None:
    state(published, criterion)
    with pytest.raises(SpecError, match=words):
        graded(published)


def test_a_prompt_with_another_hash_is_refused(published: Published) -> None:
    state(published, sha256="0" * 64)
    with pytest.raises(SpecError, match=rf"challenges\.{CHALLENGE_ID}\.prompt.*has SHA-256"):
        laid_out(published)


def test_no_prompt_of_the_published_answers_asks_for_an_option_of_ours() -> None:
    workspace = Workspace(Path(__file__).parents[2])
    for challenge, prompt in workspace.collection("llm_programming_tests").challenges.items():
        options = {c.id for c in workspace.challenge(challenge).criteria if c.capability}
        assert options <= prompt.not_asked.keys(), challenge
