"""The memory of a running grader is closed to other processes of the same user."""

import ctypes
import subprocess
import sys

PR_GET_DUMPABLE = 3


def dumpable(code: str) -> str:
    ask = f"import ctypes; print(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}))"
    return subprocess.run([sys.executable, "-c", f"{code}\n{ask}"], capture_output=True, text=True, check=True).stdout


def test_the_command_line_closes_its_memory():
    run = "import sys\nfrom harness.cli import main\nsys.argv = ['harness', '--version']\n"
    assert dumpable(f"{run}try:\n    main.run()\nexcept SystemExit:\n    pass").split()[-1] == "0"


def test_the_library_does_not_change_its_callers_process():
    assert ctypes.CDLL(None).prctl(PR_GET_DUMPABLE) == int(dumpable("import harness, harness.api"))
