"""Evidence names the lines that it is about, in every report alike, and only lines that the answer has."""

import json
from xml.etree import ElementTree as ET

import pytest

from harness.grading.submission_grade import grade_one
from harness.model import Evidence, Outcome, Record, Status
from harness.report.exports.junit import junit
from harness.report.exports.sarif import sarif
from tests.conftest import SUBMISSION
from tests.written import shown_markdown

HELPER = "def mean(x):\n    return x.mean()\n\n\ndef fail(x):\n    raise RuntimeError('lost')\n"
CALLER = "import helper\n\n\ndef scaled(x, scale):\n    return helper.fail(x)\n"
RIGHT = "def scaled(x, scale):\n    return x.sum(axis=-1) * scale\n"
FORGED = (
    "def scaled(x, scale):\n"
    "    exec(compile('\\n' * 998 + 'raise RuntimeError(1)', __file__, 'exec'))\n"
    "    exec(compile('raise RuntimeError(2)', '/etc/passwd', 'exec'))\n"
)
ELSEWHERE = FORGED.replace("__file__", "__file__ + '/../nowhere.py'")
CLAIMS = """
[[criteria]]
id = "claims"
dimension = "correctness"
severity = "minor"
title = "Stated figures are right"
unmet = "states figures that were measured otherwise"
claims = true
"""
CLAIM = '\n[[claims]]\nquantity = "error_ratio"\nvalue = 4096\nwhere = "{where}"\n{line}'


def evidence(record: Record, criterion: str) -> Evidence:
    return next(e for e in record.evidence if e.criterion == criterion)


def places(item: Evidence) -> list[str]:
    return list(map(str, item.locations))


def test_an_exception_has_its_line_in_the_record_and_in_every_report(toy, submit):
    record = grade_one(toy.workspace, submit("m", CALLER, helper__py=HELPER)).record
    values = evidence(record, "values")
    assert (values.title, places(values)) == ("`scaled` raises RuntimeError", ["helper.py:6"])
    assert "helper.py:6" in values.detail
    found = json.loads(record.to_json())["evidence"][0]["locations"]
    assert [(place["file"], place["line"]) for place in found] == [("helper.py", 6)]
    assert "In: helper.py:6" in shown_markdown(toy.challenge, record).replace("\\", "")
    failures = [e.text or "" for e in ET.fromstring(junit([record])).iter("failure")]
    assert any("In: helper.py:6" in text for text in failures)
    results = json.loads(sarif([toy.challenge], [record], "1"))["runs"][0]["results"]
    linked = [r["locations"][0]["physicalLocation"] for r in results]
    assert any(p["artifactLocation"]["uri"].endswith("/helper.py") and p["region"]["startLine"] == 6 for p in linked)


@pytest.mark.parametrize(
    ("source", "line"), [("import helper\nhelper.fail(1)\n", "helper.py:6"), ("\n\ndef scaled(x:\n", "answer.py:3")]
)
def test_an_answer_that_does_not_load_has_the_line_that_stops_it(toy, submit, source, line):
    record = grade_one(toy.workspace, submit("m", source, helper__py=HELPER)).record
    assert record.status is Status.BUILD_FAILED and record.build is not None
    assert list(map(str, record.build.locations)) == [line]


@pytest.mark.parametrize("source", [FORGED, ELSEWHERE])
def test_a_line_that_the_answer_does_not_have_is_left_out(toy, submit, source):
    record = grade_one(toy.workspace, submit("m", source)).record
    values = evidence(record, "values")
    assert values.outcome is Outcome.FAILED and "RuntimeError" in values.title
    assert "999" not in values.detail and "nowhere" not in values.detail
    assert not places(values) or places(values) == ["answer.py:2"]


@pytest.mark.parametrize(
    ("where", "line", "named"),
    [
        ("NOTES.md", "line = 2", ["NOTES.md:2"]),
        ("NOTES.md", "", ["NOTES.md"]),
        ("NOTES.md", "line = 400", []),
    ],
)
def test_a_wrong_claim_points_to_where_it_is_stated(toy, submit, where, line, named):
    toml = toy.workspace.root / "challenges" / "scaled_sum" / "challenge.toml"
    toml.write_text(toml.read_text() + CLAIMS)
    claim = CLAIM.format(where=where, line=line)
    folder = submit("m", RIGHT, SUBMISSION + claim, NOTES__md="# Error\nThe error ratio is 4096.")
    claims = evidence(grade_one(toy.workspace, folder).record, "claims")
    assert claims.outcome is Outcome.FAILED and "measured" in claims.detail
    assert places(claims) == named
