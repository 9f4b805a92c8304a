"""A criterion that nothing was run for needs a review where it is a reviewer's question, and else is our failure."""

import pytest

from harness.grading.submission_grade import make_unrun_evidence
from harness.model import NEEDS_REVIEW, Criterion, Outcome, Severity
from harness.report.formatting import unassessed

ABOUT = {"dimension": "quality", "severity": Severity.MAJOR, "title": "Names tell the truth."}


@pytest.mark.parametrize("error", ["", "BoxError: gone"])
def test_a_question_to_a_reviewer_is_no_failure(error):
    criterion = Criterion(id="names", review="Are the names true?", **ABOUT)
    evidence = make_unrun_evidence(criterion, error)
    assert evidence.outcome is Outcome.NOT_RUN and criterion.review in evidence.detail
    assert evidence.needs_review(criterion) and unassessed(criterion, evidence) == NEEDS_REVIEW


@pytest.mark.parametrize("error", ["", "BoxError: gone"])
def test_a_probe_that_was_never_run_is_our_failure(error):
    criterion = Criterion(id="names", probes=("names",), **ABOUT)
    evidence = make_unrun_evidence(criterion, error)
    assert evidence.outcome is Outcome.JUDGE_ERROR and error in evidence.detail
    assert not evidence.needs_review(criterion) and unassessed(criterion, evidence) == evidence.detail
