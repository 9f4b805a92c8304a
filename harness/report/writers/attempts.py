"""Several attempts for a terminal, and as Markdown, CSV and JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType, group
from rich.text import Text

from harness.model import Challenge
from harness.report.escape import markdown
from harness.report.tables import csv_text, markdown_table, text_table
from harness.report.views.attempts import AttemptsReport, attempts_data, attempts_report
from harness.scoring.attempts import Attempts, passes

_ATTEMPTS = ("Attempt", "Mark", "Passes", "Gravest finding")
_CRITERIA = ("Criterion", "Severity", "Attempts")
_FAULTS = ("Finding", "Severity", "Attempts")


@group()
def format_attempts(challenge: Challenge, attempts: Attempts) -> Iterator[RenderableType]:
    """Lay the attempts out for a terminal of any width."""
    view = attempts_report(challenge, attempts)
    yield Text(f"{view.model}/{view.challenge}", style="bold")
    for label, text in view.figures:
        yield Text.assemble((f"{label}: ", "dim"), text)
    yield Text()
    yield text_table(_ATTEMPTS, _rows(view))
    for title, titles, rows in _tables(view):
        yield Text(f"\n{title}", style="bold")
        yield text_table(titles, rows)
    if view.met_by_all:
        yield Text(f"\nMet by every attempt: {', '.join(view.met_by_all)}")
    yield Text(f"\nOne attempt: harness show {view.rows[0].name}")


def attempts_markdown(challenge: Challenge, attempts: Attempts) -> str:
    """Write the attempts as a page of Markdown."""
    view = attempts_report(challenge, attempts)
    parts = [f"# {markdown(f'{view.model}/{view.challenge}')}"]
    parts += [markdown_table(("", ""), view.figures), markdown_table(_ATTEMPTS, _rows(view))]
    for title, titles, rows in _tables(view):
        parts += [f"## {title}", markdown_table(titles, rows)]
    return "\n\n".join(parts) + "\n"


def attempts_csv(attempts: Attempts) -> str:
    """Write a header and a line per attempt; absent figures are empty."""
    lines = [
        [
            s.name,
            s.submission_name.attempt,
            s.status.value,
            s.overall.score,
            s.overall.low,
            s.overall.high,
            s.overall.coverage,
            passes(s),
        ]
        for s in attempts.summaries
    ]
    return csv_text(["submission", "attempt", "status", "score", "low", "high", "coverage", "passes"], lines)


def attempts_json(attempts: Attempts) -> dict[str, Any]:
    """Return the figures over all attempts, each attempt and each criterion as JSON values."""
    return {
        "model": attempts.model,
        "challenge": attempts.challenge,
        "overall": attempts.overall.model_dump(),
        "dimensions": {id: score.model_dump() for id, score in attempts.dimensions.items()},
        **attempts_data(attempts),
        "criteria": {c.criterion: {"met": c.met, "assessed": c.assessed} for c in attempts.criteria},
        "records": [
            {
                "submission": s.name,
                "attempt": s.submission_name.attempt,
                "status": s.status.value,
                "passes": passes(s),
                "overall": s.overall.model_dump(),
            }
            for s in attempts.summaries
        ],
    }


def _rows(view: AttemptsReport) -> list[tuple[str, ...]]:
    return [(row.name, row.mark, row.passes, row.gravest) for row in view.rows]


def _tables(view: AttemptsReport) -> Iterator[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]]:
    if view.missed:
        missed = [(count.id, count.severity, count.met) for count in view.missed]
        yield "Criteria that not every attempt meets", _CRITERIA, missed
    if view.faults:
        yield "Findings, the gravest first", _FAULTS, [(title, weight, count) for weight, title, count in view.faults]
