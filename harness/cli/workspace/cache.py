"""`harness cache`: files that runs leave on disk."""

from typing import Annotated

import typer

from harness.cli import output

app = typer.Typer(rich_markup_mode=None, help="Show what runs leave on disk, and prune it.")


@app.callback(invoke_without_command=True)
def show(context: typer.Context) -> None:
    """Show what runs leave on disk, and prune it.

    Without a command, lists what lies in the workspace's local folder and in the user's cache: where, how many, how
    large and when last used.
    """
    if context.invoked_subcommand:
        return
    from harness.store.disk_use import disk_uses
    from harness.workspace import Workspace

    rows = []
    for use in disk_uses(Workspace.find()):
        used = f"{use.used:%Y-%m-%d %H:%M}" if use.used else "-"
        rows.append([use.kind, use.count, _format_size(use.size), used, output.place(use.path)])
    titles = ["kind", "number", "size", "last used, UTC", "where"]
    output.table(titles, rows, right=("number", "size"), wraps=("where",))
    output.note("  to remove what is not used any more: harness cache prune --dry-run")


@app.command()
def prune(
    days: Annotated[
        float, typer.Option("--older-than", metavar="DAYS", min=0, help="Keep what was used in the last days.")
    ] = 7.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove what the current version of the harness no longer uses.

    Takes compiled runtimes and trials of other versions, and all records made on this machine but the latest of each
    submission. What was used within the last hour stays. Grades may run meanwhile; published records are not touched.
    """
    from harness.store.disk_use import list_prunable
    from harness.store.disk_use import prune as remove
    from harness.workspace import Workspace

    workspace = Workspace.find()
    found = list_prunable(workspace, days)
    for one in found:
        what = f"{len(one.rows)} {one.kind} in" if one.rows else f"{_format_size(one.size)}, {one.kind}:"
        output.line(f"{'would remove' if dry_run else 'removing'} {what} {output.place(one.path)}")
    if not found:
        output.note(f"nothing to remove: all is used, or was within {days:g} days")
    elif not dry_run:
        remove(workspace, found)
        output.note(f"{_format_size(sum(one.size for one in found))} removed")


@app.command()
def records(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False) -> None:
    """Show the grades made on this machine by model and challenge.

    Marks are those of grades of the whole profile `full`, of a seed chosen by hand too; no board counts them.
    """
    from dataclasses import asdict

    from harness.store.record_store import Store
    from harness.workspace import Workspace

    found = Store(Workspace.find()).summary()
    if as_json:
        output.data([asdict(one) for one in found])
        return
    numbers = ("records", "graded", "do not build", "judge errors", "mean", "worst", "best", "coverage")
    rows = []
    for one in found:
        counts = (one.records, one.graded, one.unbuilt, one.judge_errors)
        marks = ("-" if mark is None else f"{mark:.1f}" for mark in (one.mean, one.worst, one.best))
        coverage = "-" if one.coverage is None else f"{one.coverage:.0%}"
        rows.append([one.model, one.challenge, *counts, *marks, coverage])
    output.table(["model", "challenge", *numbers], rows, right=numbers)
    if not found:
        output.note("no grades made here yet\n  try: harness grade --all")


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
