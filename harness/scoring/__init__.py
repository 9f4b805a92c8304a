"""Marks from evidence, and an order of models from marks."""

from harness.scoring.ranking import Standing, standings
from harness.scoring.score import Scored, dimension_score, overall_score, score

__all__ = ["Scored", "Standing", "dimension_score", "overall_score", "score", "standings"]
