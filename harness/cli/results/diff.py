"""`harness diff`: two records, or two boards, by what got better or worse."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output
from harness.cli.results.formats import FormatOption, print_result

if TYPE_CHECKING:
    from harness.model import Record
    from harness.workspace import Workspace

RecordName = Annotated[
    str,
    typer.Argument(
        metavar="RECORD|BOARD",
        help="MODEL/CHALLENGE, a record's file, or a folder with records.",
        autocompletion=complete.records,
    ),
]


def diff(
    before: RecordName,
    after: RecordName,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 if a criterion got worse.")
    ] = False,
    format: FormatOption = "table",
) -> None:
    """Show what got better or worse, by criterion.

    Compares two records of one challenge, or the records that two boards share, with the evidence of both. A criterion
    that only one of them assessed is neither better nor worse.

    \b
    harness diff qwen3.6-27b/kv_cache glm-5/kv_cache
    harness diff ../board-before . --fail-on-regression
    """
    from harness.report.results import difference_result
    from harness.report.views.difference import BoardDifference, RecordDifference, compare_boards
    from harness.workspace import Workspace

    workspace = Workspace.find()
    boards = [Path(name).is_dir() for name in (before, after)]
    if boards[0] != boards[1]:
        raise typer.BadParameter(f"{before} and {after}: name two records, or the folders of two boards")
    if all(boards):
        found = compare_boards(*(_read_board(workspace, Path(name)) for name in (before, after)))
    else:
        first, second = (_read_record(workspace, name) for name in (before, after))
        if first.challenge != second.challenge:
            answered = f"{before} answers {first.challenge}, {after} answers {second.challenge}"
            raise typer.BadParameter(f"{answered}: name two records of one challenge")
        found = BoardDifference((RecordDifference(first, second),))
    print_result(difference_result(found), format)
    if found.worse and fail_on_regression:
        raise typer.Exit(1)


def _read_record(workspace: "Workspace", name: str) -> "Record":
    from harness.store.record_store import Store

    return Store(workspace).published.record(name)


def _read_board(workspace: "Workspace", folder: Path) -> dict[str, "Record"]:
    from harness.audit.board import Board

    board, found = Board(folder, workspace), {}
    for read in map(board.read, board.names()):
        if read.record is None:
            output.note(f"note: left out: {read.path}: {read.refused}")
        else:
            found[read.record.name] = read.record
    return found
