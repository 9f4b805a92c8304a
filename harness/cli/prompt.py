"""`harness prompt`: what a model is asked."""

from typing import Annotated

import typer

from harness.cli import complete, output


def prompt(
    challenge: Annotated[
        str, typer.Argument(metavar="CHALLENGE", help="The challenge.", autocompletion=complete.challenges)
    ],
) -> None:
    """Print what a model is asked: the task, then the contract.

    \b
    harness prompt kv_cache > prompt.md
    """
    from harness.asking.task import task_prompt
    from harness.workspace import Workspace

    output.line(task_prompt(Workspace.find(), challenge))
