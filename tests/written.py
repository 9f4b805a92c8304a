"""Records, boards and comparisons in every format, as the commands write them."""

import json
from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType

from harness.model import Challenge, Record
from harness.report import formats
from harness.report.documents.board import board_page
from harness.report.documents.published import published_page
from harness.report.results import attempts_result, board_result, comparison_result, record_result
from harness.report.views.board.scoreboard import Scoreboard
from harness.report.views.comparison import ModelComparison
from harness.report.views.published.published_vs_measured import PublishedVsMeasured
from harness.report.writers import markdown
from harness.scoring.attempts import Attempts


def show(challenge: Challenge, record: Record) -> RenderableType:
    return formats.write(record_result(challenge, record), "table")


def shown_markdown(challenge: Challenge, record: Record) -> str:
    return str(formats.write(record_result(challenge, record), "md"))


def as_markdown(board: Scoreboard, beside: Iterable[str] = ()) -> str:
    return markdown.render(board_page(board, tuple(beside)), "scoreboard.md")


def as_table(board: Scoreboard) -> RenderableType:
    return formats.write(board_result(board), "table")


def as_json(board: Scoreboard) -> str:
    return str(formats.write(board_result(board), "json"))


def as_csv(board: Scoreboard) -> str:
    return str(formats.write(board_result(board), "csv"))


def published_markdown(found: PublishedVsMeasured) -> str:
    return markdown.render(published_page(found), "published_vs_measured.md")


def attempts_markdown(challenge: Challenge, attempts: Attempts) -> str:
    return str(formats.write(attempts_result(challenge, attempts), "md"))


def attempts_json(challenge: Challenge, attempts: Attempts) -> dict[str, Any]:
    return dict(json.loads(str(formats.write(attempts_result(challenge, attempts), "json"))))


def attempts_csv(challenge: Challenge, attempts: Attempts) -> str:
    return str(formats.write(attempts_result(challenge, attempts), "csv"))


def compared_markdown(compared: ModelComparison) -> str:
    return str(formats.write(comparison_result(compared), "md"))


def compared_csv(compared: ModelComparison) -> str:
    return str(formats.write(comparison_result(compared), "csv"))


def compared_data(compared: ModelComparison) -> dict[str, Any]:
    return dict(json.loads(str(formats.write(comparison_result(compared), "json"))))
