"""`harness show`: one record."""

import json
from typing import Annotated

import typer

from harness.cli import complete, output
from harness.cli.scoreboard import Format


def show(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="MODEL/CHALLENGE, or path of a record.", autocompletion=complete.records),
    ],
    format: Annotated[Format, typer.Option("--format", "-F", help="Output format.")] = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show one grade with its findings.

    Prints marks, findings with their counterexamples, all evidence, and how the grade was made. JSON output is the
    record itself; CSV output has one row per criterion.

    \b
    harness show qwen3.6-27b/kv_cache
    """
    from harness.report.origins import unfetched
    from harness.report.record_view import show as drawn
    from harness.report.record_view import shown_csv, shown_markdown
    from harness.running.store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    missing = unfetched(workspace)
    kept = Store(workspace).published.record(record)
    if as_json or format is Format.JSON:
        output.data(json.loads(kept.to_json()))
    elif format is Format.CSV:
        output.line(shown_csv(kept).removesuffix("\n"))
    elif format is Format.MD:
        output.line(shown_markdown(workspace.challenge(kept.challenge), kept, missing).removesuffix("\n"))
    else:
        output.show(drawn(workspace.challenge(kept.challenge), kept, missing))
