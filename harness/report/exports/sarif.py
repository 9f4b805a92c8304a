"""Findings as SARIF 2.1.0 for code hosts: a rule per criterion, a result per fault.

Section numbers refer to OASIS's "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harness.model import Challenge, Criterion, Record
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.report.exports.text import LONGEST, storable
from harness.report.views.finding import Weakness, told, weaknesses

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
MOST_PLACES = 20
"""Most further locations per fault."""
ROOT = "%SRCROOT%"
"""Base of relative paths, by the name that code hosts use."""
_LEVEL = {"critical": "error", "major": "warning", "minor": "note"}


def write(inputs: "ReportInputs") -> str:
    """Return one document of all records of a workspace."""
    import harness

    return sarif(inputs.challenges, inputs.records, harness.__version__)


def sarif(challenges: Iterable[Challenge], records: Iterable[Record], version: str) -> str:
    """Return one document of all records, by name; equal records give equal bytes.

    Args:
        challenges: the rubrics; a finding about none of their criteria gets a rule of its own.
        records: in any order; those of other challenges are left out.
    """
    known = sorted(records, key=lambda r: (r.challenge, r.model))
    answered = {r.challenge for r in known}
    rubrics = {c.id: c for c in sorted(challenges, key=lambda c: c.id) if c.id in answered}
    rules = {f"{c.id}/{criterion.id}": _rule(c, criterion) for c in rubrics.values() for criterion in c.criteria}
    mine = [(record, rubrics[record.challenge]) for record in known if record.challenge in rubrics]
    found = [(record, fault) for record, rubric in mine for fault in weaknesses(rubric, record)]
    for record, fault in found:
        id = _rule_id(record, fault)
        rules.setdefault(id, {"id": id, "shortDescription": {"text": fault.criteria[0]}})
    place = {id: number for number, id in enumerate(rules)}
    errors = [r for r in known if r.error]
    return document(
        version,
        list(rules.values()),
        [_result(record, fault, place[_rule_id(record, fault)]) for record, fault in found],
        notifications=[f"{r.name}: judge error, not the answer's fault: {r.error}" for r in errors],
        roots={ROOT: {"description": {"text": "The folder that holds submissions/."}}, **_published_roots(known)},
    )


def document(
    version: str,
    rules: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    *,
    notifications: Sequence[str] = (),
    roots: Mapping[str, Any],
) -> str:
    """Return a document of one run.

    Args:
        rules: in the order of the results' `ruleIndex`.
        notifications: reasons for an incomplete run, if any.
        roots: base folders of locations, by name.
    """
    run = {
        "tool": {"driver": {"name": "harness", "version": version, "rules": rules}},
        "invocations": [
            {
                "executionSuccessful": not notifications,
                "toolExecutionNotifications": [{"level": "error", "message": message(text)} for text in notifications],
            }
        ],
        "originalUriBaseIds": roots,
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule_id(record: Record, fault: Weakness) -> str:
    return f"{record.challenge}/{fault.criteria[0]}"


def _rule(challenge: Challenge, criterion: Criterion) -> dict[str, Any]:
    return {
        "id": f"{challenge.id}/{criterion.id}",
        "shortDescription": message(criterion.title),
        "defaultConfiguration": {"level": _LEVEL[criterion.severity]},
        "properties": {"dimension": criterion.dimension, "severity": criterion.severity.value},
    }


def _result(record: Record, fault: Weakness, rule: int) -> dict[str, Any]:
    first, *others = [_file(record, p.file, p.line) for p in fault.locations] or [_file(record, "submission.toml")]
    found: dict[str, Any] = {
        "ruleId": _rule_id(record, fault),
        "ruleIndex": rule,
        "level": _LEVEL.get(fault.weight, "warning"),
        "message": message(_text(record, fault)),
        "locations": [first],
        "properties": {"model": record.model, "criteria": fault.criteria},
    }
    return found | ({"relatedLocations": others[:MOST_PLACES]} if others else {})


def _text(record: Record, fault: Weakness) -> str:
    return "\n".join([f"{record.name}: {fault.title} ({', '.join(fault.criteria)})", *told(fault)])


def _published_roots(records: Iterable[Record]) -> dict[str, Any]:
    origins = {r.origin.collection: r.origin for r in records if r.origin}
    return {
        id: {"description": {"text": f"A clone of {origin.repository} at commit {origin.commit}."}}
        for id, origin in sorted(origins.items())
    }


def _file(record: Record, path: str, line: int | None = None) -> dict[str, Any]:
    folder, root = f"submissions/{record.name}", ROOT
    if record.origin and path in (record.origin.adapter, SUBMISSION_FILE):
        folder = f"submissions/collections/{record.origin.collection}/{record.name}"
    elif record.origin:
        folder, root = record.origin.folder, record.origin.collection
    return location(f"{folder}/{path}", line, root)


def location(path: str, line: int | None = None, root: str = ROOT) -> dict[str, Any]:
    """Return a location in a file.

    Args:
        path: relative to `root`.
        line: from 1; None for the whole file.
        root: one of the document's roots.
    """
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(path), "uriBaseId": root}}
    return {"physicalLocation": place if line is None else place | {"region": {"startLine": line}}}


def message(text: str) -> dict[str, str]:
    """Return a message with this text, with SARIF's placeholders and links escaped."""
    # braces stand for placeholders (3.11.5), `[text](target)` for a link (3.11.6): a submission's words are neither
    shown = storable(text, LONGEST).replace("{", "{{").replace("}", "}}").replace("](", "] (")
    return {"text": shown}
