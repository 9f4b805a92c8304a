"""`harness show`: one record, or the records of several attempts."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output
from harness.cli.results.scoreboard import Format

if TYPE_CHECKING:
    from harness.model import Record
    from harness.scoring.attempts import Attempts
    from harness.workspace import Workspace


def show(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="MODEL/CHALLENGE, or path of a record.", autocompletion=complete.records),
    ],
    format: Annotated[Format, typer.Option("--format", "-F", help="Output format.")] = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show one grade with its findings, or several attempts.

    Prints marks, findings with their counterexamples, all evidence, and how the grade was made. JSON output is the
    record itself; CSV output has one row per criterion. Of several attempts it prints their mean with its spread, the
    best and the worst, pass@k, and how many meet each criterion; CSV output has one row per attempt.

    \b
    harness show qwen3.6-27b/kv_cache
    """
    import json

    from harness.report import formatting
    from harness.report.views.origins import unfetched
    from harness.report.writers.record import shown_csv, shown_markdown
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    if attempts := _find_attempts(workspace, record):
        _show_attempts(workspace, attempts, Format.JSON if as_json else format)
        return
    published = Store(workspace).published
    kept = published.record(record)
    if doubtful := formatting.doubts(published.doubts(kept)):
        output.note(f"note: {kept.name} is {doubtful}")
    if as_json or format is Format.JSON:
        output.data(json.loads(kept.to_json()))
    elif format is Format.CSV:
        output.line(shown_csv(kept).removesuffix("\n"))
    elif format is Format.MD:
        output.line(shown_markdown(workspace.challenge(kept.challenge), kept, unfetched(workspace)).removesuffix("\n"))
    else:
        show_record(workspace, kept)


def show_record(workspace: "Workspace", record: "Record", place: str = "") -> None:
    """Print a submission's whole record.

    Args:
        place: arguments of `harness grade` that name a submission outside the workspace; empty if unknown.
    """
    from harness.report import formatting
    from harness.report.views.origins import unfetched
    from harness.report.writers.record import show as drawn

    output.show(drawn(workspace.challenge(record.challenge), record, unfetched(workspace), place or formatting.FOLDER))


def _find_attempts(workspace: "Workspace", name: str) -> "Attempts | None":
    from harness.scoring.attempts import Attempts
    from harness.scoring.record_summary import RecordSummary
    from harness.store.record_store import Store

    known = [each for each in workspace.list_recorded() if each.attempt and each.answer == name.rstrip("/")]
    published = Store(workspace).published
    records = published.read_many(map(str, known))
    return Attempts(tuple(RecordSummary.of(r, published.doubts(r)) for r in records)) if records else None


def _show_attempts(workspace: "Workspace", attempts: "Attempts", format: Format) -> None:
    from harness.report import formatting
    from harness.report.writers.attempts import attempts_csv, attempts_json, attempts_markdown, format_attempts

    for one in attempts.summaries:
        if doubtful := formatting.doubts(one.doubts):
            output.note(f"note: {one.name} is {doubtful}")
    if format is Format.JSON:
        output.data(attempts_json(attempts))
    elif format is Format.CSV:
        output.line(attempts_csv(attempts).removesuffix("\n"))
    elif format is Format.MD:
        output.line(attempts_markdown(workspace.challenge(attempts.challenge), attempts).removesuffix("\n"))
    else:
        output.show(format_attempts(workspace.challenge(attempts.challenge), attempts))
