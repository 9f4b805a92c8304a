"""`harness init`: a workspace in an empty folder."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import output

STEPS = """
Then:  harness ls challenges
       harness new submission MODEL/CHALLENGE    and fill in the answer
       harness grade MODEL/CHALLENGE"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Its folder; made where it is missing.")] = Path(),
    with_challenges: Annotated[
        bool, typer.Option("--with-challenges", help="Copy the bundled challenges into it, to change them.")
    ] = False,
) -> None:
    """Make a workspace: a folder for answers, records and reports.

    The challenges that come with the package belong to it. Files that are there already stay as they are.

    \b
    harness init kernels
    harness init kernels --with-challenges
    """
    from harness.cli import scaffold

    made, kept = scaffold.workspace(folder.resolve(), with_challenges)
    for path in made:
        output.line(f"made {output.place(path)}")
    for path in kept:
        output.line(f"kept {output.place(path)}, which was there")
    output.line(STEPS if folder.resolve() == Path.cwd() else f"\ncd {output.place(folder.resolve())}{STEPS}")
