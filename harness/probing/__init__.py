"""The interface for authors of challenges.

* `probe` turns a function into a probe, which gets an `Answer`, a `Draw` and the sizes of one case, and returns figures
  or a `Partial`.
* `Axis` and `Drawn` draw sizes at random; `harness.probing.families` draws special values.
* `expect` and `laws` compare outputs and raise `ProbeFailure`, as may a probe. Calls of a submission raise its
  subclasses `CallFailed`, `ArgumentsRejected`, `NotOffered`, `WorkerLost` and `CallTimedOut`. `FaultElsewhere` leaves a
  fault to the criterion that judges it. `NotMeasurable` and `NotRun` blame no submission.
* `Array`, `Scalar`, `Tree`, `Nothing` and `Keep` describe results of calls. `Keep` yields a `RemoteObject`, which stays
  in the submission's process; a `RemoteFunction` belongs to a module loaded there.
* `ServedFunction` is an argument that runs in its own process and counts its calls.
* `InputUse` sets the layout and use of array arguments.
* `Location` and `Loss` (`LossMap`, `LossByDistance`) place a failure in the submission's files and outputs.
* `offers` reads the capabilities of a submission, `converted` converts an array without loss, and `scratch_folder`
  makes a temporary folder.
* `timings`, `require_subquadratic` and `timing_lock` measure cost; `harness.probing.speed` races the reference.
* `Mutant`, `PropertyMutant` and `Variant` edit right answers.
* For CUDA see `harness.probing.launching`, `.checked` and `.traffic`, `timed`, `located`, `necessary_bytes` and
  `plan_rows`.
"""

from harness.cuda.gpu.figures import necessary_bytes, plan_rows
from harness.model import Location, Loss, LossByDistance, LossMap
from harness.model.submissions.submission import offers
from harness.probing import laws
from harness.probing.answers import Answer
from harness.probing.challenge_code.mutants import Mutant, PropertyMutant, Variant
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
from harness.probing.probe import Partial, probe
from harness.probing.requirements import expectations as expect
from harness.probing.requirements.scaling import require_subquadratic, timings
from harness.probing.shrinking import Shrunk
from harness.probing.sizes import Axis, Drawn
from harness.probing.submissions.device import located, timed
from harness.sandbox import Array, InputUse, Keep, Nothing, RemoteFunction, RemoteObject, Scalar, ServedFunction, Tree
from harness.sandbox.confinement.scratch import folder as scratch_folder
from harness.sandbox.session.returns import converted
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
    "converted",
    "expect",
    "laws",
    "located",
    "necessary_bytes",
    "offers",
    "plan_rows",
    "probe",
    "require_subquadratic",
    "scratch_folder",
    "timed",
    "timing_lock",
    "timings",
]
