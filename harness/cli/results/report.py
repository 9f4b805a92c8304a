"""`harness report`: write reports from records and reviews."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output
from harness.cli.results.formats import file_options
from harness.cli.results.scoreboard import SourceOption

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs
    from harness.report.views.mark_source import MarkSource


@file_options("records", metavar="FILE")
def report(
    folder: Annotated[Path | None, typer.Option("--out", "-o", help="Output folder; reports/ by default.")] = None,
    source: Annotated[
        SourceOption | None, typer.Option("--source", help="Use only these marks; both by default.")
    ] = None,
    *,
    files: dict[str, Path],
) -> None:
    """Write the reports from records and reviews.

    Grades nothing. Files whose content would not change are left alone. Reports on published marks go to published/.
    """
    from harness.report import formats
    from harness.report.views.inputs import gather
    from harness.report.views.mark_source import MarkSource
    from harness.workspace import Workspace
    from harness.workspace.stored_files import write_atomically

    workspace = Workspace.find()
    material = gather(workspace)
    place = (folder or workspace.root / "reports").resolve()
    changed, all = write_reports(material, place, [MarkSource(source)] if source else [*MarkSource])
    for path in changed:
        output.line(f"{'wrote' if path.exists() else 'removed'} {output.place(path)}")
    output.note(f"{len(changed)} of {all} reports changed in {output.place(place)}")
    for format, file in files.items():
        write_atomically(file, formats.write_records(material, format))
        output.line(f"wrote {file}")


def write_reports(material: "ReportInputs", place: Path, sources: "Sequence[MarkSource]") -> tuple[list[Path], int]:
    """Write the reports by these marks; return the changed files, and the number of all."""
    from harness.report.pages import render_all, write
    from harness.report.views.mark_source import MarkSource

    changed, all = list[Path](), 0
    for each in sources:
        reports = render_all(material, each)
        all += len(reports)
        changed += write(reports, place / "published" if each is MarkSource.PUBLISHED else place)
    return changed, all
