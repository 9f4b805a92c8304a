"""A record as a notebook shows it."""

import math
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.model.evidence.finding import Finding
    from harness.model.record import Record, Score


def record_html(record: "Record") -> str:
    """Return marks and findings of a record as HTML; everything that a submission wrote is escaped."""
    return "\n".join(_write_parts(record))


def _write_parts(record: "Record") -> Iterator[str]:
    yield f"<p><strong>{_text(record.name)}</strong>: {_describe_status(record)}</p>"
    yield "<table><thead><tr><th>heading</th><th>mark</th><th>interval</th><th>assessed</th></tr></thead><tbody>"
    for name, score in {"overall": record.overall, **record.dimensions}.items():
        cells = (name.replace("_", " "), *_list_figures(score))
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table>"
    if record.findings:
        yield f"<ol>{''.join(map(_write_finding, record.findings))}</ol>"


def _describe_status(record: "Record") -> str:
    if record.error:
        return f"judge error: {_text(record.error)}"
    status = str(record.status).replace("_", " ")
    parts = [status if record.ranked else f"{status}, not ranked"]
    if record.partial:
        reward = "unknown" if record.reward is None else f"{record.reward:.2f}"
        parts.append(f"only a part of the criteria was run, reward {reward}")
    return ", ".join(parts)


def _list_figures(score: "Score") -> tuple[str, str, str]:
    mark = "not assessed" if score.score is None else _round(score.score)
    return mark, f"{_round(score.low)} to {_round(score.high)}", f"{math.floor(Decimal(repr(score.coverage)) * 100)} %"


def _round(mark: float) -> str:
    # half up, as on every page
    return f"{Decimal(repr(mark)).quantize(Decimal('0.1'), ROUND_HALF_UP):f}".removesuffix(".0")


def _write_finding(finding: "Finding") -> str:
    kind = f"{finding.criterion}, {finding.severity}"
    cause = f"<br>likeliest cause: {_text(finding.diagnosis)}" if finding.diagnosis else ""
    return f"<li><strong>{_text(finding.title)}</strong> ({_text(kind)})<pre>{_text(finding.detail)}</pre>{cause}</li>"


def _text(text: str) -> str:
    return escape("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text))
