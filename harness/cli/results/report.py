"""`harness report`: write reports from records and reviews."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output
from harness.cli.results.scoreboard import SourceOption

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs
    from harness.report.views.mark_source import MarkSource


def report(
    folder: Annotated[Path | None, typer.Option("--out", "-o", help="Output folder; reports/ by default.")] = None,
    source: Annotated[
        SourceOption | None, typer.Option("--source", help="Use only these marks; both by default.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Also write criteria as JUnit test cases.")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Also write findings as SARIF 2.1.0.")
    ] = None,
) -> None:
    """Write the reports from records and reviews.

    Grades nothing. Files whose content would not change are left alone. Reports on published marks go to published/.
    """
    from harness.report.views.inputs import gather
    from harness.report.views.mark_source import MarkSource
    from harness.workspace import Workspace

    workspace = Workspace.find()
    material = gather(workspace)
    place = (folder or workspace.root / "reports").resolve()
    changed, all = write_reports(material, place, [MarkSource(source)] if source else [*MarkSource])
    for path in changed:
        output.line(f"{'wrote' if path.exists() else 'removed'} {output.place(path)}")
    output.note(f"{len(changed)} of {all} reports changed in {output.place(place)}")
    _write_files(material, {"junit": junit, "sarif": sarif})


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


def _write_files(material: "ReportInputs", wanted: Mapping[str, Path | None]) -> None:
    from harness.report import formats
    from harness.workspace.stored_files import write_atomically

    for format, path in wanted.items():
        if path:
            write_atomically(path, formats.write_records(material, format))
            output.line(f"wrote {path}")
