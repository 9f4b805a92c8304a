"""Environment variables that set the options of commands."""

import os
from typing import TYPE_CHECKING

from typer.core import TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click.core import Command

_OFF = ("", "0", "f", "false", "n", "no", "off")


def name_variables(command: "Command", prefix: str = "HARNESS") -> None:
    """Name a variable for every option: `HARNESS_GRADE_FAIL_UNDER` for `harness grade --fail-under`.

    Eager options, such as --help and --version, do something else than the command, and get none.
    """
    for option in command.params:
        if isinstance(option, TyperOption) and not option.is_eager:
            longest = max(option.opts, key=len).lstrip("-")
            option.envvar = f"{prefix}_{longest}".upper().replace("-", "_")
            option.show_envvar = False  # a rule is read once; a hundred names lengthen every help
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            name_variables(inner, f"{prefix}_{name.upper()}")


def is_on(variable: str) -> bool:
    """Return whether a variable switches something on."""
    return os.environ.get(variable, "").lower() not in _OFF
