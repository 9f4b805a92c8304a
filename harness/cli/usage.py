"""Errors of the command line itself: the problem, and a `try:` line."""

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from typer._click.core import ParameterSource
from typer._click.exceptions import BadParameter, ClickException, MissingParameter, NoSuchOption
from typer.core import TyperGroup

from harness.errors import NotFoundError, nearest

if TYPE_CHECKING:
    from typer._click.core import Command
    from typer.core import _TyperParameter


def describe_usage_error(error: ClickException | NotFoundError, root: "Command", arguments: Sequence[str]) -> str:
    """Return the message for a command line that typer or a command refuses.

    Args:
        root: the `harness` command.
        arguments: words of the command line.
    """
    path, command, rest = _find_command(root, arguments)
    if isinstance(error, NotFoundError):
        problem = str(error)
    elif isinstance(error, NoSuchOption):
        problem = _describe_unknown_option(error, rest)
    elif isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        problem = _describe_unknown_command(rest[0], command)
    elif isinstance(error, MissingParameter) and error.param is not None:
        problem = f"{_format_name(error.param)} is missing{_format_choices(_list_choices(error.param))}"
    elif isinstance(error, BadParameter) and error.param is not None:
        problem = _describe_wrong_value(error, error.param)
    else:
        problem = error.message[:1].lower() + error.message[1:].removesuffix(".")
    return problem if "\n  try: " in problem else f"{problem}\n  try: {' '.join(('harness', *path))} -h"


def _find_command(root: "Command", arguments: Sequence[str]) -> "tuple[list[str], Command, list[str]]":
    path: list[str] = []
    command, rest = root, list(arguments)
    while isinstance(command, TyperGroup) and rest and rest[0] in command.commands:
        command = command.commands[rest[0]]
        path.append(rest.pop(0))
    return path, command, rest


def _describe_unknown_command(name: str, group: TyperGroup) -> str:
    near = nearest(name, group.commands)
    if near:
        return f"no command {name!r}{near}"
    return f"no command {name!r}{_name_closest(name, group.commands)}\n  commands are {', '.join(group.commands)}"


def _describe_unknown_option(error: NoSuchOption, given: Sequence[str]) -> str:
    """Name the option as typed: of `-force`, read as single letters, typer names just the first unknown one."""
    name = error.option_name
    if len(name) == 2:
        clusters = (word for word in given if word.startswith("-") and not word.startswith("--") and name[1] in word)
        name = next(clusters, name).partition("=")[0]
    params = error.ctx.command.get_params(error.ctx) if error.ctx else ()
    known = [option for param in params for option in (*param.opts, *param.secondary_opts)]
    long = [option for option in known if option.startswith("--")]
    return f"no option {name!r}{nearest(name, long) or _name_closest(name, long)}"


def _name_closest(name: str, known: Iterable[str]) -> str:
    """Return the closest name, however distant, as information instead of a suggestion."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)
    return f"; the nearest is {close[0]!r}" if close else ""


def _describe_wrong_value(error: BadParameter, param: "_TyperParameter") -> str:
    details: list[dict[str, object]] = getattr(error.__cause__, "errors", list)()
    value = details[0]["input"] if details else None
    name = f"{_format_name(param)}{_format_variable(error, param)}"
    if choices := _list_choices(param):
        return f"{name}: no {str(value)!r}{nearest(str(value), choices)}{_format_choices(choices)}"
    given = f" {value}" if isinstance(value, (str, int, float)) else ""
    problem = error.message.removeprefix("Input ").removesuffix(".")
    return f"{name}{given}: {problem[:1].lower()}{problem[1:]}"


def _format_variable(error: BadParameter, param: "_TyperParameter") -> str:
    """Return the variable in brackets if the value is its, not the command line's."""
    source = error.ctx.get_parameter_source(param.name or "") if error.ctx else None
    return f" ({param.envvar})" if source is ParameterSource.ENVIRONMENT else ""


def _format_name(param: "_TyperParameter") -> str:
    if param.param_type_name == "argument":
        return param.metavar or param.display_name_raw.upper()
    return max(param.opts, key=len)


def _list_choices(param: "_TyperParameter") -> list[str]:
    return [str(choice) for choice in param.type_descriptor.choices or ()]


def _format_choices(choices: Sequence[str]) -> str:
    return f"\n  one of {', '.join(choices)}" if choices else ""
