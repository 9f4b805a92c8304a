"""`harness prompt`: the prompt of a challenge."""

from typing import Annotated

import typer

from harness.cli import complete, output


def prompt(
    challenge: Annotated[
        str, typer.Argument(metavar="CHALLENGE", help="The challenge.", autocompletion=complete.challenges)
    ],
) -> None:
    """Print what a model is asked: the task, then the contract.

    The criteria that each profile of `harness grade` runs are listed beside it, on standard error.

    \b
    harness prompt kv_cache > prompt.md
    """
    from harness.asking.task import task_prompt
    from harness.model import GradeProfile
    from harness.workspace import Workspace

    workspace = Workspace.find()
    output.line(task_prompt(workspace, challenge))
    rubric = workspace.challenge(challenge)
    for profile in GradeProfile:
        held = profile.criteria(rubric)
        ids = [criterion.id for criterion in rubric.criteria if criterion.id in held]
        output.note(f"profile {profile}: {len(ids)} criteria: {', '.join(ids)}")
