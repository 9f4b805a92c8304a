"""Records as JUnit XML for CI systems: a suite per submission, a test case per criterion.

The schema is Jenkins's junit-10.xsd. A case is skipped if the criterion was not run, unsupported, not offered or has no
credit of its own, and an error if the harness failed.
"""

from collections.abc import Iterable
from datetime import UTC
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from harness.model import INTEGRITY, Evidence, Outcome, Record
from harness.report import formatting
from harness.report.exports.text import LONGEST, storable
from harness.report.views.finding import Weakness, told, weakness
from harness.report.views.origins import origin_facts
from harness.report.views.submission import grouped

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs

_COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def write(inputs: "ReportInputs") -> str:
    """Return one document of all records of a workspace."""
    return junit(inputs.records)


def junit(records: Iterable[Record]) -> str:
    """Return one document of all records, by name; equal records give equal bytes."""
    root = ET.Element("testsuites", name="harness")
    suites = [_suite(root, record) for record in sorted(records, key=lambda r: (r.challenge, r.model))]
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _suite(root: ET.Element, record: Record) -> ET.Element:
    seconds = sum(spent for stage, spent in record.seconds.items() if stage != "box")
    suite = ET.SubElement(
        root,
        "testsuite",
        name=record.name,
        time=f"{seconds:.3f}",
        timestamp=f"{record.made.astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(record).items():
        ET.SubElement(properties, "property", name=name, value=storable(value))
    evidence = {e.criterion: e for e in record.evidence}
    found = {f.criterion: weakness(record, evidence, [f]) for f in record.findings}
    results = [_case(suite, record, item, found.pop(item.criterion, None)) for item in record.marked]
    conduct = found.pop(INTEGRITY, None)
    results += [_failed_case(suite, record, fault) for fault in found.values()]
    suite.set("tests", str(len(results)))
    for result, total in _COUNTS.items():
        suite.set(total, str(results.count(result)))
    _add_text(suite, "system-out", [*record.remarks, *([_words(conduct)] if conduct else [])])
    _add_text(suite, "system-err", [record.error] if record.error else [])
    return suite


def _properties(record: Record) -> dict[str, str]:
    where = record.environment
    origin = grouped((label.lower(), text) for label, text in origin_facts(record))
    return {label: "; ".join(texts) for label, texts in origin.items()} | {
        "overall": formatting.mark(record.overall.score),
        "interval": formatting.interval(record.overall),
        "coverage": formatting.percent(record.overall.coverage),
        "status": formatting.status(record.status),
        "provenance": formatting.provenance(record.provenance),
        "tier": where.tier,
        "device": where.device,
        "harness": where.harness,
        "seed": str(record.seed),
        "ranked": formatting.number(record.ranked),
        "key": record.key,
    }


def _case(suite: ET.Element, record: Record, item: Evidence, fault: Weakness | None) -> str:
    case = ET.SubElement(suite, "testcase", classname=f"{record.name}.{item.dimension}", name=item.criterion, time="0")
    result = _result(item)
    if result:
        kind = formatting.outcome(item) if result == "skipped" else item.outcome.value
        title, text = _why(record, item, fault if result == "failure" else None)
        _add_result(case, result, kind, title, text)
    elif item.measured:
        _add_text(case, "system-out", [formatting.measured(item)])
    return result


def _result(item: Evidence) -> str:
    if item.outcome is Outcome.PASSED:
        return ""
    if item.outcome is Outcome.JUDGE_ERROR:
        return "error"
    if not item.outcome.assessed or item.rests_on or item.outcome is Outcome.NOT_OFFERED:
        return "skipped"
    return "failure"


def _why(record: Record, item: Evidence, fault: Weakness | None) -> tuple[str, str]:
    if item.rests_on:
        return f"{formatting.uncredited(item)} while {item.rests_on} fails", item.detail
    if fault is None:
        return item.detail.partition("\n")[0] or formatting.outcome(item), item.detail
    return fault.title, _words(fault)


def _failed_case(suite: ET.Element, record: Record, fault: Weakness) -> str:
    """Add a finding about no criterion, such as a failed build."""
    case = ET.SubElement(suite, "testcase", classname=record.name, name=fault.criteria[0], time="0")
    _add_result(case, "failure", Outcome.FAILED.value, fault.title, _words(fault))
    return "failure"


def _words(fault: Weakness) -> str:
    return "\n".join([fault.title, *told(fault)])


def _add_result(case: ET.Element, result: str, kind: str, title: str, text: str) -> None:
    message = storable(" ".join(title.split()), LONGEST)
    ET.SubElement(case, result, type=kind, message=message).text = storable(text, LONGEST)


def _add_text(parent: ET.Element, name: str, lines: Iterable[str]) -> None:
    text = "\n".join(lines)
    if text:
        ET.SubElement(parent, name).text = storable(text, LONGEST)
