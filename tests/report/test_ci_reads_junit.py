"""CI systems read every record as JUnit XML: a case for each criterion, whatever words a submission put into it."""

from xml.etree import ElementTree as ET

import pytest
import sample_records as sample

from harness.model import Outcome, Record, Signal, SignalKind, Status
from harness.report.exports.junit import junit

# attributes (required ones first) and children by element, as Jenkins's junit-10.xsd allows them
ALLOWED: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    **dict.fromkeys(("failure", "error", "skipped"), (set(), {"type", "message"}, set())),
    **dict.fromkeys(("system-out", "system-err"), (set(), set(), set())),
}
HOSTILE = "<script>alert(1)</script> ]]> & \" ' \0 \x1b[31m \ud800 \uffff \u202e"
RESULT = {
    Outcome.PASSED: None, Outcome.FAILED: "failure", Outcome.PARTIAL: "failure", Outcome.NOT_RUN: "skipped",
    Outcome.UNSUPPORTED: "skipped", Outcome.NOT_OFFERED: "skipped", Outcome.JUDGE_ERROR: "error",
}  # fmt: skip
BROKEN = {"outcome": Outcome.JUDGE_ERROR, "detail": "BoxError: gone"}


def ungraded() -> Record:
    outcomes = sample.RIGHT | {"causality": BROKEN, "lint": {"outcome": Outcome.UNSUPPORTED, "detail": "no Python"}}
    return sample.record("ungraded", outcomes, status=Status.JUDGE_ERROR, error="BoxError: gone")


def hostile() -> Record:
    """A record whose words are a submission's worst; the model lets lone surrogates through only unchecked."""
    kept = sample.record("hostile")
    cause = sample.cause("x").model_copy(update={"words": HOSTILE})
    evil = sample.changed(kept, "causality", title=HOSTILE, detail=HOSTILE * 30_000, diagnosis=cause)
    return evil.model_copy(update={"remarks": (HOSTILE,), "error": HOSTILE})


RECORDS = [sample.record(), sample.baseline(), sample.unbuilt(), ungraded(), hostile()]


def cases(record: Record) -> dict[str, ET.Element]:
    return {case.get("name", ""): case for case in ET.fromstring(junit([record])).iter("testcase")}


def result(case: ET.Element) -> str | None:
    return next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), None)


@pytest.mark.parametrize(
    "records", [[], *([r] for r in RECORDS), RECORDS], ids=lambda rs: " ".join(r.model for r in rs)
)
def test_the_document_keeps_to_the_schema(records: list[Record]) -> None:
    for element in ET.fromstring(junit(records)).iter():
        required, optional, children = ALLOWED[element.tag]
        assert required <= set(element.attrib) <= required | optional, element.tag
        assert {child.tag for child in element} <= children, element.tag


def test_counts_are_those_of_the_cases() -> None:
    root = ET.fromstring(junit(RECORDS))
    for scope in (root, *root):
        found = [result(case) for case in scope.iter("testcase")]
        assert int(scope.get("tests", "")) == len(found)
        assert int(scope.get("failures", "")) == found.count("failure")
        assert int(scope.get("errors", "")) == found.count("error")
    for suite in root:
        assert int(suite.get("skipped", "")) == [result(c) for c in suite.iter("testcase")].count("skipped")


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.model)
def test_every_criterion_is_a_case_with_its_outcome(record: Record) -> None:
    found = cases(record)
    for item in record.evidence:
        expected = "skipped" if item.rests_on else RESULT[item.outcome]
        assert result(found[item.criterion]) == expected, item.criterion


def test_a_failure_tells_what_was_seen_and_how_to_see_it_again() -> None:
    failure = cases(sample.record())["causality"].find("failure")
    assert failure is not None and failure.text
    assert failure.get("message") == sample.FUTURE["title"]
    for words in (
        sample.FUTURE["detail"],
        "S = 2",
        sample.FUTURE["diagnosis"].words,
        "harness replay glm-5/kv_cache causality",
    ):
        assert words in failure.text


def test_what_lost_its_credit_to_another_criterion_is_skipped_with_the_reason() -> None:
    lost = {
        "outcome": Outcome.FAILED,
        "detail": "not counted",
        "rests_on": "first_token",
        "own_outcome": Outcome.PASSED,
    }
    skipped = cases(sample.record(outcomes=sample.RIGHT | {"softmax_laws": lost}))["softmax_laws"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "Held, but earns nothing while first_token fails"


def test_a_finding_about_no_criterion_is_a_case_of_its_own() -> None:
    assert result(cases(sample.unbuilt())["build"]) == "failure"


def test_conduct_in_the_box_fails_no_case_and_is_told() -> None:
    kept = sample.baseline()
    seen = Signal(kind=SignalKind.SYSTEM_CALL, detail="ptrace")
    changed = kept.model_copy(update={"signals": (seen,)})
    assert {n: result(c) for n, c in cases(changed).items()} == {n: result(c) for n, c in cases(kept).items()}
    told = ET.fromstring(junit([changed])).findtext("testsuite/system-out") or ""
    assert "ptrace" in told


def test_the_suite_says_what_the_grade_rests_on() -> None:
    (suite,) = ET.fromstring(junit([sample.record()]))
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert (properties["overall"], properties["tier"], properties["seed"]) == ("49", "B", "20260422")
    assert (suite.get("name"), suite.get("time"), suite.get("timestamp")) == (
        "glm-5/kv_cache", "1.300", "2026-11-20T12:00:00",
    )  # fmt: skip


def test_the_words_of_a_submission_stay_words() -> None:
    text = junit([hostile()])
    assert "<script" not in text
    assert "]]>" not in text
    failure = cases(hostile())["causality"].find("failure")
    assert failure is not None and failure.text
    assert "<script>alert(1)</script> ]]> & \" '" in str(failure.get("message"))
    for lost in "\0\x1b\ud800\uffff\u202e":
        assert lost not in text


def test_a_megabyte_of_words_is_clipped_and_says_so() -> None:
    assert len(hostile().findings[0].detail) > 1 << 20
    failure = cases(hostile())["causality"].find("failure")
    assert failure is not None and failure.text
    assert "more characters in the record" in failure.text
    assert len(failure.text) < 21_000


def test_the_same_records_give_the_same_bytes() -> None:
    assert junit(RECORDS) == junit(list(reversed(RECORDS)))
    junit(RECORDS).encode()
