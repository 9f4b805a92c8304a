"""Process that grades folders from standard input and writes results to standard output as JSON lines."""

import contextlib
import json
import os
import signal
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from harness.grading.linear_algebra import compute_in_one_thread
from harness.grading.process_hardening import make_undumpable
from harness.sandbox.inside import process_control

if TYPE_CHECKING:
    from harness.grading.options import Options
    from harness.workspace import Workspace

LEAVE_SECONDS = 10
"""Time to close everything open, in seconds, for which a parent waits."""


def serve(answers: TextIO, workspace: "Workspace", options: "Options", isolation: str) -> None:
    """Grade each folder once.

    Args:
        isolation: `TierChoice` of the run as JSON; each folder is refused if its tier no longer works.
    """
    from harness.errors import HarnessError, JudgeError, SpecError
    from harness.grading.submission_grade import grade_one
    from harness.model import TierChoice
    from harness.sandbox.session.tiers import CHOSEN, why_not

    def say(**message: object) -> None:
        print(json.dumps(message), file=answers, flush=True)

    os.environ[CHOSEN] = isolation  # the parent chose the tier and attacked it
    tier = TierChoice.model_validate_json(isolation).tier
    for line in sys.stdin:
        try:
            if reason := why_not(tier):
                gone = f"the run began in tier {tier}, which is no longer to be had: {reason}"
                raise JudgeError(f"{gone}\n  try: harness doctor")
            graded = grade_one(workspace, Path(json.loads(line)), options, lambda stage: say(stage=stage))
            rest = {f.name: getattr(graded, f.name) for f in fields(graded) if f.name not in ("folder", "record")}
            say(record=graded.record.to_json(), **rest)
        except HarnessError as error:
            path = str(error.path) if isinstance(error, SpecError) else ""
            say(error=str(error), kinds=[kind.__name__ for kind in type(error).__mro__], path=path)


def _end_with(parent: int) -> None:
    signal.signal(signal.SIGTERM, _leave)
    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # the parent ended before the line above
        sys.exit(143)


def _leave(*_: object) -> None:
    _prepare_to_leave()
    sys.exit(143)


def _prepare_to_leave() -> None:
    # ignored because Python discards an exception that is raised in a finalizer
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LEAVE_SECONDS)


def _main(root: str, options: str, isolation: str, parent: str) -> None:
    _end_with(int(parent))
    make_undumpable()
    compute_in_one_thread()
    # loading the grader takes a second: a parent that dies meanwhile must be noticed
    from harness.grading.options import Options
    from harness.workspace import Workspace

    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # keeps a probe's output out of the results
        serve(answers, Workspace(Path(root)), Options.from_json(options), isolation)
    _prepare_to_leave()


if __name__ == "__main__":
    _main(*sys.argv[1:])
