"""What challenge authors use: probes, draws, expectations; and how their verdicts become evidence."""

from harness.probing import expect
from harness.probing.answers import Answer, BoxedAnswer, Cost, LocalAnswer
from harness.probing.code import ChallengeCode
from harness.probing.criteria import anchored, probe_criterion, seed_of
from harness.probing.device import located, timed
from harness.probing.draw import Draw
from harness.probing.faults import Mutant, Variant
from harness.probing.memory import growth
from harness.probing.nulls import NullAnswer
from harness.probing.opening import Files, Opened, opened
from harness.probing.probe import Partly, Probe, probe
from harness.probing.refuted import Broken, NotOffered, Refused, Refuted, Unmeasured
from harness.probing.scaling import alone, timings
from harness.sandbox import Array, Function, Keep, Kept, Nothing, Scalar, Tree

__all__ = [
    "Answer",
    "Array",
    "BoxedAnswer",
    "Broken",
    "ChallengeCode",
    "Cost",
    "Draw",
    "Files",
    "Function",
    "Keep",
    "Kept",
    "LocalAnswer",
    "Mutant",
    "NotOffered",
    "Nothing",
    "NullAnswer",
    "Opened",
    "Partly",
    "Probe",
    "Refused",
    "Refuted",
    "Scalar",
    "Tree",
    "Unmeasured",
    "Variant",
    "alone",
    "anchored",
    "expect",
    "growth",
    "located",
    "opened",
    "probe",
    "probe_criterion",
    "seed_of",
    "timed",
    "timings",
]
