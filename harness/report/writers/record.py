"""One record for a terminal or a file, and as Markdown and CSV."""

import json
from collections.abc import Collection as Names
from collections.abc import Iterator
from itertools import chain, repeat

from rich.console import RenderableType, group
from rich.padding import Padding
from rich.text import Text

from harness.model import NO_ANSWER, Challenge, Evidence, Outcome, Record, Status
from harness.report import formatting
from harness.report.escape import code, markdown, plain
from harness.report.tables import csv_text, markdown_table, text_table
from harness.report.views.challenge import Ceiling, Failure, Weakness, ceilings, unassessed, weaknesses
from harness.report.views.credit import anchor_note
from harness.report.views.not_asked import asked, build_note, list_not_asked, not_asked_build
from harness.report.views.origins import origin_facts
from harness.report.views.repaired_copy import (
    RepairedCopyReport,
    RepairedFault,
    fault_lines,
    labelled_lines,
    repaired_copy_report,
)

_STYLE = {"passed": "green", "failed": "red", "critical": "bold", "judge error": "magenta"}

_BUILD = "Not asked, yet it decides whether anything could be run"
_DIMENSIONS = ("Dimension", "Weight", "Mark", "Interval", "Assessed")
_EVIDENCE = ("Criterion", "Severity", "Outcome", "Figures")


@group()
def show(
    challenge: Challenge, record: Record, unfetched: Names[str] = (), place: str = formatting.FOLDER
) -> Iterator[RenderableType]:
    """Lay a record out for a terminal.

    Args:
        unfetched: collections whose answers are not on this machine.
        place: arguments of `harness grade` that name a submission outside the workspace.
    """
    yield Text(f"{record.name}  ({formatting.provenance(record.provenance)})", style="bold")
    partly = record.overall.score is not None and record.overall.coverage < 1
    yield _line("Overall", formatting.standing(record.overall) + (" assessed" if partly else ""))
    if anchor := anchor_note(challenge, record):
        yield _line("Anchor", anchor)
    yield from (_line(label, text) for label, text in origin_facts(record, unfetched))
    if record.status is not Status.GRADED:
        status = record.build.title if record.build else formatting.status(record.status)
        yield _line("Status", ". ".join(filter(None, (status, build_note(record)))))
    if record.error:
        yield _line("Our fault", record.error)
    for ceiling in ceilings(challenge, record):
        yield _line("Gate", _ceiling(ceiling))
    yield _title("Dimensions")
    yield text_table(_DIMENSIONS, _dimension_rows(challenge, record))
    if found := weaknesses(challenge, record, place):
        yield _title("Findings, the gravest first")
        for number, weakness in enumerate(found, 1):
            yield from _weakness(number, weakness)
    if behind := repaired_copy_report(record):
        yield from _repaired(behind)
    yield _title("Evidence")
    yield _line("Criteria", _sum_up(record)) if record.unanswered else _evidence(record)
    if groups := unassessed(challenge, record):
        yield _title("Not assessed")
        yield from (_item(f"{', '.join(group.criteria)}: {group.reason}") for group in groups)
    if build := not_asked_build(challenge, record):
        yield _title(_BUILD)
        yield from (_item(f"{each.criterion}: {each.seen}; {each.reason}. {each.copy}") for each in build)
    if beside := list_not_asked(challenge, record):
        yield _title("Also seen, not asked by the original prompt (no mark)")
        yield from (_item(f"{each.criterion}: {each.seen}; {each.reason}") for each in beside)
    if record.remarks:
        yield _title("Remarks (no mark)")
        yield from (_item(remark) for remark in record.remarks)
    yield _title("Made")
    yield from _made(record, place)


def _ceiling(ceiling: Ceiling) -> str:
    return f"{ceiling.target} at most {ceiling.ceiling}: {ceiling.reason}"


def _dimension_rows(challenge: Challenge, record: Record) -> Iterator[tuple[str, ...]]:
    for dimension in challenge.dimensions:
        mark = record.dimensions.get(dimension.id)
        if mark is None:
            cells = (formatting.missing_mark(challenge, dimension.id, record), "", "")
        elif mark.score is None:
            cells = (formatting.NOT_ASSESSED, "", "")
        else:
            cells = (formatting.mark(mark.score), formatting.interval(mark), formatting.percent(mark.coverage))
        yield dimension.title, formatting.number(dimension.weight), *cells


