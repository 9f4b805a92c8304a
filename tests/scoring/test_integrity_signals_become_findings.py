"""What an answer was seen doing in the sandbox becomes one finding a kind, behind the critical ones."""

import pytest
from rubrics import evidence, graded, rubric

from harness.model import INTEGRITY, Finding, Outcome, Severity, Signal, SignalKind, merge_signals

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR
TASK = rubric({"correctness": [CRITICAL, MAJOR, MINOR]})
PASSWD = Signal(kind=SignalKind.UNSEEN_FILE, detail="/etc/passwd")


def findings(*signals: Signal, **changes: object) -> tuple[Finding, ...]:
    return graded("m", "task", 50.0).model_copy(update={"signals": merge_signals(signals), **changes}).findings


def test_nothing_seen_is_no_finding():
    assert findings() == ()


@pytest.mark.parametrize("kind", SignalKind)
def test_every_kind_has_its_phrase(kind):
    (finding,) = findings(Signal(kind=kind, detail="seen"))
    assert (finding.criterion, finding.severity, finding.title) == (INTEGRITY, MAJOR, kind.value)


def test_what_was_seen_often_is_told_once_and_counted():
    others = [Signal(kind=SignalKind.SYSTEM_CALL, detail="ptrace"), Signal(kind=SignalKind.UNSEEN_FILE, detail="/root")]
    files, calls = findings(*others, PASSWD, PASSWD, PASSWD)
    assert files.detail == "/etc/passwd (3 times); /root"
    assert calls.detail == "ptrace"


def test_an_answer_cannot_fill_a_record_or_a_report():
    seen = [Signal(kind=SignalKind.UNSEEN_FILE, detail=f"{'x' * 190}{number}") for number in range(10_000)]
    assert len(merge_signals(seen)) == 100
    (finding,) = findings(*seen)
    assert finding.detail.endswith("and 95 more") and len(finding.detail) < 5 * 250


def test_they_come_behind_the_critical_and_before_all_others():
    lost = evidence(TASK, {c.id: Outcome.FAILED for c in TASK.criteria})
    placed = findings(PASSWD, evidence=tuple(lost))
    assert [f.criterion for f in placed] == ["correctness.0", INTEGRITY, "correctness.1", "correctness.2"]
