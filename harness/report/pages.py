"""Report files: their names, contents and writing."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

from harness.errors import SpecError, StoreError
from harness.report.formatting import pair_page
from harness.report.page import page
from harness.report.views.board.not_asked_board import not_asked_board
from harness.report.views.board.rounds import round_view
from harness.report.views.challenge import challenge_report
from harness.report.views.head_to_head import HeadToHeads
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import Marks, MarkSource, marks
from harness.report.views.published.letter_table import letter_table
from harness.report.views.published.published_vs_measured import published_vs_measured
from harness.report.writers.render import render
from harness.report.writers.scoreboard import Scoreboard, as_markdown, scoreboard
from harness.report.writers.scoreboard_svg import as_svg
from harness.workspace.stored_files import remedy, write_atomically

SCOREBOARD = "scoreboard.md"
PICTURE = "scoreboard.svg"
AGAINST = "published_vs_measured.md"
LETTERS = "letters.md"
NOT_ASKED = "not_asked.md"
INDEX = "index.html"
FOLDERS = ("head_to_head", "rounds")
"""Folders of generated pages only, in which stale pages are removed."""


def render_all(inputs: ReportInputs, source: MarkSource = MarkSource.MEASURED) -> dict[str, str]:
    """Render all reports by the marks of one source, by path below their folder.

    Args:
        source: both give scoreboard, head to head and rounds; measured marks also `index.html` and a page per challenge
            with a record. Published marks give no report without a published review.

    Raises:
        SpecError: two reports share a name, for example with a challenge called `scoreboard`.
    """
    found = marks(inputs, source)
    if source is MarkSource.PUBLISHED and not found.marked and not found.head_to_heads:
        return {}
    reports: dict[str, str] = {}
    for path, text in _reports(inputs, found):
        if path in reports:
            raise SpecError(path, "is the name of two reports", hint="rename the challenge or the models")
        reports[path] = text
    return reports


def _reports(inputs: ReportInputs, found: Marks) -> Iterator[tuple[str, str]]:
    board = scoreboard(inputs, found.source)
    beside = dict(_beside(inputs, board))
    yield SCOREBOARD, as_markdown(board, beside)
    yield from beside.items()
    yield PICTURE, as_svg(board)
    pairs = HeadToHeads(inputs, found, board.compared)
    for left, right in combinations(found.models, 2):
        if any(result.played for result in found.between(left, right)):
            yield pair_page(left, right), render("head_to_head.md.j2", match=pairs.of(left, right))
    for round in inputs.rounds:
        view = round_view(inputs, round, found.source)
        if view.rows:
            yield f"rounds/{round.id}.md", render("round.md.j2", view=view)
    if found.source is MarkSource.MEASURED:
        yield from _challenges(inputs)
        if marks(inputs, MarkSource.PUBLISHED).marked:
            compared = published_vs_measured(
                inputs.challenges, inputs.records, inputs.reviews, inputs.defects, inputs.letters
            )
            yield AGAINST, render("published_vs_measured.md.j2", comparison=compared)
        yield INDEX, page(inputs, board)


def write(reports: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the reports that differ from the files under `folder`, and return the paths written or removed.

    Raises:
        StoreError: a file cannot be written or removed.
    """
    changed = []
    for name, text in sorted(reports.items()):
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_atomically(path, text)
            changed.append(path)
    stale = [p for kind in FOLDERS for p in sorted((folder / kind).glob("*.md")) if f"{kind}/{p.name}" not in reports]
    for path in stale:
        try:
            path.unlink()
        except OSError as error:
            raise StoreError(f"{path}: cannot be removed: {error.strerror}\n  {remedy(error)}") from error
        changed.append(path)
    return changed


def _beside(inputs: ReportInputs, board: Scoreboard) -> Iterator[tuple[str, str]]:
    if board.source is MarkSource.PUBLISHED:
        if inputs.letters:
            yield LETTERS, render("letters.md.j2", table=letter_table(inputs))
    elif any(r.origin and (r.origin.not_asked or r.origin.contradicted) for r in inputs.records):
        yield NOT_ASKED, render("not_asked.md.j2", board=not_asked_board(inputs, board.compared))


def _challenges(inputs: ReportInputs) -> Iterator[tuple[str, str]]:
    for challenge in sorted(inputs.challenges, key=lambda c: c.id):
        own = [r for r in inputs.records if r.challenge == challenge.id]
        if own:
            reviews = [r for r in inputs.reviews if r.challenge == challenge.id]
            yield (
                f"{challenge.id}.md",
                render(
                    "challenge.md.j2", report=challenge_report(challenge, own, reviews, inputs.unfetched, inputs.doubts)
                ),
            )
