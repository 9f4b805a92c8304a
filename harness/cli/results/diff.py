"""`harness diff`: two records, or two boards, by what got better or worse."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import complete, output
from harness.cli.results.scoreboard import Format

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.model import Evidence, Record
    from harness.report.views.difference import BoardDifference, CriterionChange, RecordDifference
    from harness.workspace import Workspace

TITLES = ("Change", "Criterion", "Before", "After")
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
    format: Annotated[Format, typer.Option("--format", "-F", help="Output format.")] = Format.TABLE,
) -> None:
    """Show what got better or worse, by criterion.

    Compares two records of one challenge, or the records that two boards share, with the evidence of both. A criterion
    that only one of them assessed is neither better nor worse.

    \b
    harness diff qwen3.6-27b/kv_cache glm-5/kv_cache
    harness diff ../board-before . --fail-on-regression
    """
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
    _print(found, format)
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


def _print(found: "BoardDifference", format: Format) -> None:
    from harness.report.tables import csv_text

    match format:
        case Format.JSON:
            output.data(_list_data(found))
        case Format.CSV:
            titles = ("record", "against", "change", "criterion", "severity", "before", "after")
            output.line(csv_text(titles, _list_rows(found)).removesuffix("\n"))
        case Format.MD:
            output.line("\n\n".join(_write_markdown(found)))
        case Format.TABLE:
            for part in _draw(found):
                output.show(part)
            for text in _list_remarks(found):
                output.note(f"note: {text}")


def _draw(found: "BoardDifference") -> "Iterator[RenderableType]":
    from rich.text import Text

    from harness.report.tables import text_table

    for one in found.changed:
        yield Text(_head(one), style="bold")
        if one.changes:
            yield text_table(TITLES, map(_list_cells, one.changes))
        yield Text()
    yield Text(_sum_up(found))


def _write_markdown(found: "BoardDifference") -> Iterator[str]:
    from harness.report.escape import markdown
    from harness.report.tables import markdown_table

    yield "# What changed"
    for one in found.changed:
        yield f"## {markdown(_head(one))}"
        if one.changes:
            yield markdown_table(TITLES, map(_list_cells, one.changes))
    yield str(markdown(_sum_up(found)))
    for text in _list_remarks(found):
        yield f"* {markdown(text)}"


def _head(one: "RecordDifference") -> str:
    from harness.report import formatting

    name, other = one.before.name, one.after.name
    marks = " -> ".join(formatting.standing(record.overall) for record in (one.before, one.after))
    return f"{name if name == other else f'{name} -> {other}'}: {marks}"


def _list_cells(change: "CriterionChange") -> list[str]:
    named = f"{change.criterion} ({change.severity})"
    return [change.change.value, named, _describe(change.before), _describe(change.after)]


def _describe(evidence: "Evidence | None") -> str:
    from harness.report import formatting

    if evidence is None:
        return "not in this record"
    figures = formatting.measured(evidence, sure=False)
    first = formatting.seen(evidence) + (f" ({figures})" if figures else "")
    if evidence.rests_on:
        return f"{first}: {evidence.rests_on} failed"
    return "; ".join(filter(None, (first, *_list_details(evidence))))


def _list_details(evidence: "Evidence") -> Iterator[str]:
    from harness.report import formatting

    if evidence.faulty or not evidence.outcome.assessed:
        yield evidence.detail
    if example := evidence.counterexample:
        yield ": ".join(filter(None, (formatting.sizes(example), formatting.values(example))))


def _sum_up(found: "BoardDifference") -> str:
    from collections import Counter

    from harness.report.views.difference import Change

    counts = Counter(change.change for one in found.changed for change in one.changes)
    parts = [f"{counts[kind]} {kind}" for kind in Change if counts[kind]]
    same = f"; {found.same} records with the same criteria and mark" if found.same else ""
    return (f"criteria: {', '.join(parts)}" if parts else "no criterion changed") + same


def _list_remarks(found: "BoardDifference") -> Iterator[str]:
    from harness.report import formatting

    for one in found.changed:
        if one.unlike:
            unlike = ", ".join(f"{name} {was} and {now}" for name, (was, now) in one.unlike.items())
            yield f"{one.after.name} was graded under other conditions, which may be the reason: {unlike}"
    for where, names in (("first", found.gone), ("second", found.added)):
        if names:
            yield f"only in the {where}: {formatting.some(names)}"


def _list_rows(found: "BoardDifference") -> Iterator[list[str]]:
    for one in found.changed:
        for change in one.changes:
            cells = (_describe(change.before), _describe(change.after))
            names = (one.after.name, one.before.name)
            yield [*names, change.change.value, change.criterion, change.severity.value, *cells]


def _list_data(found: "BoardDifference") -> dict[str, Any]:
    return {
        "worse": found.worse,
        "records": [
            {
                "before": {"name": one.before.name, "overall": one.before.overall.model_dump()},
                "after": {"name": one.after.name, "overall": one.after.overall.model_dump()},
                "unlike": one.unlike,
                "changes": [_list_sides(change) for change in one.changes],
            }
            for one in found.changed
        ],
        "same": found.same,
        "gone": found.gone,
        "added": found.added,
    }


def _list_sides(change: "CriterionChange") -> dict[str, Any]:
    import json

    sides = {"before": change.before, "after": change.after}
    evidence = {side: json.loads(e.model_dump_json()) if e else None for side, e in sides.items()}
    return {"criterion": change.criterion, "severity": change.severity, "change": change.change, **evidence}
