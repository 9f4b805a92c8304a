"""`harness attempt`: turn a single submission into one of several."""

from typing import Annotated

import typer

from harness.cli import complete, output


def attempt(
    name: Annotated[
        str,
        typer.Argument(metavar="MODEL/CHALLENGE", help="A model's single answer.", autocompletion=complete.submissions),
    ],
) -> None:
    """Make a single answer attempt 1, so that others can join it.

    Moves its files to submissions/MODEL/CHALLENGE/attempt-1/ (or the first number that is free) and removes its record,
    which names no attempt: grade it again.

    \b
    harness attempt my-model/kv_cache
    """
    from harness.store.renumbering import make_attempt
    from harness.workspace import Workspace

    workspace = Workspace.find()
    made = make_attempt(workspace, name)
    output.line(f"moved {made.answer} to {made}")
    output.note(f"  try: harness grade {made}")
