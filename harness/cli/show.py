"""`harness show`: one record."""

import json
from typing import Annotated

import typer

from harness.cli import complete, output


def show(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="MODEL/CHALLENGE, or a record's file.", autocompletion=complete.records),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Show one grade with its findings.

    Marks, findings with their counterexamples, all evidence, and how the grade was made.

    \b
    harness show qwen3.6-27b/kv_cache
    """
    from harness.report import show as drawn
    from harness.workspace import Workspace

    workspace = Workspace.find()
    kept = workspace.record(record)
    if as_json:
        output.data(json.loads(kept.to_json()))
    else:
        output.show(drawn(workspace.challenge(kept.challenge), kept))
