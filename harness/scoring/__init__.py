"""Marks from evidence: criteria to dimensions, to overalls, to an order of models."""

from harness.scoring.ranking import Standing, standings
from harness.scoring.score import Scored, dimension_score, overall_score, score

__all__ = ["Scored", "Standing", "dimension_score", "overall_score", "score", "standings"]
