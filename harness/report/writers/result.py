"""A result of a command in each of its formats."""

import json

from rich.console import RenderableType

from harness.report.exports.text import csv_text
from harness.report.formats import Result
from harness.report.writers import html, markdown, terminal


def as_table(result: Result) -> RenderableType:
    """Lay a result out for a terminal."""
    return terminal.render((result.brief or result.document)())


def as_markdown(result: Result) -> str:
    """Write a result as a page of Markdown."""
    return markdown.render(result.document(), result.path)


def as_html(result: Result) -> str:
    """Write a result as HTML without a page around it."""
    return f"{html.render(result.document())}\n"


def as_json(result: Result) -> str:
    """Write a result as indented JSON."""
    return json.dumps(result.data(), indent=1, allow_nan=False) + "\n"


def as_csv(result: Result) -> str:
    """Write a result as CSV; absent values are empty."""
    return csv_text(*result.rows())
