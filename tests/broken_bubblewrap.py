"""A `bwrap` that is installed and fails, saying why."""

import os
import shlex
from pathlib import Path

WORDS = "bwrap: Creating new namespace failed: Operation not permitted"


def path_with(folder: Path, words: str = WORDS) -> str:
    """A PATH on which such a bwrap comes first."""
    folder.mkdir(exist_ok=True)
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho {shlex.quote(words)} >&2\nexit 1\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
