"""The project's vocabulary as frozen pydantic models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.model.base import Figure as Figure
    from harness.model.base import Identifier as Identifier
    from harness.model.base import Model as Model
    from harness.model.base import Stored as Stored
    from harness.model.base import identifier as identifier
    from harness.model.challenges.challenge import Challenge as Challenge
    from harness.model.challenges.challenge import Contract as Contract
    from harness.model.challenges.challenge import Criterion as Criterion
    from harness.model.challenges.challenge import Dimension as Dimension
    from harness.model.challenges.challenge import ErrorRatioScale as ErrorRatioScale
    from harness.model.challenges.challenge import Limits as Limits
    from harness.model.challenges.challenge import Severity as Severity
    from harness.model.challenges.profile import GradeProfile as GradeProfile
    from harness.model.challenges.suite import ChallengeSuite as ChallengeSuite
    from harness.model.challenges.suite import ChallengeSuites as ChallengeSuites
    from harness.model.evidence.draws import Draws as Draws
    from harness.model.evidence.draws import Threshold as Threshold
    from harness.model.evidence.evidence import NEEDS_REVIEW as NEEDS_REVIEW
    from harness.model.evidence.evidence import UNBUILT as UNBUILT
    from harness.model.evidence.evidence import Counterexample as Counterexample
    from harness.model.evidence.evidence import Diagnosis as Diagnosis
    from harness.model.evidence.evidence import Evidence as Evidence
    from harness.model.evidence.evidence import Location as Location
    from harness.model.evidence.evidence import Observation as Observation
    from harness.model.evidence.evidence import Obstacle as Obstacle
    from harness.model.evidence.evidence import Outcome as Outcome
    from harness.model.evidence.finding import INTEGRITY as INTEGRITY
    from harness.model.evidence.finding import NO_ANSWER as NO_ANSWER
    from harness.model.evidence.finding import Finding as Finding
    from harness.model.evidence.loss import Loss as Loss
    from harness.model.evidence.loss import LossByDistance as LossByDistance
    from harness.model.evidence.loss import LossMap as LossMap
    from harness.model.evidence.repair import Repair as Repair
    from harness.model.evidence.repair import RepairedGrade as RepairedGrade
    from harness.model.evidence.repair import RepairKind as RepairKind
    from harness.model.evidence.signal import Signal as Signal
    from harness.model.evidence.signal import SignalKind as SignalKind
    from harness.model.evidence.signal import merge_signals as merge_signals
    from harness.model.record import BuildFailure as BuildFailure
    from harness.model.record import Environment as Environment
    from harness.model.record import Gate as Gate
    from harness.model.record import Record as Record
    from harness.model.record import Score as Score
    from harness.model.record import Status as Status
    from harness.model.reviews.defect import PublishedDefect as PublishedDefect
    from harness.model.reviews.defect import PublishedDefects as PublishedDefects
    from harness.model.reviews.review import Comparison as Comparison
    from harness.model.reviews.review import Comparisons as Comparisons
    from harness.model.reviews.review import LetterGrades as LetterGrades
    from harness.model.reviews.review import Mark as Mark
    from harness.model.reviews.review import Place as Place
    from harness.model.reviews.review import Preference as Preference
    from harness.model.reviews.review import PublishedLetters as PublishedLetters
    from harness.model.reviews.review import Quote as Quote
    from harness.model.reviews.review import Ranking as Ranking
    from harness.model.reviews.review import Review as Review
    from harness.model.reviews.review import Reviewer as Reviewer
    from harness.model.reviews.review import ReviewerKind as ReviewerKind
    from harness.model.reviews.review import Round as Round
    from harness.model.reviews.review import Rounds as Rounds
    from harness.model.reviews.review import Row as Row
    from harness.model.submissions.asked import ASKED_FILE as ASKED_FILE
    from harness.model.submissions.asked import Asked as Asked
    from harness.model.submissions.asked import AskSettings as AskSettings
    from harness.model.submissions.asked import Turn as Turn
    from harness.model.submissions.collection import CollectedAnswer as CollectedAnswer
    from harness.model.submissions.collection import Collection as Collection
    from harness.model.submissions.collection import Origin as Origin
    from harness.model.submissions.submission import About as About
    from harness.model.submissions.submission import Claim as Claim
    from harness.model.submissions.submission import OwnTests as OwnTests
    from harness.model.submissions.submission import Provenance as Provenance
    from harness.model.submissions.submission import Submission as Submission
    from harness.model.tier import Tier as Tier
    from harness.model.tier_choice import TierChoice as TierChoice
    from harness.model.tier_choice import UnusedCause as UnusedCause
    from harness.model.tier_choice import UnusedTier as UnusedTier
    from harness.model.workspace_settings import WorkspaceSettings as WorkspaceSettings

_NAMES = {
    "base": "Figure Identifier Model Stored identifier",
    "challenges.challenge": "Challenge Contract Criterion Dimension ErrorRatioScale Limits Severity",
    "challenges.profile": "GradeProfile",
    "challenges.suite": "ChallengeSuite ChallengeSuites",
    "evidence.draws": "Draws Threshold",
    "evidence.evidence": "NEEDS_REVIEW UNBUILT Counterexample Diagnosis Evidence Location Observation Obstacle Outcome",
    "evidence.finding": "INTEGRITY NO_ANSWER Finding",
    "evidence.loss": "Loss LossByDistance LossMap",
    "evidence.repair": "Repair RepairedGrade RepairKind",
    "evidence.signal": "Signal SignalKind merge_signals",
    "record": "BuildFailure Environment Gate Record Score Status",
    "reviews.defect": "PublishedDefect PublishedDefects",
    "reviews.review": (
        "Comparison Comparisons LetterGrades Mark Place Preference PublishedLetters Quote Ranking Review Reviewer "
        "ReviewerKind Round Rounds Row"
    ),
    "submissions.asked": "ASKED_FILE Asked AskSettings Turn",
    "submissions.collection": "CollectedAnswer Collection Origin",
    "submissions.submission": "About Claim OwnTests Provenance Submission",
    "tier": "Tier",
    "tier_choice": "TierChoice UnusedCause UnusedTier",
    "workspace_settings": "WorkspaceSettings",
}
"""Names of each module, split at spaces."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    # loaded on first use: most commands need few of the models, and each costs time
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