def _weakness(number: int, weakness: Weakness) -> Iterator[RenderableType]:
    yield _heading(f"{number}. ", weakness)
    for label, seen in zip(chain(("Seen",), repeat("Also")), weakness.seen, strict=False):
        yield _line(label, _on_a_line(seen))
    if weakness.locations:
        yield _line("In", formatting.places(weakness.locations))
    yield from (_line(label, text) for label, text in _causes(weakness))
    if weakness.failure is not None:
        yield from _failure(weakness.failure)


def _causes(weakness: Weakness) -> Iterator[tuple[str, str]]:
    if weakness.diagnosis:
        yield "Likeliest fault", weakness.diagnosis
    if weakness.linked:
        yield "Changes with the order of threads", weakness.linked
    yield from (("Its prompt", text) for text in weakness.contradicted)


def _repaired(behind: RepairedCopyReport) -> Iterator[RenderableType]:
    yield _title(behind.heading)
    yield from (_line(label, text) for label, text in labelled_lines(behind))
    for fault in behind.faults:
        yield Padding(_heading("- ", fault), (0, 0, 0, 2), expand=False)
        yield from (Padding(_line(label, text), (0, 0, 0, 2), expand=False) for label, text in fault_lines(fault))


def _heading(bullet: str, fault: Weakness | RepairedFault) -> Text:
    criteria = f"  ({fault.weight}: {', '.join(fault.criteria)})"
    return Text.assemble(bullet, (plain(fault.title), "bold"), criteria)


def _on_a_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines())


def _failure(failure: Failure) -> Iterator[RenderableType]:
    example, seed = failure.example, "none" if failure.seed is None else failure.seed
    if example.case or example.probe:
        sizes = formatting.sizes(example) or "fixed sizes"
        yield _line(formatting.input_label(example), f"{sizes}, probe {example.probe}, seed {seed}")
    if values := formatting.values(example):
        yield _line("At", values)
    if example.program:
        yield _line(formatting.program_label(example), "")
        yield from (Padding(Text(plain(call)), (0, 0, 0, 4), expand=False) for call in example.program)
    yield _line("Run it again", failure.replay)


def _evidence(record: Record) -> RenderableType:
    rows = map(_evidence_row, asked(record))
    return text_table(_EVIDENCE, ([Text(plain(cell), style=_STYLE.get(cell, "")) for cell in row] for row in rows))


def _sum_up(record: Record) -> str:
    return f"none of {len(asked(record))} is met, because {NO_ANSWER}"


def _evidence_row(item: Evidence) -> tuple[str, str, str, str]:
    held = f"{formatting.uncredited(item)} while {item.rests_on} fails"
    text = held if item.rests_on else formatting.measured(item)
    return item.criterion, item.severity.value, formatting.outcome(item), text


def _made(record: Record, place: str) -> Iterator[RenderableType]:
    where = record.environment
    packages = ", ".join(f"{name} {version}" for name, version in sorted(where.packages.items()))
    counts = "" if record.ranked else " (not counted in ranks)"
    yield _line("When", f"{formatting.when(record.made)}, seed {record.seed}{counts}")
    held, device = formatting.isolation(where), formatting.device(where)
    yield _line("Where", f"{held}, device {device}, {where.cpu}, {where.platform}")
    yield _line("With", f"harness {where.harness}, Python {where.python}, {packages}")
    yield _line("Limits", formatting.limits(record.limits))
    if record.seconds:
        yield _line("Took", formatting.took(record.seconds))
    yield _line("Key", record.key)
    if any(e.seed is not None and e.outcome is not Outcome.NOT_RUN for e in record.evidence):
        yield _line("Run a criterion again", formatting.again(record, "CRITERION", place))


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _line(label: str, text: object) -> Padding:
    line = Text(f"{label}: ", style="dim")
    line.append(plain(text), style="not dim")
    return Padding(line, (0, 0, 0, 2), expand=False)


def _item(text: object) -> Padding:
    return Padding(Text(f"- {plain(text)}"), (0, 0, 0, 2), expand=False)


