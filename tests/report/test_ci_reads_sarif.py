"""Code hosts read findings as SARIF 2.1.0: each with a rule, a level, and the file and line of its locations."""

import json
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import sample_records as sample

from harness.model import INTEGRITY, Location, Outcome, Record, Signal, SignalKind, Status
from harness.report.exports.sarif import MOST_PLACES, sarif
from harness.report.views.finding import weaknesses

PASSING = sample.RIGHT | {"kill_rate": sample.PASSED}


def saying(detail: str, criterion: str = "lint", model: str = "glm-5", locations: tuple[Location, ...] = ()) -> Record:
    """A record that failed one criterion, with these words, at these locations."""
    failed = {"outcome": Outcome.FAILED, "title": "a fault", "detail": detail, "locations": locations}
    return sample.record(model, sample.RIGHT | {criterion: failed})


def run(*records: Record) -> dict[str, Any]:
    document = json.loads(sarif([sample.CHALLENGE], records, "0.1.0"))
    (found,) = document["runs"]
    return dict(found)


def places(detail: str, *locations: Location) -> list[tuple[str, int | None]]:
    found = next(r for r in run(saying(detail, locations=locations))["results"] if r["ruleId"] == "kv_cache/lint")
    return [
        (place["artifactLocation"]["uri"], place.get("region", {}).get("startLine"))
        for place in (p["physicalLocation"] for p in (*found["locations"], *found.get("relatedLocations", ())))
    ]


UNKNOWN = sample.record().model_copy(update={"challenge": "elsewhere"})
OTHER = saying("x", model="other", locations=Location.within("a.py", 3))
RECORDS = [sample.record(), sample.baseline(), sample.unbuilt(), OTHER, UNKNOWN]


@pytest.mark.parametrize("records", [[], RECORDS], ids=len)
def test_the_document_holds_what_the_format_requires(records: list[Record]) -> None:
    document = json.loads(sarif([sample.CHALLENGE], records, "0.1.0"))
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")
    (found,) = document["runs"]
    driver = found["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("harness", "0.1.0")
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for result in found["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        for place in (p["physicalLocation"] for p in (*result["locations"], *result.get("relatedLocations", ()))):
            uri = place["artifactLocation"]["uri"]
            assert not urlsplit(uri).scheme and not uri.startswith("/") and ".." not in uri.split("/")
            assert unquote(uri).startswith("submissions/")
            assert place["artifactLocation"]["uriBaseId"] in found["originalUriBaseIds"]
            assert place.get("region", {"startLine": 1})["startLine"] >= 1


def test_every_fault_is_a_result_once() -> None:
    told = [(r["properties"]["model"], r["properties"]["criteria"]) for r in run(*RECORDS)["results"]]
    known = [r for r in sorted(RECORDS, key=lambda r: r.model) if r is not UNKNOWN]
    assert told == [(r.model, list(w.criteria)) for r in known for w in weaknesses(sample.CHALLENGE, r)]
    assert told


def test_the_level_is_the_severity() -> None:
    levels = {r["ruleId"]: r["level"] for r in run(saying("x", "causality"), saying("x", "lint", "b"))["results"]}
    assert levels["kv_cache/causality"] == "error"
    assert levels["kv_cache/lint"] == "warning"
    assert run(saying("x", "gqa"))["results"][-1]["level"] == "note"


@pytest.mark.parametrize(
    ("named", "linked"),
    [
        ([("optimizations.py", 63), ("kv_cache.py", 21)], [("optimizations.py", 63), ("kv_cache.py", 21)]),
        ([("a.cu", 28), ("a.cu", 28), ("a.cu", 71)], [("a.cu", 28), ("a.cu", 71)]),
        ([("lib/a+b.py", 9)], [("lib/a%2Bb.py", 9)]),
        ([("größe.py", 9)], [("gr%C3%B6%C3%9Fe.py", 9)]),
        ([("a.py", None)], [("a.py", None)]),
    ],
)  # fmt: skip
def test_each_location_is_linked_once(
    named: list[tuple[str, int | None]], linked: list[tuple[str, int | None]]
) -> None:
    locations = [Location(file=file, line=line) for file, line in named]
    assert places("x", *locations) == [(f"submissions/glm-5/kv_cache/{path}", line) for path, line in linked]


def test_words_that_look_like_a_place_are_not_linked() -> None:
    assert places("a.py:3 ../b.py:4") == [("submissions/glm-5/kv_cache/submission.toml", None)]


def test_the_words_of_a_submission_are_no_links_and_no_placeholders() -> None:
    hostile = "[click](https://evil.example) {0} <script> ]]> \0 \u202e"
    (result,) = [r for r in run(saying(hostile))["results"] if r["ruleId"] == "kv_cache/lint"]
    text = result["message"]["text"]
    assert "](" not in text
    assert "{{0}}" in text
    assert "<script> ]]>" in text
    assert "\0" not in text and "\u202e" not in text


def test_lone_surrogates_do_not_spoil_the_file() -> None:
    evil = sample.changed(saying("x"), "lint", title="a\ud800b")
    text = sarif([sample.CHALLENGE], [evil], "0.1.0")
    assert "\\ud800" not in text
    text.encode()


def test_very_many_places_and_words_are_bounded() -> None:
    many = tuple(Location(file=f"a{n}.py", line=n) for n in range(1, 5_000))
    text = sarif([sample.CHALLENGE], [saying("a/" * (1 << 19), locations=many)], "0.1.0")
    result = next(r for r in json.loads(text)["runs"][0]["results"] if r["ruleId"] == "kv_cache/lint")
    assert len(result["relatedLocations"]) == MOST_PLACES
    assert "more characters in the record" in result["message"]["text"]
    assert len(text) < 100_000


def test_a_finding_about_no_criterion_has_a_rule() -> None:
    kept = sample.baseline()
    seen = Signal(kind=SignalKind.SYSTEM_CALL, detail="ptrace")
    found = run(kept.model_copy(update={"signals": (seen,)}))
    result = found["results"][0]
    assert result["ruleId"] == f"kv_cache/{INTEGRITY}"
    assert found["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_our_own_failure_is_no_result() -> None:
    found = run(sample.record("m", PASSING, status=Status.JUDGE_ERROR, error="BoxError: gone"))
    assert found["results"] == []
    (invocation,) = found["invocations"]
    assert not invocation["executionSuccessful"]
    assert "BoxError" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert run(sample.baseline())["invocations"][0]["executionSuccessful"]


def test_the_same_records_give_the_same_bytes() -> None:
    assert sarif([sample.CHALLENGE], RECORDS, "1") == sarif([sample.CHALLENGE], list(reversed(RECORDS)), "1")
