"""The grading process of a Harbor verifier: grades one submission and prints its record."""

import contextlib
import sys

from harness.grading.linear_algebra import compute_in_one_thread
from harness.grading.process_hardening import make_undumpable


def _main(workspace: str, challenge: str, answer: str, profile: str) -> None:
    make_undumpable()
    compute_in_one_thread()
    from harness.api import grade_many

    printed = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # a probe's prints must not mix with the record
        # force: ignore records that an earlier run left in the workspace
        (record,) = grade_many([answer], challenge, workspace=workspace, profile=profile, force=True, jobs=1)
    printed.write(record.to_json())


if __name__ == "__main__":
    _main(*sys.argv[1:])
