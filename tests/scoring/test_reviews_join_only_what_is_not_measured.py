"""Reviewers' marks count beside the measured score, for what nothing can measure, and published ones never."""

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.model import Outcome, Review, ReviewerKind
from harness.scoring.joined import join_reviews

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import sample_records as sample

RECORD = sample.record()
READABILITY, PLAN = "readability", "gpu_plan"


def review(kind: ReviewerKind = ReviewerKind.PERSON, model: str = "glm-5", **marks: float) -> Review:
    return Review.model_validate(
        {
            "schema_version": 1, "model": model, "challenge": "kv_cache",
            "reviewer": {"kind": kind, "id": "somebody", "date": "2026-11-20"},
            "marks": [{"target": target, "mark": mark} for target, mark in marks.items()],
        }
    )  # fmt: skip


def test_the_sample_has_what_only_a_reviewer_can_mark() -> None:
    outcomes = {e.criterion: e.outcome for e in RECORD.evidence}
    assert not outcomes[READABILITY].assessed and not outcomes[PLAN].assessed


def test_a_mark_of_full_makes_the_criterion_met() -> None:
    found = join_reviews(sample.CHALLENGE, RECORD, [review(readability=100)])
    assert found is not None
    before, after = RECORD.dimensions["code_quality"], found.dimensions["code_quality"]
    assert after.coverage == 1.0 > before.coverage
    assert after.score == before.high


def test_a_mark_of_nought_makes_it_lost() -> None:
    found = join_reviews(sample.CHALLENGE, RECORD, [review(readability=0)])
    assert found is not None
    assert found.dimensions["code_quality"].score == RECORD.dimensions["code_quality"].low


def test_several_reviewers_count_by_their_median() -> None:
    many = join_reviews(sample.CHALLENGE, RECORD, [review(gpu_plan=mark) for mark in (10, 60, 100)])
    assert many == join_reviews(sample.CHALLENGE, RECORD, [review(gpu_plan=60)])
    assert many is not None
    assert many.dimensions["gpu_mapping"].score == 60


@pytest.mark.parametrize("changes", [{"kind": ReviewerKind.PUBLISHED}, {"model": "another"}])
def test_published_reviews_and_those_of_others_do_not_count(changes: dict[str, Any]) -> None:
    assert join_reviews(sample.CHALLENGE, RECORD, [review(**changes, readability=100)]) is None


def test_what_was_measured_is_not_marked_over() -> None:
    measured = [e.criterion for e in RECORD.evidence if e.outcome.assessed]
    assert join_reviews(sample.CHALLENGE, RECORD, [review(**dict.fromkeys(measured, 100.0))]) is None


def test_marks_of_whole_dimensions_do_not_count() -> None:
    assert join_reviews(sample.CHALLENGE, RECORD, [review(code_quality=100)]) is None


def test_gates_hold_whatever_reviewers_say() -> None:
    failed = [e for e in RECORD.evidence if e.outcome is Outcome.FAILED and e.severity == "critical"]
    assert failed
    found = join_reviews(sample.CHALLENGE, RECORD, [review(readability=100, gpu_plan=100)])
    assert found is not None and found.overall.score is not None
    assert found.overall.score <= 59
    assert found.gates == RECORD.gates
