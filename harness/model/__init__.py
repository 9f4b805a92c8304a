"""The words of the project as frozen pydantic models."""

from harness.model.base import Figure, Identifier, Model, Stored
from harness.model.challenge import Challenge, Contract, Criterion, Dimension, ErrorRatioScale, Limits, Severity
from harness.model.collection import CollectedAnswer, Collection, Origin
from harness.model.defect import PublishedDefect, PublishedDefects
from harness.model.draws import Draws, Threshold
from harness.model.evidence import (
    NEEDS_REVIEW,
    UNBUILT,
    Counterexample,
    Diagnosis,
    Evidence,
    Location,
    Observation,
    Outcome,
)
from harness.model.finding import INTEGRITY, Finding
from harness.model.loss import Loss, LossByDistance, LossMap
from harness.model.record import BuildFailure, Environment, Gate, Record, Score, Status
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
from harness.model.signal import Signal, SignalKind, counted
from harness.model.submission import About, Claim, OwnTests, Provenance, Submission
from harness.model.tier import Tier

__all__ = [
    "INTEGRITY",
    "NEEDS_REVIEW",
    "UNBUILT",
    "About",
    "BuildFailure",
    "Challenge",
    "Claim",
    "CollectedAnswer",
    "Collection",
    "Comparison",
    "Comparisons",
    "Contract",
    "Counterexample",
    "Criterion",
    "Diagnosis",
    "Dimension",
    "Draws",
    "Environment",
    "ErrorRatioScale",
    "Evidence",
    "Figure",
    "Finding",
    "Gate",
    "Identifier",
    "Limits",
    "Location",
    "Loss",
    "LossByDistance",
    "LossMap",
    "Mark",
    "Model",
    "Observation",
    "Origin",
    "Outcome",
    "OwnTests",
    "Place",
    "Preference",
    "Provenance",
    "PublishedDefect",
    "PublishedDefects",
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
    "Signal",
    "SignalKind",
    "Status",
    "Stored",
    "Submission",
    "Threshold",
    "Tier",
    "counted",
]
