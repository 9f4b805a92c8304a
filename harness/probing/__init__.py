"""What challenge authors use.

* `probe` makes a function a probe; it gets an `Answer`, a `Draw` and the sizes of one case, and returns figures or
  `Partial`.
* `Drawn` and `Axis` let a probe meet sizes that nobody chose; `harness.probing.families` has values beside normal ones.
* `expect` compares. What it finds wrong it raises as `ProbeFailure`, and so may a probe. Calls of an answer raise kinds
  of it: `CallFailed`, `ArgumentsRejected`, `NotOffered`, `WorkerLost`, `CallTimedOut`. `FaultElsewhere` leaves the
  blame to the criterion that judges the fault. `NotMeasurable` and `NotRun` blame no answer.
* `Array`, `Scalar`, `Tree`, `Nothing` and `Keep` say what a call returns. `Keep` brings a `RemoteObject`, which stays
  in the answer's process; a `RemoteFunction` is one of a module loaded there.
* A `ServedFunction` is one that a call is given and that runs in a process of its own, which counts its calls.
* `InputUse` is what the caller does with the arrays of a call (read-only, overwritten, passed again) and how they lie.
* A failure may carry a `Location` in the answer's files, and a `Loss`: which places are lost (`LossMap`,
  `LossByDistance`).
* `timings`, `require_subquadratic` and `timing_lock` measure cost; `harness.probing.speed` races against the reference.
* `Mutant` and `Variant` are edits of the reference.
* For CUDA: `harness.probing.launching` calls an answer, `.checked` judges watched accesses, `.traffic` counts bytes;
  `timed` times on a GPU, `located` puts the author's lines into a report.
"""

from harness.model import Location, Loss, LossByDistance, LossMap
from harness.probing import expectations as expect
from harness.probing import laws
from harness.probing.answers import Answer
from harness.probing.device import located, timed
from harness.probing.draw import Draw
from harness.probing.failures import (
    ArgumentsRejected,
    CallFailed,
    CallTimedOut,
    FaultElsewhere,
    NotMeasurable,
    NotOffered,
    NotRun,
    ProbeFailure,
    WorkerLost,
)
from harness.probing.mutants import Mutant, PropertyMutant, Variant
from harness.probing.probe import Partial, probe
from harness.probing.scaling import require_subquadratic, timings
from harness.probing.shrinking import Shrunk
from harness.probing.sizes import Axis, Drawn
from harness.sandbox import Array, InputUse, Keep, Nothing, RemoteFunction, RemoteObject, Scalar, ServedFunction, Tree
from harness.timing.exclusive import timing_lock

__all__ = [
    "Answer",
    "ArgumentsRejected",
    "Array",
    "Axis",
    "CallFailed",
    "CallTimedOut",
    "Draw",
    "Drawn",
    "FaultElsewhere",
    "InputUse",
    "Keep",
    "Location",
    "Loss",
    "LossByDistance",
    "LossMap",
    "Mutant",
    "NotMeasurable",
    "NotOffered",
    "NotRun",
    "Nothing",
    "Partial",
    "ProbeFailure",
    "PropertyMutant",
    "RemoteFunction",
    "RemoteObject",
    "Scalar",
    "ServedFunction",
    "Shrunk",
    "Tree",
    "Variant",
    "WorkerLost",
    "expect",
    "laws",
    "located",
    "probe",
    "require_subquadratic",
    "timed",
    "timing_lock",
    "timings",
]
