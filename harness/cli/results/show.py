"""`harness show`: one record, or the records of several attempts."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output
from harness.cli.results.formats import FormatOption, print_result

if TYPE_CHECKING:
    from harness.model import Record
    from harness.scoring.attempts import Attempts
    from harness.workspace import Workspace


def show(
    record: Annotated[
        str,
        typer.Argument(metavar="RECORD", help="MODEL/CHALLENGE, or path of a record.", autocompletion=complete.records),
    ],
    format: FormatOption = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show one grade with its findings, or several attempts.

    Prints marks, findings with their counterexamples, all evidence, and how the grade was made. JSON output is the
    record itself; CSV output has one row per criterion. Of several attempts it prints their mean with its spread, the
    best and the worst, pass@k, and how many meet each criterion; CSV output has one row per attempt.

    \b
    harness show qwen3.6-27b/kv_cache
    """

    from harness.report import formatting
    from harness.report.results import attempts_result, record_result
    from harness.report.views.origins import unfetched
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    published = Store(workspace).published
    if attempts := _find_attempts(workspace, record):
        doubted = [(one.name, one.doubts) for one in attempts.summaries]
        result = attempts_result(workspace.challenge(attempts.challenge), attempts)
    else:
        kept = published.record(record)
        doubted = [(kept.name, published.doubts(kept))]
        result = record_result(workspace.challenge(kept.challenge), kept, unfetched(workspace))
    for name, doubts in doubted:
        if doubtful := formatting.doubts(doubts):
            output.note(f"note: {name} is {doubtful}")
    print_result(result, "json" if as_json else format)


def show_record(workspace: "Workspace", record: "Record", place: str = "") -> None:
    """Print a submission's whole record.

    Args:
        place: arguments of `harness grade` that name a submission outside the workspace; empty if unknown.
    """
    from harness.report import formatting
    from harness.report.results import record_result
    from harness.report.views.origins import unfetched

    challenge = workspace.challenge(record.challenge)
    print_result(record_result(challenge, record, unfetched(workspace), place or formatting.FOLDER), "table")


def _find_attempts(workspace: "Workspace", name: str) -> "Attempts | None":
    from harness.scoring.attempts import Attempts
    from harness.scoring.record_summary import RecordSummary
    from harness.store.record_store import Store

    known = [each for each in workspace.list_recorded() if each.attempt and each.answer == name.rstrip("/")]
    published = Store(workspace).published
    records = published.read_many(map(str, known))
    return Attempts(tuple(RecordSummary.of(r, published.doubts(r)) for r in records)) if records else None
