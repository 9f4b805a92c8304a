"""Options of commands that write several formats, one for each entry of the registry."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import output
from harness.cli.format_option import format_option
from harness.report.formats import named

if TYPE_CHECKING:
    from harness.report.formats import Result


STANDARD_OUTPUT = "-"


FormatOption = Annotated[str, format_option("result")]


def file_options(*kinds: str, metavar: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each format of these kinds; it gets the files by format as `files`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            files = {name: given.pop(name) for name in options}
            command(**given, files={name: file for name, file in files.items() if file is not None})

        file = str | None if STANDARD_OUTPUT in metavar else Path | None
        options = {
            name: Annotated[
                file, typer.Option(f"--{name}", metavar=metavar, dir_okay=False, help=f"Write {each.help}.")
            ]
            for name, each in named(*kinds).items()
        }
        own = inspect.signature(command)
        kept = [parameter for name, parameter in own.parameters.items() if name != "files"]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        added = [inspect.Parameter(name, kind, default=None, annotation=option) for name, option in options.items()]
        run.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *added)}
        return run

    return decorate


def print_result(result: "Result", format: str) -> None:
    """Print a result in a format."""
    from harness.report import formats

    output.print_drawing(output.lay_out(formats.write(result, format)))
    for text in result.notes if format == "table" else ():
        output.note(f"note: {text}")
