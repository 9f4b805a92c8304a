"""The command run as a user runs it, with and without a process of its own."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from harness.cli.main import main


def command(*arguments: str) -> list[str]:
    # -P: as with the `harness` script, the current folder is no place to import from
    return [sys.executable, "-P", "-m", "harness", *arguments]


def environment(root: Path) -> dict[str, str]:
    return {**os.environ, "HARNESS_WORKSPACE": str(root)}


def called(root: Path, *arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """What the command does, in this process: most of a short command's time is the start of its own."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment(root), clear=True), chdir(cwd or root), redirect_stdout(out),
        redirect_stderr(errors),
    ):  # fmt: skip
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())


def started(
    root: Path, *arguments: str, cwd: Path | None = None, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, with more variables in its environment."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, cwd=cwd or root, env=environment(root) | variables,
        timeout=180, check=False,
    )  # fmt: skip
