"""Programs of one file each, as hooks and CI name them."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from harness.cli import output

_MAIN = re.compile(r"\bmain\s*\(")


def check_each(files: Sequence[Path], check: Callable[[list[Path]], None]) -> None:
    """Check every file that has a `main` by itself; exit with the highest exit code.

    Args:
        check: checks one program; raises `typer.Exit` unless nothing was found.
    """
    code = 0
    for file in files:
        if not _MAIN.search(file.read_text(encoding="utf-8", errors="replace")):
            output.note(f"passed over, for it has no main: {file}")
            continue
        try:
            check([file])
        except typer.Exit as end:
            code = max(code, end.exit_code)
    if code:
        raise typer.Exit(code)
