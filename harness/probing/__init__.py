"""What challenge authors use: probes, draws, expectations; and how their verdicts become evidence."""

from harness.languages import AnswerFiles
from harness.model import Location, Loss, LossByDistance, LossMap
from harness.probing import expectations as expect
from harness.probing.answers import Answer, Cost, LocalAnswer, SandboxedAnswer
from harness.probing.code import ChallengeCode
from harness.probing.criteria import anchored, probe_criterion, seed_of
from harness.probing.device import located, timed
from harness.probing.draw import Draw
from harness.probing.failures import (
    ArgumentsRejected,
    CallTimedOut,
    NotMeasurable,
    NotOffered,
    NotRun,
    ProbeFailure,
    WorkerLost,
)
from harness.probing.mutants import Mutant, Variant
from harness.probing.null_answer import NullAnswer
from harness.probing.opening import OpenedAnswer, opened
from harness.probing.probe import Partial, Probe, probe
from harness.probing.scaling import require_subquadratic, timings
from harness.sandbox import Array, Keep, Nothing, RemoteFunction, RemoteObject, Scalar, Tree
from harness.timing.exclusive import timing_lock

__all__ = [
    "Answer",
    "AnswerFiles",
    "ArgumentsRejected",
    "Array",
    "CallTimedOut",
    "ChallengeCode",
    "Cost",
    "Draw",
    "Keep",
    "LocalAnswer",
    "Location",
    "Loss",
    "LossByDistance",
    "LossMap",
    "Mutant",
    "NotMeasurable",
    "NotOffered",
    "NotRun",
    "Nothing",
    "NullAnswer",
    "OpenedAnswer",
    "Partial",
    "Probe",
    "ProbeFailure",
    "RemoteFunction",
    "RemoteObject",
    "SandboxedAnswer",
    "Scalar",
    "Tree",
    "Variant",
    "WorkerLost",
    "anchored",
    "expect",
    "located",
    "opened",
    "probe",
    "probe_criterion",
    "require_subquadratic",
    "seed_of",
    "timed",
    "timing_lock",
    "timings",
]
