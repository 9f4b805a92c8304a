"""A grader's own linear algebra takes one thread, so that grades side by side do not wait for each other's."""

import os
import subprocess
import sys

import pytest

LATER = "import numpy, os; a = numpy.ones((512, 512)); a @ a; print(len(os.listdir('/proc/self/task')))"


@pytest.mark.parametrize("program", ["harness.cli.main", "harness.executors.grading_process"])
def test_before_numpy_is_imported(program: str) -> None:
    check = f"import sys, {program} as program; assert 'numpy' not in sys.modules; program.compute_in_one_thread()"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    ran = subprocess.run(
        [sys.executable, "-c", f"{check}; {LATER}"], env=environment, text=True, capture_output=True, check=True
    )
    assert ran.stdout.strip() == "1"


def test_but_a_users_setting_stays() -> None:
    check = "import os; from harness.grading.linear_algebra import compute_in_one_thread as go; go()"
    ran = subprocess.run(
        [sys.executable, "-c", f"{check}; print(os.environ['OPENBLAS_NUM_THREADS'])"],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "3"}, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert ran.stdout.strip() == "3"
