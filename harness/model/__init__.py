"""The words of the project as frozen pydantic models."""

from harness.model.base import Figure, Identifier, Model, Stored
from harness.model.challenge import Challenge, Contract, Criterion, Dimension, ErrorRatioScale, Limits, Severity
from harness.model.defect import Defect, Defects
from harness.model.evidence import Counterexample, Evidence, Finding, Outcome
from harness.model.record import Environment, Gate, Record, Score, Status
from harness.model.review import (
    Comparison,
    Comparisons,
    Mark,
    Place,
    Preference,
    Quote,
    Ranking,
    Review,
    Reviewer,
    ReviewerKind,
    Round,
    Rounds,
    Row,
)
from harness.model.submission import About, Claim, OwnTests, Provenance, Submission

__all__ = [
    "About",
    "Challenge",
    "Claim",
    "Comparison",
    "Comparisons",
    "Contract",
    "Counterexample",
    "Criterion",
    "Defect",
    "Defects",
    "Dimension",
    "Environment",
    "ErrorRatioScale",
    "Evidence",
    "Figure",
    "Finding",
    "Gate",
    "Identifier",
    "Limits",
    "Mark",
    "Model",
    "Outcome",
    "OwnTests",
    "Place",
    "Preference",
    "Provenance",
    "Quote",
    "Ranking",
    "Record",
    "Review",
    "Reviewer",
    "ReviewerKind",
    "Round",
    "Rounds",
    "Row",
    "Score",
    "Severity",
    "Status",
    "Stored",
    "Submission",
]
