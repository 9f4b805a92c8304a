"""What the stages of a grade find."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.model import BuildFailure, Evidence, RepairedGrade, Signal


@dataclass(frozen=True)
class StageResult:
    """What one stage found, or several together.

    Attributes:
        evidence: by criterion.
        signals: what the answer was seen doing in the sandbox.
        build_failure: why it does not build; None as long as nothing speaks against it.
        repaired: what a repaired copy of what does not build shows.
        seconds: wall time, by stage.
        cut_off: whether the time set for the grade ran out on the way.
    """

    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()
    build_failure: BuildFailure | None = None
    repaired: RepairedGrade | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    cut_off: bool = False

    def __or__(self, later: "StageResult") -> "StageResult":
        return StageResult(
            {**self.evidence, **later.evidence},
            (*self.signals, *later.signals),
            self.build_failure or later.build_failure,
            self.repaired or later.repaired,
            {**self.seconds, **later.seconds},
            self.cut_off or later.cut_off,
        )
