"""The project's vocabulary as frozen pydantic models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.model.asked import ASKED_FILE, Asked, AskSettings, Turn
    from harness.model.base import Figure, Identifier, Model, Stored, identifier
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
        Obstacle,
        Outcome,
    )
    from harness.model.finding import INTEGRITY, NO_ANSWER, Finding
    from harness.model.loss import Loss, LossByDistance, LossMap
    from harness.model.profile import GradeProfile
    from harness.model.record import BuildFailure, Environment, Gate, Record, Score, Status
    from harness.model.repair import Repair, RepairedGrade, RepairKind
    from harness.model.review import (
        Comparison,
        Comparisons,
        LetterGrades,
        Mark,
        Place,
        Preference,
        PublishedLetters,
        Quote,
        Ranking,
        Review,
        Reviewer,
        ReviewerKind,
        Round,
        Rounds,
        Row,
    )
    from harness.model.signal import Signal, SignalKind, merge_signals
    from harness.model.submission import About, Claim, OwnTests, Provenance, Submission
    from harness.model.suite import ChallengeSuite, ChallengeSuites
    from harness.model.tier import Tier
    from harness.model.tier_choice import TierChoice, UnusedCause, UnusedTier
    from harness.model.workspace_settings import WorkspaceSettings

_MODULES = {
    "harness.model.asked": (
        "ASKED_FILE",
        "Asked",
        "AskSettings",
        "Turn",
    ),
    "harness.model.base": (
        "Figure",
        "Identifier",
        "Model",
        "Stored",
        "identifier",
    ),
    "harness.model.challenge": (
        "Challenge",
        "Contract",
        "Criterion",
        "Dimension",
        "ErrorRatioScale",
        "Limits",
        "Severity",
    ),
    "harness.model.collection": (
        "CollectedAnswer",
        "Collection",
        "Origin",
    ),
    "harness.model.defect": (
        "PublishedDefect",
        "PublishedDefects",
    ),
    "harness.model.draws": (
        "Draws",
        "Threshold",
    ),
    "harness.model.evidence": (
        "NEEDS_REVIEW",
        "UNBUILT",
        "Counterexample",
        "Diagnosis",
        "Evidence",
        "Location",
        "Observation",
        "Obstacle",
        "Outcome",
    ),
    "harness.model.finding": (
        "INTEGRITY",
        "NO_ANSWER",
        "Finding",
    ),
    "harness.model.loss": (
        "Loss",
        "LossByDistance",
        "LossMap",
    ),
    "harness.model.profile": ("GradeProfile",),
    "harness.model.record": (
        "BuildFailure",
        "Environment",
        "Gate",
        "Record",
        "Score",
        "Status",
    ),
    "harness.model.repair": (
        "Repair",
        "RepairedGrade",
        "RepairKind",
    ),
    "harness.model.review": (
        "Comparison",
        "Comparisons",
        "LetterGrades",
        "Mark",
        "Place",
        "Preference",
        "PublishedLetters",
        "Quote",
        "Ranking",
        "Review",
        "Reviewer",
        "ReviewerKind",
        "Round",
        "Rounds",
        "Row",
    ),
    "harness.model.signal": (
        "Signal",
        "SignalKind",
        "merge_signals",
    ),
    "harness.model.submission": (
        "About",
        "Claim",
        "OwnTests",
        "Provenance",
        "Submission",
    ),
    "harness.model.suite": (
        "ChallengeSuite",
        "ChallengeSuites",
    ),
    "harness.model.tier": ("Tier",),
    "harness.model.tier_choice": (
        "TierChoice",
        "UnusedCause",
        "UnusedTier",
    ),
    "harness.model.workspace_settings": ("WorkspaceSettings",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ASKED_FILE",
    "INTEGRITY",
    "NEEDS_REVIEW",
    "NO_ANSWER",
    "UNBUILT",
    "About",
    "AskSettings",
    "Asked",
    "BuildFailure",
    "Challenge",
    "ChallengeSuite",
    "ChallengeSuites",
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
    "GradeProfile",
    "Identifier",
    "LetterGrades",
    "Limits",
    "Location",
    "Loss",
    "LossByDistance",
    "LossMap",
    "Mark",
    "Model",
    "Observation",
    "Obstacle",
    "Origin",
    "Outcome",
    "OwnTests",
    "Place",
    "Preference",
    "Provenance",
    "PublishedDefect",
    "PublishedDefects",
    "PublishedLetters",
    "Quote",
    "Ranking",
    "Record",
    "Repair",
    "RepairKind",
    "RepairedGrade",
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
    "TierChoice",
    "Turn",
    "UnusedCause",
    "UnusedTier",
    "WorkspaceSettings",
    "identifier",
    "merge_signals",
]


def __getattr__(name: str) -> Any:
    # loaded on first use: most commands need few of the models, and each costs time
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(_MODULE_OF[name]), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
