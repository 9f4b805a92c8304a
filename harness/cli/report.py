"""`harness report`: records to files."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import output


def report(
    folder: Annotated[Path | None, typer.Option("--out", "-o", help="Where to; reports/ by default.")] = None,
) -> None:
    """Write the reports from the records.

    Nothing is graded and no submission is read. Files that would not change are left as they are.
    """
    from harness.report import render_all, write
    from harness.workspace import Workspace

    workspace = Workspace.find()
    reports = render_all([workspace.challenge(id) for id in workspace.challenges()], workspace.records())
    place = (folder or workspace.root / "reports").resolve()
    written = write(reports, place)
    for path in written:
        output.line(f"wrote {output.place(path)}")
    output.note(f"{len(written)} of {len(reports)} reports changed in {output.place(place)}")
