"""Findings: one per fault, and every label that any format prints about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.model import INTEGRITY, Challenge, Counterexample, Evidence, Finding, Location, Record, Severity, Status
from harness.report import formatting
from harness.report.document import Code, Inline, code, plain_text


@dataclass(frozen=True)
class Weakness:
    """One fault; criteria that failed for the same words are merged.

    Attributes:
        weight: severity, or that it carries no mark.
        seen: observations, each on one line.
        example: failing input; empty if unknown.
        replay: command that repeats it; empty if nothing was run.
        linked: the race that it depends on.
        contradicted: contrary requests of the original prompt.
    """

    criteria: tuple[str, ...]
    weight: str
    title: str
    seen: tuple[str, ...]
    diagnosis: str
    figures: str
    example: Counterexample
    replay: str
    locations: tuple[Location, ...]
    linked: str
    contradicted: tuple[str, ...]


def weaknesses(challenge: Challenge, record: Record, place: str = formatting.FOLDER) -> tuple[Weakness, ...]:
    """Return the findings of a record, one per title; those of an optional feature stay separate.

    Args:
        place: arguments that name a submission outside the workspace.
    """
    options = {c.id: c.capability for c in challenge.criteria}
    merged: dict[tuple[Severity, str, str | None], list[Finding]] = {}
    for finding in record.findings:
        key = (finding.severity, finding.title, options.get(finding.criterion))
        merged.setdefault(key, []).append(finding)
    evidence = {e.criterion: e for e in record.evidence}
    return tuple(weakness(record, evidence, group, place) for group in merged.values())


def weakness(
    record: Record, evidence: dict[str, Evidence], group: Sequence[Finding], place: str = formatting.FOLDER
) -> Weakness:
    """Return findings of one fault as one."""
    first = group[0]
    seen, root = evidence.get(first.criterion), evidence.get(first.linked_to or "")
    ran = seen is not None and seen.seed is not None and record.status is Status.GRADED
    why = record.origin.contradicted if record.origin else {}
    return Weakness(
        criteria=tuple(f.criterion for f in group),
        weight=formatting.UNMARKED if first.criterion == INTEGRITY else first.severity.value,
        title=first.title,
        seen=tuple(_observed(group)),
        diagnosis=next((f.diagnosis for f in group if f.diagnosis), ""),
        figures=formatting.measured(seen) if seen and len(group) == 1 else "",
        example=first.counterexample or Counterexample(),
        replay=formatting.again(record, first.criterion, place) if ran else "",
        locations=tuple(dict.fromkeys(place for f in group for place in f.locations)),
        linked=f"{root.title} ({root.criterion})" if root else "",
        contradicted=tuple(dict.fromkeys(why[f.criterion] for f in group if f.criterion in why)),
    )


def labelled(fault: Weakness, without: str = "") -> Iterator[tuple[str, Inline | Code]]:
    """Yield the labels of a finding with their texts, as every format prints them.

    Args:
        without: an observation that stands elsewhere on the page.
    """
    for number, text in enumerate(text for text in fault.seen if text != without):
        yield "Also" if number else "Seen", text
    if fault.locations:
        yield "In", formatting.places(fault.locations)
    if fault.diagnosis:
        yield "Likeliest fault", fault.diagnosis
    if fault.linked:
        yield "Changes with the order of threads", fault.linked
    yield from (("Its prompt", text) for text in fault.contradicted)
    if fault.figures:
        yield "Measured", fault.figures
    yield from _input(fault.example)
    if fault.replay:
        yield "Run it again", code(fault.replay)


def told(fault: Weakness) -> Iterator[str]:
    """Yield the labels of a finding as lines of plain text, for files of other tools."""
    for label, value in labelled(fault):
        if isinstance(value, Code):
            yield from (f"{label}:", *value.text.split("\n"))
        else:
            yield f"{label}: {plain_text(value)}"


def _input(example: Counterexample) -> Iterator[tuple[str, Inline | Code]]:
    if example.probe or example.case:
        sizes = formatting.sizes(example)
        probe = (", probe ", code(example.probe)) if example.probe else ""
        first = "Failing input, after other calls" if example.after_others else "Smallest failing input found"
        yield "Drawn with" if example.program else first, (code(sizes) if sizes else "fixed sizes", probe)
    if values := formatting.values(example):
        yield "At", code(values)
    if example.program:
        first = "Program that failed after other calls" if example.after_others else "Shortest failing program found"
        yield first, Code("\n".join(map(on_a_line, example.program)))


def on_a_line(text: str) -> str:
    """Join lines, such as those of a compiler, so that they are still told apart."""
    return "; ".join(filter(None, map(str.strip, text.splitlines())))


def _observed(group: Sequence[Finding]) -> Iterator[str]:
    """Yield each observation of one fault once; those after the first finding are prefixed by their criterion."""
    listed: set[str] = set()
    for finding in group:
        further = (o.detail if o.title == finding.title else str(o) for o in finding.also)
        for text in map(on_a_line, filter(None, (finding.detail, *further))):
            if text not in listed:
                yield text if finding is group[0] else f"{finding.criterion}: {text}"
            listed.add(text)
