"""Every option of every command has a variable of its name; a word of the command line comes before it."""

import json
from collections.abc import Iterator

import typer
from cli_runs import Run, Submit
from typer._click.core import Command, Parameter
from typer.core import TyperGroup

from harness.cli.main import app
from harness.cli.variables import name_variables


def options(command: Command, path: tuple[str, ...] = ("harness",)) -> Iterator[tuple[tuple[str, ...], Parameter]]:
    for param in command.params:
        if param.param_type_name == "option":
            yield path, param
    for name, inner in command.commands.items() if isinstance(command, TyperGroup) else ():
        yield from options(inner, (*path, name))


def test_each_option_has_a_variable_of_its_own() -> None:
    command = typer.main.get_command(app)
    name_variables(command)
    named = {(path, max(p.opts, key=len)): p.envvar for path, p in options(command) if not p.is_eager}
    assert len(named) > 100
    for (path, option), variable in named.items():
        assert variable == "_".join([*path, *option.strip("-").split("-")]).upper().replace("-", "_"), option
    assert len(set(named.values())) == len(named)


def test_a_variable_stands_for_its_option(run: Run, submit: Submit) -> None:
    submit("one")
    graded = run("grade", "--all", HARNESS_GRADE_JSON="1", HARNESS_GRADE_PROFILE="correctness")
    assert [record["profile"] for record in json.loads(graded.stdout)] == ["correctness"], graded.stderr
    listed = run("ls", "models", HARNESS_LS_JSON="yes")
    assert json.loads(listed.stdout)


def test_the_command_line_comes_first(run: Run) -> None:
    assert run("scoreboard", "--format", "json", HARNESS_SCOREBOARD_FORMAT="csv").stdout.startswith(("[", "{"))


def test_a_wrong_value_is_named_with_its_variable(run: Run) -> None:
    refused = run("grade", "--all", HARNESS_GRADE_FAIL_UNDER="300")
    assert refused.returncode == 2
    assert "--fail-under (HARNESS_GRADE_FAIL_UNDER) 300: " in refused.stderr
    refused = run("scoreboard", HARNESS_SCOREBOARD_FORMAT="cvs")
    assert "--format (HARNESS_SCOREBOARD_FORMAT): no 'cvs'; did you mean 'csv'?" in refused.stderr


def test_debug_can_be_set_and_unset(run: Run) -> None:
    assert "Traceback" in run("show", "nobody/rows", HARNESS_DEBUG="1").stderr
    assert "Traceback" not in run("show", "nobody/rows", HARNESS_DEBUG="0").stderr
