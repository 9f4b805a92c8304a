"""Options of commands that write several formats, one for each entry of the registry."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import output
from harness.report.formats import FORMATS, named

if TYPE_CHECKING:
    from harness.report.formats import Result


STANDARD_OUTPUT = "-"


def format_option(kind: str, *others: str) -> object:
    """Return the option `--format` of a command that writes this kind, and others in ways of its own."""
    choices = {each.name: each.help for each in FORMATS if getattr(each, kind) or each.name in others}

    def require_known(name: str | None) -> str | None:
        if name is not None and name not in choices:
            from harness.errors import nearest

            raise typer.BadParameter(f"no {name!r}{nearest(name, choices)}\n  one of {', '.join(choices)}")
        return name

    return typer.Option(
        "--format",
        "-F",
        help="Output format.",
        metavar=f"[{'|'.join(choices)}]",
        callback=require_known,
        autocompletion=lambda: list(choices.items()),
    )


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
