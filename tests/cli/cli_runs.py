"""Answers to submit to the small workspace."""

import subprocess
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
