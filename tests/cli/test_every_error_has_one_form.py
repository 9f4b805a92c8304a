"""What is wrong with a command line is said as everything else is: `error:`, what it is, and a `try:` line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from cli_runs import Run, Submit
from typer.core import TyperGroup

from harness.cli.main import app


def _commands(command: object, path: tuple[str, ...] = ()) -> "Iterator[tuple[tuple[str, ...], bool]]":
    """Every command by its words, and whether it has subcommands."""
    yield path, isinstance(command, TyperGroup)
    if isinstance(command, TyperGroup):
        for name, each in command.commands.items():
            yield from _commands(each, (*path, name))


EVERY = [*_commands(typer.main.get_command(app))]
GROUPS = [path for path, group in EVERY if group and path != ("serve",)]  # `serve` serves without a subcommand
TAKES_ANY = ("cuda", "cc")  # its options are those of nvcc


def _message(run: Run, *arguments: str, cwd: Path | None = None) -> list[str]:
    done = run(*arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (2, ""), done
    first, *_, last = lines = done.stderr.splitlines()
    assert first.startswith("error: ") and last.startswith("  try: "), done.stderr
    assert "Usage:" not in done.stderr
    return lines


@pytest.mark.parametrize("path", [path for path, _ in EVERY if path != TAKES_ANY], ids=" ".join)
def test_an_unknown_option_is_answered_in_one_form(run: Run, path: tuple[str, ...]) -> None:
    first, last = _message(run, *path, "--helpp")
    assert first == "error: no option '--helpp'; did you mean '--help'?"
    assert last == f"  try: {' '.join(('harness', *path))} -h"


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_an_unknown_command_gets_the_nearest(run: Run, path: tuple[str, ...]) -> None:
    group = typer.main.get_command(app)
    for name in path:
        assert isinstance(group, TyperGroup)
        group = group.commands[name]
    assert isinstance(group, TyperGroup)
    for name in group.commands:
        first, last = _message(run, *path, f"{name}x")
        assert first == f"error: no command {f'{name}x'!r}; did you mean {name!r}?"
        assert last == f"  try: {' '.join(('harness', *path))} -h"
    first, listed, _ = _message(run, *path, "frobnicate")
    assert first.startswith("error: no command 'frobnicate'; the nearest is '")
    assert listed == f"  commands are {', '.join(group.commands)}"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["show"], ["error: RECORD is missing", "  try: harness show -h"]),
        (["grade", "-j", "0"], ["error: --jobs 0: should be greater than or equal to 1", "  try: harness grade -h"]),
        (["grade", "-force"], ["error: no option '-force'; did you mean '--force'?", "  try: harness grade -h"]),
        (["grade"], ["error: name what to grade: names or a folder, or --all for everything",
                     "  try: harness ls submissions"]),
        (["ls", "modles"], ["error: WHAT: no 'modles'; did you mean 'models'?",
                            "  one of challenges, models, submissions, collections, suites, profiles",
                            "  try: harness ls -h"]),
        (["scoreboard", "--format", "jsno"], ["error: --format: no 'jsno'; did you mean 'json'?",
                                              "  one of table, md, html, json, csv", "  try: harness scoreboard -h"]),
        (["grade", "--seed"], ["error: option '--seed' requires an argument", "  try: harness grade -h"]),
        (["doctor", "me"], ["error: got unexpected extra argument(s) (me)", "  try: harness doctor -h"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_option(run: Run, arguments: list[str], lines: list[str]) -> None:
    assert _message(run, *arguments) == lines


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nobody"], ["grade", "nobody"], ["check", "nothing"], ["prompt", "nothing"], ["rm", "nobody/rows"],
        ["new", "submission", "only-a-model"], ["import", "collection", "nothing"], ["compare", "a", "b"],
        ["scoreboard", "--suite", "nothing"], ["replay", "a/rows", "values"],
        ["cuda", "check", "nothing.cu"], ["cuda", "check", "."], ["cuda", "count", "."],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_unknown_name_has_the_same_form(run: Run, arguments: list[str]) -> None:
    _message(run, *arguments)


@pytest.mark.parametrize("command", [["rm"], ["grade"], ["show"]], ids=" ".join)
def test_only_a_slip_of_the_pen_is_taken_for_another_name(run: Run, submit: Submit, command: list[str]) -> None:
    submit("somebody")
    submit("abc")
    run("grade", "--all")
    assert "did you mean 'somebody/rows'" in "".join(_message(run, *command, "sombody/row"))
    for name in ("xyz/rows", "somebody/kv_cache"):
        assert "did you mean" not in "".join(_message(run, *command, name))


def test_a_folder_in_place_of_a_program_is_told_what_to_give(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert _message(run, "cuda", "check", "empty", cwd=tmp_path) == [
        "error: empty: is a folder without .cu files; give the files of a program, one of them with `main`",
        "  try: harness cuda check FILE.cu",
    ]
    (empty / "softmax.cu").write_text("int main() {}")
    assert _message(run, "cuda", "check", "empty", cwd=tmp_path)[-1] == "  try: harness cuda check empty/softmax.cu"
    first, _ = _message(run, "cuda", "count", "empty/softmx.cu", cwd=tmp_path)
    assert first == "error: no such file: empty/softmx.cu; did you mean 'empty/softmax.cu'?"
    assert _message(run, "cuda", "check", "empty/none.cu", cwd=tmp_path) == [
        "error: no such file: empty/none.cu", "  try: harness cuda check -h",
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["/tmp/nosuch/reply.md", "reply.md", "./rows", "replies/of/mine"])
def test_a_path_that_leads_nowhere_is_called_one(run: Run, path: str) -> None:
    assert _message(run, "grade", path, "--challenge", "rows")[0] == f"error: no such file: {path}"
