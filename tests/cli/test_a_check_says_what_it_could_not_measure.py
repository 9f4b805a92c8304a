"""A criterion that a right answer was not assessed on is no wrong verdict; `harness check` names it in every form."""

import json

import pytest

from harness.mutation.checks.check import CheckResult

REASON = "other grades of this machine did not end in time"


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    """The reference could not be timed here."""

    def verdicts(code, seed, progress):
        yield CheckResult("reference", "reference", "every criterion passes", True, not_run={"speed": REASON})
        yield CheckResult("mutant", "slow", "killed", True, criterion="speed")

    monkeypatch.setattr("harness.mutation.checks.check.check", verdicts)


def test_the_json_holds_the_reason_by_criterion(run):
    done = run("check", "rows", "--json")
    assert done.returncode == 0
    assert [verdict["not_run"] for verdict in json.loads(done.stdout)] == [{"speed": REASON}, {}]


def test_a_note_names_the_answer_the_criterion_and_the_reason(run):
    done = run("check", "rows")
    assert done.returncode == 0
    assert f"not measured here: reference `reference`: speed: {REASON}" in done.stderr
