"""A duel is decided by overalls under their gates: merit elsewhere never outweighs a failed critical criterion."""

from rubrics import evidence, graded, rubric

from harness.model import Outcome, Record, Severity
from harness.scoring.duels import duel

CRITICAL, MAJOR = Severity.CRITICAL, Severity.MAJOR
TASK = rubric({"correctness": [CRITICAL] * 3, "style": [MAJOR] * 4}, weights={"correctness": 1.0, "style": 9.0})


def record(model: str, failed: str) -> Record:
    items = evidence(TASK, {failed: Outcome.FAILED})
    return graded(model, TASK.id, 50.0).model_copy(update={"evidence": tuple(items)})


def test_the_ceiling_on_the_overall_decides() -> None:
    """Without it the left one would win by 94 to 78: one critical criterion failed holds it at 59, less 10 / 3."""
    result = duel(TASK, record("left", "correctness.0"), record("right", "style.0"))
    assert (result.left_mark, result.right_mark) == (56.0, 78.0)
    assert result.winner == "right"
