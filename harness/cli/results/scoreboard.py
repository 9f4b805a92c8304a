"""`harness scoreboard`: all models on all challenges."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output
from harness.cli.results.formats import FormatOption

if TYPE_CHECKING:
    from harness.model import ChallengeSuite
    from harness.report.views.board.scoreboard import Scoreboard
    from harness.scoring.measured_marks import MeasuredMarks
    from harness.workspace import Workspace


class SourceOption(StrEnum):
    """Marks to rank by: names of `harness.report.views.mark_source.MarkSource`, which is slow to import."""

    MEASURED = "measured"
    PUBLISHED = "published"


def scoreboard(
    format: FormatOption = "table",
    source: Annotated[SourceOption, typer.Option("--source", help="Marks to rank by.")] = SourceOption.MEASURED,
    suite: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Challenges to rank over: a suite of challenges/suites.toml, or all."),
    ] = None,
) -> None:
    """Rank all models over a suite of challenges.

    Without --suite it is the one that challenges/suites.toml calls its board; without such a file, the challenges that
    most models answered together. Of a workspace with challenges of its own, beside the bundled ones, it is the suite
    of those whose check passed. Places over the other suites stand beside.
    """
    if suite is not None and source is SourceOption.PUBLISHED:
        raise typer.BadParameter("--suite is for measured marks; published ones are ranked over all that they mark")
    from harness.store.own_suite import list_missing_ranks, ranking_suite, suites_beside
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    workspace = Workspace.find()
    if source is SourceOption.PUBLISHED:
        text, *notes = _draw_published(workspace, format)
    else:
        records = Store(workspace).published
        over, suites = ranking_suite(workspace, suite), suites_beside(workspace)
        unranked = list_missing_ranks(workspace)
        name = f"scoreboard over {over} beside {suites} without {unranked} as {format} on {output.look()}"
        text, *notes = records.view(name, lambda measured: _draw_measured(measured(), format, over, unranked, suites))
    if text:
        output.print_drawing(text)
    for note in notes:
        output.note(note)


def _draw_published(workspace: "Workspace", format: str) -> list[str]:
    from harness.report.views.board.scoreboard import scoreboard
    from harness.report.views.inputs import gather
    from harness.report.views.mark_source import MarkSource

    return _draw_board(scoreboard(gather(workspace), MarkSource.PUBLISHED), format)


def _draw_measured(
    marks: "MeasuredMarks",
    format: str,
    suite: "ChallengeSuite | None",
    unranked: tuple[str, ...],
    suites: "tuple[ChallengeSuite, ...]",
) -> list[str]:
    from harness.report.views.board.scoreboard import measured_scoreboard

    return _draw_board(measured_scoreboard(marks, suite, unranked, suites), format)


def _draw_board(board: "Scoreboard", format: str) -> list[str]:
    from harness.report import formats
    from harness.report.results import board_result

    notes = [] if board.rows else ["no records yet\n  try: harness grade --all"]
    if format == "table":
        notes += [f"note: {text}" for text in board.notes]
    return [output.lay_out(formats.write(board_result(board), format)), *notes]
