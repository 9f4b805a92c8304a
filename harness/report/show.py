"""One record for a terminal: plain lines in a file, colour where there is some."""

from collections.abc import Iterator
from itertools import chain, repeat

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.model import Challenge, Outcome, Record, Status
from harness.report import words
from harness.report.contexts import Ceiling, Failure, Weakness, ceilings, unassessed, weaknesses
from harness.report.escape import plain

_STYLE = {
    "passed": "green",
    "failed": "red",
    "critical": "bold",
    "judge error": "magenta",
}


def show(challenge: Challenge, record: Record) -> RenderableType:
    """Everything a record holds that a reader wants to see.

    Args:
        challenge: the rubric, for its titles.
        record: the grade of one submission.
    """
    return Group(*_parts(challenge, record))


def _parts(challenge: Challenge, record: Record) -> Iterator[RenderableType]:
    yield Text(f"{record.name}  ({words.provenance(record.provenance)})", style="bold")
    yield _line("Overall", words.standing(record.overall) + ("" if record.overall.score is None else " assessed"))
    if record.status is not Status.GRADED:
        yield _line("Status", words.status(record.status))
    if record.error:
        yield _line("Our fault", record.error)
    for ceiling in ceilings(challenge, record):
        yield from _ceiling(ceiling)
    yield _title("Dimensions")
    yield _dimensions(challenge, record)
    found = weaknesses(challenge, record)
    if found:
        yield _title("Findings, the gravest first")
        for number, weakness in enumerate(found, 1):
            yield from _weakness(number, weakness)
    yield _title("Evidence")
    yield _evidence(record)
    yield from _unassessed(challenge, record)
    if record.remarks:
        yield _title("Remarks (no mark)")
        yield from (_item(remark) for remark in record.remarks)
    yield _title("Made")
    yield from _made(record)


def _ceiling(ceiling: Ceiling) -> Iterator[RenderableType]:
    yield _line("Gate", f"{ceiling.target} at most {ceiling.ceiling}: {ceiling.reason}")


def _dimensions(challenge: Challenge, record: Record) -> Table:
    table = _table("Dimension", "Weight", "Mark", "Interval", "Assessed")
    for dimension in challenge.dimensions:
        mark = record.dimensions.get(dimension.id)
        if mark is None or mark.score is None:
            cells = [words.NOT_ASSESSED, "", ""]
        else:
            cells = [words.mark(mark.score), words.interval(mark), words.percent(mark.coverage)]
        table.add_row(*(Text(cell) for cell in (dimension.title, words.number(dimension.weight), *cells)))
    return table


def _weakness(number: int, weakness: Weakness) -> Iterator[RenderableType]:
    heading = Text(f"{number}. ")
    heading.append(plain(weakness.title), style="bold")
    heading.append(f"  ({weakness.weight}: {', '.join(weakness.criteria)})")
    yield heading
    for label, seen in zip(chain(("Seen",), repeat("Also")), weakness.seen, strict=False):
        yield _line(label, "; ".join(line.strip() for line in seen.splitlines()))
    if weakness.diagnosis:
        yield _line("Likeliest fault", weakness.diagnosis)
    if weakness.failure is not None:
        yield from _failure(weakness.failure)


def _failure(failure: Failure) -> Iterator[RenderableType]:
    if failure.sizes or failure.probe:
        drawn = (failure.sizes or "fixed sizes", f"probe {failure.probe}", f"seed {failure.seed or 'none'}")
        yield _line("Smallest failing input", ", ".join(drawn))
    if failure.values:
        yield _line("At", failure.values)
    yield _line("Run it again", failure.replay)


def _evidence(record: Record) -> Table:
    table = _table("Criterion", "Severity", "Outcome", "Figures")
    for item in record.evidence:
        outcome = words.outcome(item)
        told = words.figures(item.measured)
        if item.rests_on:
            told = f"earns nothing while {item.rests_on} fails"
        table.add_row(
            Text(item.criterion),
            Text(item.severity.value, style=_STYLE.get(item.severity.value, "")),
            Text(outcome, style=_STYLE.get(outcome, "")),
            Text(plain(told)),
        )
    return table


def _unassessed(challenge: Challenge, record: Record) -> Iterator[RenderableType]:
    groups = unassessed(challenge, record)
    if groups:
        yield _title("Not assessed")
        yield from (_item(f"{', '.join(group.criteria)}: {group.reason}") for group in groups)


def _made(record: Record) -> Iterator[RenderableType]:
    where = record.environment
    packages = ", ".join(f"{name} {version}" for name, version in sorted(where.packages.items()))
    counts = "" if record.ranked else " (not counted in ranks)"
    yield _line("When", f"{record.made}, seed {record.seed}{counts}")
    yield _line("Where", f"tier {where.tier}, device {where.device}, {where.cpu}, {where.platform}")
    yield _line("With", f"harness {where.harness}, Python {where.python}, {packages}")
    yield _line("Limits", words.limits(record.limits))
    yield _line("Took", words.took(record.seconds))
    yield _line("Key", record.key)
    if any(e.seed is not None and e.outcome is not Outcome.NOT_RUN for e in record.evidence):
        yield _line("Run a criterion again", f"harness replay {record.name} CRITERION")


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _line(label: str, text: object) -> Padding:
    line = Text(f"{label}: ", style="dim")
    line.append(plain(text), style="not dim")
    return Padding(line, (0, 0, 0, 2), expand=False)


def _item(text: object) -> Padding:
    return Padding(Text(f"- {plain(text)}"), (0, 0, 0, 2), expand=False)
