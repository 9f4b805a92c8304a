"""Errors of the command line itself, in the form of all others: what is wrong, and a `try:` line."""

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from typer._click.exceptions import BadParameter, ClickException, MissingParameter, NoSuchOption
from typer.core import TyperGroup

from harness.errors import NotFoundError, nearest

if TYPE_CHECKING:
    from typer._click.core import Command
    from typer.core import _TyperParameter


def describe_usage_error(error: ClickException | NotFoundError, root: "Command", arguments: Sequence[str]) -> str:
    """Return the message for a command line that typer or a command refuses.

    Args:
        error: what was raised.
        root: the whole command.
        arguments: what was given to it.
    """
    path, command, rest = _command_of(root, arguments)
    if isinstance(error, NotFoundError):
        problem = str(error)
    elif isinstance(error, NoSuchOption):
        problem = _unknown_option(error, rest)
    elif isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        problem = _unknown_command(rest[0], command)
    elif isinstance(error, MissingParameter) and error.param is not None:
        problem = f"{_name(error.param)} is missing{_one_of(_choices(error.param))}"
    elif isinstance(error, BadParameter) and error.param is not None:
        problem = _wrong_value(error, error.param)
    else:
        problem = error.message[:1].lower() + error.message[1:].removesuffix(".")
    return problem if "\n  try: " in problem else f"{problem}\n  try: {' '.join(('harness', *path))} -h"


def _command_of(root: "Command", arguments: Sequence[str]) -> "tuple[list[str], Command, list[str]]":
    """Return the words that name a command, that command, and what follows them."""
    path: list[str] = []
    command, rest = root, list(arguments)
    while isinstance(command, TyperGroup) and rest and rest[0] in command.commands:
        command = command.commands[rest[0]]
        path.append(rest.pop(0))
    return path, command, rest


def _unknown_command(name: str, group: TyperGroup) -> str:
    near = nearest(name, group.commands)
    if near:
        return f"no command {name!r}{near}"
    return f"no command {name!r}{_closest(name, group.commands)}\n  commands are {', '.join(group.commands)}"


def _unknown_option(error: NoSuchOption, given: Sequence[str]) -> str:
    """Name the option as it was typed: of `-force`, which is read as letters, typer names the first unknown one."""
    name = error.option_name
    if len(name) == 2:
        clusters = (word for word in given if word.startswith("-") and not word.startswith("--") and name[1] in word)
        name = next(clusters, name).partition("=")[0]
    params = error.ctx.command.get_params(error.ctx) if error.ctx else ()
    known = [option for param in params for option in (*param.opts, *param.secondary_opts)]
    long = [option for option in known if option.startswith("--")]
    return f"no option {name!r}{nearest(name, long) or _closest(name, long)}"


def _closest(name: str, known: Iterable[str]) -> str:
    """Return the closest of the names however far it is, as no suggestion."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)
    return f"; the nearest is {close[0]!r}" if close else ""


def _wrong_value(error: BadParameter, param: "_TyperParameter") -> str:
    details: list[dict[str, object]] = getattr(error.__cause__, "errors", list)()
    value = details[0]["input"] if details else None
    if choices := _choices(param):
        return f"{_name(param)}: no {str(value)!r}{nearest(str(value), choices)}{_one_of(choices)}"
    given = f" {value}" if isinstance(value, (str, int, float)) else ""
    problem = error.message.removeprefix("Input ").removesuffix(".")
    return f"{_name(param)}{given}: {problem[:1].lower()}{problem[1:]}"


def _name(param: "_TyperParameter") -> str:
    if param.param_type_name == "argument":
        return param.metavar or param.display_name_raw.upper()
    return max(param.opts, key=len)


def _choices(param: "_TyperParameter") -> list[str]:
    return [str(choice) for choice in param.type_descriptor.choices or ()]


def _one_of(choices: Sequence[str]) -> str:
    return f"\n  one of {', '.join(choices)}" if choices else ""
