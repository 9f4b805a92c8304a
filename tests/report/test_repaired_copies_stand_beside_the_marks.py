"""Every page shows what a repaired copy revealed under a heading of its own, and no list of failures counts it."""

import html
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from sample_records import CHALLENGE, FUTURE, NOT_OFFERED, PASSED, evidence, unbuilt

from harness.importing.verification import Agreement, find_further_faults, verify
from harness.model import Evidence, Location, Origin, Outcome, Record, Repair, RepairedGrade, RepairKind
from harness.model.submissions.expectation import ExpectedFinding
from harness.report.exports.junit import junit
from harness.report.exports.sarif import sarif
from harness.report.pages import render_all
from harness.report.views.inputs import ReportInputs
from harness.report.views.submission import COPY as HEADING
from harness.report.views.submission import build_note
from tests.written import show, shown_markdown

REPAIR = Repair(
    kind=RepairKind.UNCLOSED_COMMENT, locations=(Location(file="answer.py", line=3),),
    words="at line 3 of answer.py 1 line that goes on after the end of a comment became a comment line",
)  # fmt: skip


def seen() -> tuple[Evidence, ...]:
    chosen = tuple(c for c in CHALLENGE.criteria if c.id in ("first_token", "causality"))
    return tuple(evidence({"first_token": PASSED, "causality": FUTURE}, chosen))


def with_copy(**fields: Any) -> Record:
    return unbuilt(repaired=RepairedGrade(repairs=(REPAIR,), **fields or {"evidence": seen()}))


def drawn(record: Record) -> str:
    console = Console(width=300)
    with console.capture() as captured:
        console.print(show(CHALLENGE, record))
    return captured.get()


def pages(record: Record) -> dict[str, str]:
    rendered = render_all(ReportInputs(challenges=(CHALLENGE,), records=(record,)))
    return {"show": drawn(record), "md": shown_markdown(CHALLENGE, record)} | {str(k): v for k, v in rendered.items()}


@pytest.mark.parametrize("page", ["show", "md", "kv_cache.md", "index.html"])
def test_it_is_shown_under_a_heading_of_its_own(page: str) -> None:
    shown = pages(with_copy())
    text = html.unescape(next(text for name, text in shown.items() if name.endswith(page))).replace("\\", "")
    assert text.count(HEADING) == 1
    behind = text[text.index(HEADING) :]
    assert "a comment runs on outside its marks: at line 3 of answer.py" in behind
    assert "looks into the future" in behind and "looks into the future" not in text[: text.index(HEADING)]
    assert HEADING not in "".join(pages(unbuilt()).values())


def test_a_copy_that_did_not_run_says_why() -> None:
    for text in pages(with_copy(detail="the copy does not build either")).values():
        if HEADING in text:
            assert "the copy does not build either" in text


def copied() -> tuple[Evidence, ...]:
    """Return the evidence of a copy that meets one criterion, fails another, and does not offer a third."""
    seen = {"first_token": PASSED, "causality": FUTURE, "gqa": NOT_OFFERED}
    return tuple(evidence(seen, tuple(c for c in CHALLENGE.criteria if c.id in seen)))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (unbuilt, "No repaired copy was graded."),
        (lambda: with_copy(detail="no main"), "could not be judged: no main."),
        (
            lambda: with_copy(evidence=copied()),
            "meets 1 of the 2 criteria that were judged; not met, or only in part: causality.",
        ),
    ],
    ids=["no copy", "nothing ran", "graded"],
)
def test_a_build_that_was_not_asked_for_counts_what_was_judged_of_the_copy(
    record: Callable[[], Record], words: str
) -> None:
    one = record()
    assert one.build is not None
    build = one.build.model_copy(update={"criteria": ("lint",)})
    origin = Origin.model_construct(not_asked={"lint": "no word of it"}, not_charged={})
    assert build_note(one.model_copy(update={"origin": origin, "build": build})).endswith(words)


def test_lists_of_failures_leave_it_out() -> None:
    record, bare = with_copy(), unbuilt()
    for text in (junit([record]), sarif([CHALLENGE], [record], "0")):
        assert "looks into the future" not in text
    assert junit([record]).count("<failure") == junit([bare]).count("<failure")


def expected(**fields: Any) -> ExpectedFinding:
    return ExpectedFinding.model_validate(
        {"kind": "must", "number": 1, "model": "broken", "challenge": "kv_cache", "says": "it does"} | fields
    )


def test_findings_behind_a_failed_build_can_be_expected() -> None:
    records = {"broken/kv_cache": with_copy()}
    found = [
        expected(repaired=True, criteria=["causality"], titles=["looks into*"]),
        expected(build="import", cause="unclosed_comment"),
        expected(build="import"),
    ]
    missing = [
        expected(criteria=["causality"]),
        expected(repaired=True, criteria=["first_token"]),
        expected(build="import", cause="fenced_code"),
    ]
    assert {row.agreement for row in verify(found, records)} == {Agreement.FOUND}
    assert {row.agreement for row in verify(missing, records)} == {Agreement.MISSING}
    assert list(find_further_faults([], records)) == [("broken/kv_cache, repaired,", "causality")]
    assert list(find_further_faults(found, records)) == []
    for wrong in ({"build": "import", "repaired": True}, {"cause": "fenced_code"}):
        with pytest.raises(ValueError, match="build"):
            expected(**wrong)


def test_impossible_copies_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="evidence"):
        RepairedGrade(repairs=(REPAIR,))
    with pytest.raises(ValueError, match="evidence"):
        RepairedGrade(repairs=(REPAIR,), detail="why", evidence=seen())
    with pytest.raises(ValueError, match="at least 1"):
        RepairedGrade(repairs=(), detail="why")
    fields = unbuilt().model_dump() | {"status": "graded", "build": None, "repaired": with_copy().repaired}
    with pytest.raises(ValueError, match="only what does not build"):
        Record.model_validate(fields)
    assert Outcome.FAILED in {e.outcome for e in seen()}