def shown_csv(record: Record) -> str:
    """Write a line per criterion; the share met runs from 0 to 1, figures are a JSON object."""
    faults = {f.criterion: f.title for f in record.findings}
    titles = ("criterion", "dimension", "severity", "outcome", "met", "figures", "seed", "fault", "detail", "diagnosis")
    return csv_text(titles, (_csv_row(item, faults.get(item.criterion)) for item in record.evidence))


def _csv_row(item: Evidence, fault: str | None) -> list[object]:
    figures = json.loads(item.model_dump_json(include={"measured"}))["measured"]
    met = item.satisfied if item.outcome.assessed else None
    return [
        item.criterion,
        item.dimension,
        item.severity.value,
        item.outcome.value,
        met,
        json.dumps(figures) if figures else None,
        item.seed,
        fault,
        item.detail or None,
        item.diagnosis.words if item.diagnosis else None,
    ]


def shown_markdown(challenge: Challenge, record: Record, unfetched: Names[str] = ()) -> str:
    """Write marks, gates, findings and evidence as a page of Markdown."""
    text = formatting.standing(record.overall)
    gates = [f"* Gate: {markdown(_ceiling(each))}" for each in ceilings(challenge, record)]
    origin = [f"* {label}: {markdown(text)}" for label, text in origin_facts(record, unfetched)]
    parts = [
        f"# {markdown(record.name)}",
        f"{markdown(formatting.provenance(record.provenance)).capitalize()}. Overall: **{markdown(text)}**.",
        *([f"Anchor: {markdown(anchor)}"] if (anchor := anchor_note(challenge, record)) else []),
        *(["\n".join(origin)] if origin else []),
        *(["\n".join(gates)] if gates else []),
        "## Dimensions",
        markdown_table(_DIMENSIONS, _dimension_rows(challenge, record)),
    ]
    if found := weaknesses(challenge, record):
        parts += ["## Findings, the gravest first", *map(_weakness_markdown, found)]
    if behind := repaired_copy_report(record):
        parts += [f"## {behind.heading}", "\n".join(_repaired_markdown(behind))]
    every = None if record.unanswered else markdown_table(_EVIDENCE, map(_evidence_row, asked(record)))
    parts += ["## Evidence", every or f"Criteria: {_sum_up(record)}."]
    if build := not_asked_build(challenge, record):
        copies = ((each.criterion, each.seen, each.reason, each.copy) for each in build)
        parts += [f"## {_BUILD}", markdown_table(("Criterion", "Seen", "Not asked", "Repaired copy"), copies)]
    if beside := list_not_asked(challenge, record):
        rows = ((each.criterion, each.seen, each.reason) for each in beside)
        parts += ["## Also seen, not asked (no mark)", markdown_table(("Criterion", "Seen", "Not asked"), rows)]
    if groups := unassessed(challenge, record):
        listed = (f"* {markdown(', '.join(g.criteria))}: {markdown(g.reason)}" for g in groups)
        parts += ["## Not assessed", "\n".join(listed)]
    made = (
        f"Made {formatting.when(record.made)} in {formatting.isolation(record.environment)}, seed {record.seed}, "
        f"key {record.key}."
    )
    return "\n\n".join([*parts, str(markdown(made))]) + "\n"


def _repaired_markdown(behind: RepairedCopyReport) -> Iterator[str]:
    yield from (f"* {label}: {markdown(text)}" for label, text in labelled_lines(behind))
    for fault in behind.faults:
        yield _heading_markdown(fault)
        yield from (f"  * {label}: {markdown(text)}" for label, text in fault_lines(fault))


def _heading_markdown(fault: Weakness | RepairedFault) -> str:
    weighs = f"{fault.weight}: {', '.join(fault.criteria)}"
    return f"* **{markdown(fault.title)}** ({markdown(weighs)})"


def _weakness_markdown(weakness: Weakness) -> str:
    lines = [_heading_markdown(weakness)]
    lines += [f"  * {markdown(_on_a_line(seen))}" for seen in weakness.seen]
    if weakness.locations:
        lines.append(f"  * In {markdown(formatting.places(weakness.locations))}")
    lines += [f"  * {label}: {markdown(text)}" for label, text in _causes(weakness)]
    if weakness.failure is not None:
        if program := weakness.failure.example.program:
            lines.append(f"  * After {'; '.join(map(code, program))}")
        lines.append(f"  * Run it again: {code(weakness.failure.replay)}")
    return "\n".join(lines)
