"""Results of commands: one for every page that a command prints or `harness report` writes."""

import json
from collections.abc import Collection as Names

from harness.model import Challenge, Record
from harness.report import formatting
from harness.report.document import Heading
from harness.report.documents.attempts import show_attempts
from harness.report.documents.board import board_document, board_page
from harness.report.documents.comparison import comparison_document
from harness.report.documents.difference import (
    ROWS,
    difference_document,
    list_difference_data,
    list_difference_rows,
    list_remarks,
)
from harness.report.documents.marks import notes_block
from harness.report.documents.submission import show_document
from harness.report.exports import results
from harness.report.formats import Result
from harness.report.views.board.scoreboard import Scoreboard
from harness.report.views.comparison import ModelComparison
from harness.report.views.difference import BoardDifference
from harness.scoring.attempts import Attempts


def record_result(
    challenge: Challenge, record: Record, unfetched: Names[str] = (), place: str = formatting.FOLDER
) -> Result:
    """Return one record.

    Args:
        unfetched: collections whose answers are not on this machine.
        place: arguments of `harness grade` that name a submission outside the workspace.
    """
    return Result(
        lambda: show_document(challenge, record, unfetched, place),
        lambda: json.loads(record.to_json()),
        lambda: results.record_rows(record),
    )


def attempts_result(challenge: Challenge, attempts: Attempts) -> Result:
    """Return several attempts."""
    return Result(
        lambda: show_attempts(challenge, attempts),
        lambda: results.attempts_json(attempts),
        lambda: results.attempts_rows(attempts),
    )


def comparison_result(compared: ModelComparison) -> Result:
    """Return two models."""
    alone = f"answered by one model only: {', '.join(compared.alone)}"
    notes = (*([alone] if compared.alone else []), *compared.notes)
    return Result(
        lambda: (*comparison_document(compared), *notes_block(notes)),
        lambda: results.comparison_json(compared),
        lambda: results.comparison_rows(compared),
        brief=lambda: comparison_document(compared),
        notes=notes,
    )


def difference_result(found: BoardDifference) -> Result:
    """Return what changed between two records or boards."""
    notes = tuple(list_remarks(found))
    return Result(
        lambda: (Heading("What changed", 1), *difference_document(found), *notes_block(notes)),
        lambda: list_difference_data(found),
        lambda: (ROWS, list_difference_rows(found)),
        brief=lambda: difference_document(found),
        notes=notes,
    )


def board_result(board: Scoreboard) -> Result:
    """Return the scoreboard."""
    return Result(
        lambda: board_page(board),
        lambda: results.board_json(board),
        lambda: results.board_rows(board),
        "scoreboard.md",
        lambda: board_document(board),
    )
