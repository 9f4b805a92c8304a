"""`harness new`: challenges and submissions from templates."""

from typing import Annotated

import typer

from harness.cli import complete, output

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Create a challenge or a submission from a template."
)

Shadow = Annotated[bool, typer.Option("--shadow", help="Hide a collection's answers of the same name.")]

CHALLENGE_STEPS = """
This is a small complete challenge (softmax by rows) that passes `harness check`. To adapt it, edit:
  1. references/{name}/{reference} and oracle.py   the trusted solution, and the long-double one
  2. challenges/{name}/PROMPT.md and {contract}     what models are asked, and what an answer exposes
  3. challenges/{name}/challenge.toml               the rubric: dimensions and criteria
  4. challenges/{name}/probes.py                    the probes that run
  5. challenges/{name}/mutants.py and variants.py   faults the probes must notice, right answers they must not
after each step:  harness check {name}
then answer it:   harness new submission MODEL/{name}
{ranked}"""

RANKED_ONCE_CHECKED = "Models are ranked over it once its check has passed."
RANKED_BY_SUITE = "Where challenges/suites.toml says what models are ranked over, name it there."


@app.command()
def challenge(
    name: Annotated[str, typer.Argument(help="Name: lower-case letters, digits and '_'.")],
    language: Annotated[str, typer.Option(help="Language of the answers: python or cuda.")] = "python",
    shadow: Annotated[bool, typer.Option("--shadow", help="Hide the bundled challenge of that name.")] = False,
) -> None:
    """Create a small complete challenge to adapt.

    It has a prompt, contract, rubric, reference, oracle, probes, mutants and variants, and passes `harness check`.
    """
    from harness.cli import scaffold
    from harness.languages import language as registered
    from harness.store.own_suite import own_challenges
    from harness.workspace import Workspace

    used = registered(language)
    workspace = Workspace.find()
    made = scaffold.challenge(workspace, name, used.name, shadow)
    for path in made:
        output.line(f"made {output.place(path)}")
    contract = ", ".join(path.name for path in made if path.stem == "contract")
    ranked = RANKED_ONCE_CHECKED if name in own_challenges(workspace) else RANKED_BY_SUITE
    steps = CHALLENGE_STEPS.format(name=name, reference=used.reference, contract=contract, ranked=ranked)
    output.line(steps)


@app.command()
def submission(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL/CHALLENGE",
            help="Model and challenge of the submission.",
            autocompletion=complete.submissions,
        ),
    ],
    shadow: Shadow = False,
) -> None:
    """Create an empty submission to fill in.

    Writes its submission.toml and stubs of the contract's functions.
    """
    from harness.cli import scaffold
    from harness.workspace import Workspace

    for path in scaffold.submission(Workspace.find(), name, shadow):
        output.line(f"made {output.place(path)}")
    challenge = name.partition("/")[2]
    output.line(f"\nFill in the answer (harness prompt {challenge} says what is asked), check submission.toml, then:")
    output.line(f"  harness grade {name}")


@app.command()
def model(
    name: Annotated[str, typer.Argument(help="Name: lower-case letters, digits, '.', '_' and '-'.")],
    shadow: Shadow = False,
) -> None:
    """Create an empty submission for every challenge."""
    from harness.cli import scaffold
    from harness.workspace import Workspace

    for path in scaffold.model(Workspace.find(), name, shadow):
        output.line(f"made {output.place(path)}")
    output.line(f"\nFill in each answer, then:  harness grade {name}")
