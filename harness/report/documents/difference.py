"""What got better or worse between two records, or two boards."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.model import Evidence
from harness.report import formatting
from harness.report.document import Block, Heading, Paragraph, table
from harness.report.views.difference import BoardDifference, Change, CriterionChange, RecordDifference

COLUMNS = ("Change", "Criterion", "Before", "After")
ROWS = ("record", "against", "change", "criterion", "severity", "before", "after")


def difference_document(found: BoardDifference) -> Iterator[Block]:
    """Show each record that changed, and how many criteria got better or worse in all."""
    for one in found.changed:
        yield Heading(_head(one))
        if one.changes:
            yield table(COLUMNS, map(_list_cells, one.changes), f"Criteria of {one.after.name}")
    yield Paragraph(_sum_up(found))


def list_remarks(found: BoardDifference) -> Iterator[str]:
    """List other conditions, and records that only one board has."""
    for one in found.changed:
        if one.unlike:
            unlike = ", ".join(f"{name} {was} and {now}" for name, (was, now) in one.unlike.items())
            yield f"{one.after.name} was graded under other conditions, which may be the reason: {unlike}"
    for where, names in (("first", found.gone), ("second", found.added)):
        if names:
            yield f"only in the {where}: {formatting.some(names)}"


def list_difference_rows(found: BoardDifference) -> Iterator[list[str]]:
    """List each changed criterion as cells below `ROWS`."""
    for one in found.changed:
        for change in one.changes:
            cells = (_describe(change.before), _describe(change.after))
            names = (one.after.name, one.before.name)
            yield [*names, change.change.value, change.criterion, change.severity.value, *cells]


def list_difference_data(found: BoardDifference) -> dict[str, Any]:
    """Return the changes as JSON values, with the evidence of both sides."""
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


def _head(one: RecordDifference) -> str:
    name, other = one.before.name, one.after.name
    marks = " -> ".join(formatting.standing(record.overall) for record in (one.before, one.after))
    return f"{name if name == other else f'{name} -> {other}'}: {marks}"


def _list_cells(change: CriterionChange) -> list[str]:
    named = f"{change.criterion} ({change.severity})"
    return [change.change.value, named, _describe(change.before), _describe(change.after)]


def _describe(evidence: Evidence | None) -> str:
    if evidence is None:
        return "not in this record"
    figures = formatting.measured(evidence, sure=False)
    first = formatting.seen(evidence) + (f" ({figures})" if figures else "")
    if evidence.rests_on:
        return f"{first}: {evidence.rests_on} failed"
    return "; ".join(filter(None, (first, *_list_details(evidence))))


def _list_details(evidence: Evidence) -> Iterator[str]:
    if evidence.faulty or not evidence.outcome.assessed:
        yield evidence.detail
    if example := evidence.counterexample:
        yield ": ".join(filter(None, (formatting.sizes(example), formatting.values(example))))


def _sum_up(found: BoardDifference) -> str:
    counts = Counter(change.change for one in found.changed for change in one.changes)
    parts = [f"{counts[kind]} {kind}" for kind in Change if counts[kind]]
    same = f"; {found.same} records with the same criteria and mark" if found.same else ""
    return (f"criteria: {', '.join(parts)}" if parts else "no criterion changed") + same


def _list_sides(change: CriterionChange) -> dict[str, Any]:
    sides = {"before": change.before, "after": change.after}
    evidence = {side: json.loads(e.model_dump_json()) if e else None for side, e in sides.items()}
    return {"criterion": change.criterion, "severity": change.severity, "change": change.change, **evidence}
