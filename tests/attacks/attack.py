"""The words of the corpus: an attack, what it is after, and what must become of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from harness.model import SignalKind


class Expect(Enum):
    """What must become of a submission."""

    NO_CREDIT = "no credit"
    """Every deciding criterion comes out failed: the work was not done, or not each time."""
    HELD = "held"
    """Nothing in the world around the box was read, changed, reached or ended; the marks do not matter."""
    REFUSED = "refused"
    """It is turned away, or fails to build, before a probe calls it."""
    HONEST = "honest"
    """For benign twins: every deciding criterion passes, and nothing is said against it."""


@dataclass(frozen=True)
class Attack:
    """One way to cheat, in one challenge. A benign twin is the same with `Expect.HONEST`.

    Attributes:
        name: of the mechanism, the same in every challenge it is planted in.
        kind: the class it is counted under, such as "replay" or "reading what is hidden".
        challenge: id of the challenge.
        files: the submission's files by relative path; the runner adds submission.toml, and `loot.py` (`loot.h`),
            which tell the attack where its targets are and take what it got.
        entry: the module with the contract's functions, or the CUDA files that export them.
        criteria: those that decide, beside the challenge's anchor; empty for the anchor alone.
        expect: what must become of it.
        signals: kinds of signal of which at least one must be raised; empty when none need be.
        tests: words of `[tests] command`, for attacks that work through the answer's own tests.
        capabilities: claimed ones, as submission.toml states them.
        claims: figures it states about itself, by quantity.
        tiers: tiers ("A", "B", "C") in which the target is reachable at all; all of them by default.
    """

    name: str
    kind: str
    challenge: str
    files: Mapping[str, str]
    entry: tuple[str, ...] = ("answer.py",)
    criteria: tuple[str, ...] = ()
    expect: Expect = Expect.NO_CREDIT
    signals: frozenset[SignalKind] = frozenset()
    tests: tuple[str, ...] = ()
    capabilities: Mapping[str, object] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)
    tiers: tuple[str, ...] = ("A", "B", "C")
