"""Report files: their names, contents and writing."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from harness.errors import SpecError, StoreError
from harness.report.document import Block
from harness.report.documents.board import LETTERS, NOT_ASKED, board_page, round_page
from harness.report.documents.challenge import challenge_page
from harness.report.documents.comparison import head_to_head_page
from harness.report.documents.letters import letters_page
from harness.report.documents.not_asked import not_asked_page
from harness.report.documents.published import published_page
from harness.report.formatting import pair_page
from harness.report.views.board.not_asked_board import not_asked_board
from harness.report.views.board.rounds import round_view
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.challenge import challenge_report
from harness.report.views.head_to_head import HeadToHeads
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import Marks, MarkSource, marks
from harness.report.views.published.letter_table import letter_table
from harness.report.views.published.published_vs_measured import published_vs_measured
from harness.report.writers import markdown
from harness.report.writers.page import page
from harness.report.writers.scoreboard_svg import as_svg
from harness.workspace.stored_files import remedy, write_atomically

SCOREBOARD = "scoreboard.md"
PICTURE = "scoreboard.svg"
AGAINST = "published_vs_measured.md"
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
    folder = "published/" if source is MarkSource.PUBLISHED else ""
    reports: dict[str, str] = {}
    for path, content in _reports(inputs, found):
        if path in reports:
            raise SpecError(path, "is the name of two reports", hint="rename the challenge or the models")
        reports[path] = content if isinstance(content, str) else markdown.render(content, folder + path)
    return reports


def _reports(inputs: ReportInputs, found: Marks) -> Iterator[tuple[str, str | Iterable[Block]]]:
    measured = found.source is MarkSource.MEASURED
    board = scoreboard(inputs, found.source)
    beside: dict[str, Iterable[Block]] = {}
    if not measured and inputs.letters:
        beside[LETTERS] = letters_page(letter_table(inputs))
    if measured and any(r.origin and (r.origin.not_asked or r.origin.contradicted) for r in inputs.records):
        beside[NOT_ASKED] = not_asked_page(not_asked_board(inputs, board.compared))
    yield SCOREBOARD, board_page(board, beside.keys())
    yield from beside.items()
    yield PICTURE, as_svg(board, inputs.title if measured else f"{inputs.title}, as published judges marked them")
    pairs = HeadToHeads(inputs, found, board.compared)
    for left, right in combinations(found.models, 2):
        if any(result.played for result in found.between(left, right)):
            yield pair_page(left, right), head_to_head_page(pairs.of(left, right))
    for round in inputs.rounds:
        view = round_view(inputs, round, found.source)
        if view.rows:
            yield f"rounds/{round.id}.md", round_page(view)
    if measured:
        yield from _challenges(inputs)
        if marks(inputs, MarkSource.PUBLISHED).marked:
            lists = (inputs.challenges, inputs.records, inputs.reviews, inputs.defects, inputs.letters)
            yield AGAINST, published_page(published_vs_measured(*lists))
        yield INDEX, page(inputs, board)


def _challenges(inputs: ReportInputs) -> Iterator[tuple[str, Iterable[Block]]]:
    for challenge in sorted(inputs.challenges, key=lambda c: c.id):
        own = [r for r in inputs.records if r.challenge == challenge.id]
        if own:
            report = challenge_report(challenge, own, inputs.doubts)
            yield f"{challenge.id}.md", challenge_page(report, inputs.reviews, inputs.unfetched)


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
