"""The command run as a user runs it, and answers to submit."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Submit = Callable[..., Path]

ABOUT = """[submission]
model = "{model}"
challenge = "rows"
entry = "answer.py"
provenance = "model-output"
"""
ZEROS = "import numpy as np\n\n\ndef softmax(logits):\n    return np.zeros_like(logits)\n"


def command(*arguments: str) -> list[str]:
    # -P: as with the `harness` script, the current folder is no place to import from
    return [sys.executable, "-P", "-m", "harness", *arguments]


def environment(root: Path) -> dict[str, str]:
    return {**os.environ, "HARNESS_WORKSPACE": str(root)}
