"""The option of every command whose result has several formats."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output
from harness.report.formats import named

if TYPE_CHECKING:
    from harness.report.formats import Result

_NAMES = {each.name: each.help for each in named("result").values()}


def _known(name: str) -> str:
    if name not in _NAMES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, _NAMES))}.")
    return name


FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        "-F",
        help="Output format.",
        metavar=f"[{'|'.join(_NAMES)}]",
        callback=_known,
        autocompletion=lambda: list(_NAMES.items()),
    ),
]


def print_result(result: "Result", format: str) -> None:
    """Print a result in a format."""
    from harness.report import formats

    output.print_drawing(output.drawn(formats.write(result, format)))
    for text in result.notes if format == "table" else ():
        output.note(f"note: {text}")
