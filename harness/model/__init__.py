"""The project's vocabulary as frozen pydantic models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.model.base import Figure, Identifier, Model, Stored, identifier
    from harness.model.challenges.challenge import (
        Challenge,
        Contract,
        Criterion,
        Dimension,
        ErrorRatioScale,
        Limits,
        Severity,
    )
    from harness.model.challenges.profile import GradeProfile
    from harness.model.challenges.suite import ChallengeSuite, ChallengeSuites
    from harness.model.evidence.draws import Draws, Threshold
    from harness.model.evidence.evidence import (
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
    from harness.model.evidence.finding import INTEGRITY, NO_ANSWER, Finding
    from harness.model.evidence.loss import Loss, LossByDistance, LossMap
    from harness.model.evidence.repair import Repair, RepairedGrade, RepairKind
    from harness.model.evidence.signal import Signal, SignalKind, merge_signals
    from harness.model.record import BuildFailure, Environment, Gate, Record, Score, Status
    from harness.model.reviews.defect import PublishedDefect, PublishedDefects
    from harness.model.reviews.review import (
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
    from harness.model.submissions.asked import ASKED_FILE, Asked, AskSettings, Turn
    from harness.model.submissions.collection import CollectedAnswer, Collection, Origin
    from harness.model.submissions.submission import About, Claim, OwnTests, Provenance, Submission
    from harness.model.tier import Tier
    from harness.model.tier_choice import TierChoice, UnusedCause, UnusedTier
    from harness.model.workspace_settings import WorkspaceSettings

_MODULES = {
    "harness.model.submissions.asked": (
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
    "harness.model.challenges.challenge": (
        "Challenge",
        "Contract",
        "Criterion",
        "Dimension",
        "ErrorRatioScale",
        "Limits",
        "Severity",
    ),
    "harness.model.submissions.collection": (
        "CollectedAnswer",
        "Collection",
        "Origin",
    ),
    "harness.model.reviews.defect": (
        "PublishedDefect",
        "PublishedDefects",
    ),
    "harness.model.evidence.draws": (
        "Draws",
        "Threshold",
    ),
    "harness.model.evidence.evidence": (
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
    "harness.model.evidence.finding": (
        "INTEGRITY",
        "NO_ANSWER",
        "Finding",
    ),
    "harness.model.evidence.loss": (
        "Loss",
        "LossByDistance",
        "LossMap",
    ),
    "harness.model.challenges.profile": ("GradeProfile",),
    "harness.model.record": (
        "BuildFailure",
        "Environment",
        "Gate",
        "Record",
        "Score",
        "Status",
    ),
    "harness.model.evidence.repair": (
        "Repair",
        "RepairedGrade",
        "RepairKind",
    ),
    "harness.model.reviews.review": (
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
    "harness.model.evidence.signal": (
        "Signal",
        "SignalKind",
        "merge_signals",
    ),
    "harness.model.submissions.submission": (
        "About",
        "Claim",
        "OwnTests",
        "Provenance",
        "Submission",
    ),
    "harness.model.challenges.suite": (
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
