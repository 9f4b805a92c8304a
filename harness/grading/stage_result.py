"""Results of stages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.model import BuildFailure, Evidence, RepairedGrade, Signal


@dataclass(frozen=True)
class StageResult:
    """Result of one stage, or of several combined with `|`.

    Attributes:
        signals: observations of the submission in the sandbox.
        build_failure: why the submission does not build.
        repaired: grade of a repaired copy.
        seconds: wall time by stage.
        cut_off: true if time ran out.
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
