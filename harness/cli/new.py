"""`harness new`: folders to start from."""

from typing import Annotated

import typer

from harness.cli import complete, output

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make a folder to start from.")

CHALLENGE_STEPS = """
It is a small complete challenge (softmax by rows) that passes `harness check` as it is. Make it yours:
  1. references/{name}/{reference} and oracle.py   the trusted solution, and the long-double one
  2. challenges/{name}/{contract} and PROMPT.md    what an answer exposes, and what models are told
  3. challenges/{name}/challenge.toml               the rubric: dimensions, criteria, what feeds each
  4. challenges/{name}/probes.py                    what is run
  5. challenges/{name}/mutants.py and variants.py   faults the probes must notice, right answers they must not
after each step:  harness check {name}
then answer it:   harness new submission MODEL/{name}"""


@app.command()
def challenge(
    name: Annotated[str, typer.Argument(help="Lower case, digits and '_'.")],
    language: Annotated[str, typer.Option(help="What answers are written in: python or cuda.")] = "python",
) -> None:
    """A tiny complete challenge to make yours.

    With prompt, contract, rubric, reference, oracle, probes, mutants and variants; it passes `harness check` at once.
    """
    from harness.cli import scaffold
    from harness.languages import language as registered
    from harness.workspace import Workspace

    used = registered(language)
    for path in scaffold.challenge(Workspace.find(), name, used.name):
        output.line(f"made {output.place(path)}")
    output.line(CHALLENGE_STEPS.format(name=name, reference=used.reference, contract=used.contract))


@app.command()
def submission(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL/CHALLENGE", help="Whose answer, to which challenge.", autocompletion=complete.submissions
        ),
    ],
) -> None:
    """One submission to fill in.

    A folder with its submission.toml and the contract's functions.
    """
    from harness.cli import scaffold
    from harness.workspace import Workspace

    for path in scaffold.submission(Workspace.find(), name):
        output.line(f"made {output.place(path)}")
    challenge = name.partition("/")[2]
    output.line(f"\nFill in the answer (challenges/{challenge}/PROMPT.md says what is asked), look through")
    output.line(f"submission.toml, then:  harness grade {name}")


@app.command()
def model(name: Annotated[str, typer.Argument(help="Lower case, digits, '.', '_' and '-'.")]) -> None:
    """A submission for every challenge."""
    from harness.cli import scaffold
    from harness.workspace import Workspace

    for path in scaffold.model(Workspace.find(), name):
        output.line(f"made {output.place(path)}")
    output.line(f"\nFill in each answer, then:  harness grade {name}")
