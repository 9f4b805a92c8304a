"""What an answer was seen doing in the box becomes one finding a kind, behind the critical ones."""

import pytest
from rubrics import evidence, rubric

from harness.model import Outcome, Severity
from harness.sandbox.signals import Signal, SignalKind
from harness.scoring import findings
from harness.scoring.integrity import INTEGRITY, MOST_DETAILS, integrity_findings, with_integrity

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR
TASK = rubric({"correctness": [CRITICAL, MAJOR, MINOR]})
PASSWD = Signal(SignalKind.UNSEEN_FILE, "/etc/passwd")


def test_nothing_seen_is_no_finding():
    assert integrity_findings([]) == ()


@pytest.mark.parametrize("kind", SignalKind)
def test_every_kind_has_its_phrase(kind):
    (finding,) = integrity_findings([Signal(kind, "seen")])
    assert (finding.criterion, finding.severity, finding.title) == (INTEGRITY, MAJOR, kind.value)


def test_what_was_seen_often_is_told_once_and_counted():
    others = [Signal(SignalKind.SYSTEM_CALL, "ptrace"), Signal(SignalKind.UNSEEN_FILE, "/root")]
    files, calls = integrity_findings([*others, PASSWD, PASSWD, PASSWD])
    assert files.detail == "/etc/passwd (3 times); /root"
    assert calls.detail == "ptrace"


def test_an_answer_cannot_fill_a_report():
    seen = [Signal(SignalKind.UNSEEN_FILE, f"{'x' * 190}{number}") for number in range(10_000)]
    (finding,) = integrity_findings(seen)
    assert finding.detail.endswith(f"and {len(seen) - MOST_DETAILS} more")
    assert len(finding.detail) < MOST_DETAILS * 250


def test_they_come_behind_the_critical_and_before_all_others():
    told = findings(TASK, evidence(TASK, {c.id: Outcome.FAILED for c in TASK.criteria}), {})
    placed = with_integrity(told, [PASSWD])
    assert [f.criterion for f in placed] == ["correctness.0", INTEGRITY, "correctness.1", "correctness.2"]
