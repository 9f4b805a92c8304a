"""`harness import`: answers from where they are published."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.workspace import Workspace

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Bring in answers that were made or published elsewhere."
)


@app.callback()
def options() -> None:
    """Make the command a group although it has a single member."""


@app.command()
def collection(
    id: Annotated[str, typer.Argument(metavar="ID", help="The collection.", autocompletion=complete.collections)],
    clone: Annotated[
        Path | None,
        typer.Option("--from", metavar="CLONE", help="A local git clone to read instead of fetching one."),
    ] = None,
) -> None:
    """Fetch a collection's published answers and lay them out to be graded.

    Reads the one commit that the collection names, checks the SHA-256 of every file, and puts each answer next to
    its adapter in .harness/collections/, which git ignores. All answers are laid out, or none.

    \b
    harness import collection llm_programming_tests
    """
    from harness.importing.collection import opened
    from harness.importing.importer import lay_out
    from harness.workspace import Workspace

    workspace = Workspace.find()
    with opened(workspace, id, clone) as importer:
        folders = lay_out(importer, workspace.fetched_folder(id))
    for folder in folders:
        output.line(f"{folder.parent.name}/{folder.name}")
    _tell_hidden(workspace, folders)
    output.note(f"{len(folders)} answers in {output.place(workspace.fetched_folder(id))}\n  try: harness grade --all")


def _tell_hidden(workspace: "Workspace", folders: list[Path]) -> None:
    """Say which answers cannot be graded by name, because another submission has it."""
    graded = set(workspace.submissions())
    hidden = [folder for folder in folders if folder not in graded]
    if hidden:
        names = ", ".join(f"{folder.parent.name}/{folder.name}" for folder in hidden)
        output.note(f"hidden by submissions of the same names: {names}\n  try: harness grade {output.place(hidden[0])}")
