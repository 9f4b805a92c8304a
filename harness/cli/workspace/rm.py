"""`harness rm`: remove submissions from the workspace."""

import sys
from typing import Annotated

import typer

from harness.cli import complete, output


def rm(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL/CHALLENGE|MODEL|CHALLENGE|FOLDER",
            help="Submissions, by name or by path.",
            autocompletion=complete.submissions,
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove submissions with their records.

    Says what goes and asks first. Takes the folder, the published record, and what was kept of its grades on this
    machine. Of an answer of a collection only the fetched files and the record go. Nothing outside the workspace is
    touched.

    \b
    harness rm my-model/kv_cache
    """
    from harness.store.removal import describe_removal, removals, remove
    from harness.workspace import Workspace

    workspace = Workspace.find()
    found = removals(workspace, names)
    for removal in found:
        output.note(f"{removal.name}\n" + "\n".join(f"  {line}" for line in describe_removal(removal, output.place)))
    if not yes and not _confirm(len(found)):
        output.note("nothing was removed")
        return
    for removal in found:
        remove(workspace, removal)
        output.line(f"removed {removal.name}")
    output.note("  try: harness report")


def _confirm(count: int) -> bool:
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here: --yes removes without asking; nothing was removed")
    return typer.confirm(f"Remove {'it' if count == 1 else 'them'}?", err=True)
