"""`harness diff` states what got better or worse, with the evidence of both, and fails on request only for what did."""

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.model import Evidence, Outcome, Record
from harness.report.views.difference import Change, RecordDifference
from harness.workspace import Workspace
from tests.commands import called

CHECKOUT = Workspace(Path(__file__).parents[2])
BEFORE, AFTER = "glm-5/kv_cache", "qwen3.6-27b/kv_cache"


def diff(*words: str) -> "subprocess.CompletedProcess[str]":
    return called(CHECKOUT.root, "diff", *words)


def data(*words: str) -> Any:
    return json.loads(diff(*words, "--format", "json").stdout)


def shares(name: str) -> dict[str, float]:
    record = CHECKOUT.record(name)
    return {e.criterion: e.satisfied for e in record.marked if e.outcome.assessed}


@pytest.fixture
def boards(tmp_path: Path) -> tuple[str, str]:
    """Two boards with three records each: one changed, one the same, one that only this board has."""
    for board, changed, alone in (("before", BEFORE, "glm-5"), ("after", AFTER, "qwen3.6-27b")):
        records = {"one": CHECKOUT.record(changed), "two": CHECKOUT.record("baseline/kv_cache")}
        for model, record in {**records, alone: CHECKOUT.record(f"{alone}/kv_cache")}.items():
            path = tmp_path / board / "records" / "kv_cache" / f"{model}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(record.model_copy(update={"model": model}).to_json())
    return str(tmp_path / "before"), str(tmp_path / "after")


def test_each_change_follows_from_the_two_records() -> None:
    (found,) = data(BEFORE, AFTER)["records"]
    before, after = shares(BEFORE), shares(AFTER)
    expected = {}
    for id in {*before, *after}:
        if id not in before or id not in after:
            expected[id] = "newly assessed" if id in after else "no longer assessed"
        elif before[id] != after[id]:
            expected[id] = "worse" if after[id] < before[id] else "better"
    assert {change["criterion"]: change["change"] for change in found["changes"]} == expected
    assert "worse" in expected.values() and "better" in expected.values()
    for side, name in (("before", BEFORE), ("after", AFTER)):
        record = CHECKOUT.record(name)
        known = {e.criterion: json.loads(e.model_dump_json()) for e in record.evidence}
        assert all(change[side] == known[change["criterion"]] for change in found["changes"])
        assert found[side]["overall"] == record.overall.model_dump()


def test_the_evidence_of_both_is_printed() -> None:
    for words in ((), ("--format", "md")):
        shown = " ".join(diff(BEFORE, AFTER, *words).stdout.replace("\\", "").split())
        worse = next(f for f in CHECKOUT.record(AFTER).findings if f.criterion == "prefill_stored")
        assert "prefill_stored" in shown and worse.title.split(";")[0].split()[0] in shown
    rows = list(csv.DictReader(io.StringIO(diff(BEFORE, AFTER, "--format", "csv").stdout)))
    row = next(row for row in rows if row["criterion"] == "prefill_stored")
    assert (row["change"], row["before"], row["severity"]) == ("worse", "passed", "critical")
    assert worse.title in row["after"] and worse.detail in row["after"]


def test_a_regression_fails_only_where_it_was_asked_to() -> None:
    assert diff(BEFORE, AFTER).returncode == 0
    assert diff(BEFORE, AFTER, "--fail-on-regression").returncode == 1
    assert diff(AFTER, AFTER, "--fail-on-regression").returncode == 0
    assert "no criterion changed" in diff(AFTER, AFTER).stdout


def with_outcome(record: Record, criterion: str, outcome: Outcome) -> Record:
    (rubric,) = (c for c in CHECKOUT.challenge(record.challenge).criteria if c.id == criterion)
    changed = Evidence.of(rubric, outcome, detail="" if outcome.ran else "our side failed")
    evidence = tuple(changed if e.criterion == criterion else e for e in record.evidence)
    return record.model_copy(update={"evidence": evidence})


def test_what_was_not_assessed_is_neither_better_nor_worse() -> None:
    record = CHECKOUT.record("baseline/kv_cache")
    unknown = with_outcome(record, "decode_history", Outcome.JUDGE_ERROR)
    failed = with_outcome(record, "decode_history", Outcome.FAILED)
    for before, after, change in (
        (record, unknown, Change.NOT_ASSESSED),
        (unknown, failed, Change.ASSESSED),
        (record, failed, Change.WORSE),
        (failed, record, Change.BETTER),
    ):
        (found,) = RecordDifference(before, after).changes
        assert (found.criterion, found.change) == ("decode_history", change)
        assert RecordDifference(before, after).worse is (change is Change.WORSE)


def test_two_boards_are_compared_by_the_records_that_both_have(boards: tuple[str, str]) -> None:
    found = data(*boards)
    assert [one["after"]["name"] for one in found["records"]] == ["one/kv_cache"]
    assert found["records"][0]["changes"] == data(BEFORE, AFTER)["records"][0]["changes"]
    assert (found["same"], found["gone"], found["added"]) == (1, ["glm-5/kv_cache"], ["qwen3.6-27b/kv_cache"])
    assert diff(*boards, "--fail-on-regression").returncode == 1
    told = diff(*boards)
    assert "only in the first: glm-5/kv_cache" in told.stderr


def test_a_damaged_record_is_named_and_the_rest_compared(boards: tuple[str, str]) -> None:
    damaged = Path(boards[1]) / "records" / "kv_cache" / "two.json"
    damaged.write_text(damaged.read_text()[:-40])
    told = diff(*boards)
    assert told.returncode == 0 and str(damaged) in told.stderr
    assert "one/kv_cache" in told.stdout


def test_other_conditions_are_said_to_be_possible_reasons() -> None:
    record = CHECKOUT.record("baseline/kv_cache")
    older = record.model_copy(update={"environment": record.environment.model_copy(update={"harness": "0.0.1"})})
    assert RecordDifference(older, record).unlike == {"harness": ("0.0.1", record.environment.harness)}
    assert not RecordDifference(record, record).unlike


@pytest.mark.parametrize(
    "names", [(BEFORE, "glm-5/layernorm_backward"), (BEFORE, "."), (BEFORE, "nobody/kv_cache"), (BEFORE, "gone.json")]
)
def test_what_does_not_compare_is_refused(names: tuple[str, str]) -> None:
    told = diff(*names)
    assert told.returncode == 2 and "error: " in told.stderr and "Traceback" not in told.stderr
