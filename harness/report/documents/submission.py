"""One submission: what is wrong with it first, then its marks and criteria, then how the grade was made."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from harness.model import NO_ANSWER, Challenge, Evidence, Outcome, Record, Review, Severity, Status
from harness.report import document as doc
from harness.report import formatting
from harness.report.documents.attempts import attempts_blocks
from harness.report.documents.reviews import review_blocks
from harness.report.views import submission as view
from harness.report.views.answers import ModelAnswer
from harness.report.views.attempts import attempts_report
from harness.report.views.criterion_sides import KINDS
from harness.report.views.excerpts import excerpts
from harness.report.views.finding import Weakness, labelled, on_a_line, weaknesses
from harness.report.views.origins import origin_facts

TERMS = "Our adapter, what is not charged, and how to contest a finding"
BESIDE = "not asked by the original prompt (in no mark, gate, rank or comparison)"
MOST_NAMED = 20
"""Most criteria named that a submission meets, where naming what it misses says the same."""


@dataclass(frozen=True)
class Surroundings:
    """The context of a submission on a page, beside its record.

    Attributes:
        reviews: reviews of any submissions.
        unfetched: collections whose answers are not on this machine.
        files: texts of the submission's files that findings name.
        place: arguments that name a submission outside the workspace.
        evidence: true to list every criterion.
        made: true to say when and where the grade was made.
        links: true for ids that other parts of the page lead to.
        alone: false if the page says once for all submissions what several share.
    """

    reviews: Iterable[Review] = ()
    unfetched: Names[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    place: str = formatting.FOLDER
    evidence: bool = True
    made: bool = True
    links: bool = False
    alone: bool = True


def show_document(
    challenge: Challenge, record: Record, unfetched: Names[str] = (), place: str = formatting.FOLDER
) -> tuple[doc.Block, ...]:
    """Return the page of one record."""
    around = Surroundings(unfetched=unfetched, place=place)
    return (doc.Heading(record.name, 1), *submission_blocks(challenge, ModelAnswer((record,)), around))


def submission_blocks(
    challenge: Challenge, answer: ModelAnswer, around: Surroundings, level: int = 2
) -> Iterator[doc.Block]:
    """Yield everything about a submission, below its title.

    Args:
        level: of the headings.
    """
    record = answer.shown
    yield doc.Facts(tuple(_standing(challenge, answer)))
    if around.links and not around.made and record.origin:
        yield doc.Fold(TERMS, (doc.Facts(origin_facts(record, around.unfetched)),))
    if answer.attempts:
        yield from attempts_blocks(attempts_report(challenge, answer.attempts), level)
        others = doc.code(f"harness show {record.model}/{record.challenge}/attempt-N")
        middle = ", the middle attempt by mark; the others: "
        yield doc.Paragraph(("What follows is about ", doc.code(record.name), middle, others, "."), "small")
    yield from _unbuilt(record)
    yield from doc.section("Findings, the gravest first", *_findings(challenge, record, around), level=level)
    yield from doc.section("Gates", doc.List(tuple(view.gates(challenge, record))), level=level)
    yield from doc.section(view.COPY, *_repaired(record), level=level)
    yield from _list_unasked(challenge, record, around.alone, level)
    yield from doc.section("What reviewers said", *review_blocks(challenge, record, around.reviews), level=level)
    if not around.alone:
        yield from doc.section("Does well", *_list_strengths(record), level=level)
    if around.evidence:
        yield from doc.section("Dimensions", _dimensions(challenge, record), level=level)
        yield from doc.section("Every criterion", _evidence(challenge, record), level=level)
    if not record.unanswered:
        title = "Without credit or not assessed" if around.alone else "Without credit"
        yield from doc.section(title, _without(challenge, record, around.alone), level=level)
    yield from doc.section("Remarks (no mark)", doc.List(record.remarks), level=level)
    if around.made:
        yield made(record, around)


def _standing(challenge: Challenge, answer: ModelAnswer) -> Iterator[tuple[str, doc.Inline]]:
    record, overall = answer.shown, answer.marked.overall
    partly = overall.score is not None and overall.coverage < 1
    yield "Overall", doc.strong(formatting.standing(overall) + (" assessed" if partly else ""))
    yield "Provenance", formatting.provenance(answer.marked.provenance)
    if not answer.attempts and (critical := view.critical_met(record))[1]:
        yield "Critical criteria met", f"{critical[0]} of {critical[1]}"
    if anchor := view.anchor_note(challenge, record):
        yield "Anchor", anchor
    if record.status is not Status.GRADED:
        status = record.build.title if record.build else formatting.status(record.status)
        yield "Status", ". ".join(filter(None, (status, view.build_note(record))))


def _list_strengths(record: Record) -> Iterator[doc.Block]:
    passed = [e for e in record.marked if e.outcome is Outcome.PASSED]
    kinds = (("Holds", False), ("Holds, in smaller things", True))
    found = (
        (label, [e.criterion for e in passed if (e.severity is Severity.MINOR) is minor]) for label, minor in kinds
    )
    facts = tuple((label, doc.codes(ids)) for label, ids in found if ids)
    missed = [e.criterion for e in record.marked if e.outcome.assessed and e.outcome is not Outcome.PASSED]
    if len(passed) > MOST_NAMED and len(missed) < 2:
        but = doc.joined((f"all {len(passed) + len(missed)} criteria assessed", *map(doc.code, missed)), " but ")
        yield doc.Facts((("Holds", but),))
    elif facts:
        yield doc.Facts(facts)
    elif not record.error:
        yield doc.Paragraph("Nothing was seen to hold.")


def _unbuilt(record: Record) -> Iterator[doc.Block]:
    if record.error:
        why = "its reply could not be read with certainty" if record.unread else "the harness failed"
        yield doc.Paragraph(f"Not graded because {why}, which counts neither for nor against it:")
        yield doc.Code(record.error)
    if record.build and record.build.detail:
        told = f"It {record.build.title}, so nothing it computes was seen. In the words of the interpreter or compiler:"
        yield doc.Paragraph("The reply holds no answer, so nothing was run:" if record.unanswered else told)
        yield doc.Code(record.build.detail)


def _findings(challenge: Challenge, record: Record, around: Surroundings) -> Iterator[doc.Block]:
    found = weaknesses(challenge, record, around.place)
    build = on_a_line(record.build.detail) if record.build else ""
    if found:
        yield doc.List(
            tuple(_finding(record, n, each, around, build) for n, each in enumerate(found, 1)), numbered=True
        )
    elif not record.error:
        yield doc.Paragraph("No weakness was seen.")


def _finding(record: Record, number: int, fault: Weakness, around: Surroundings, build: str) -> doc.ListItem:
    # a colon, which no identifier has, keeps it apart from dimensions
    id = f"{record.model}/{record.challenge}/finding:{number}" if around.links else ""
    return doc.ListItem(
        headed(fault.title, fault.weight, fault.criteria),
        (doc.Facts(tuple(labelled(fault, build))), *quoted(fault, around.files)),
        id,
    )


def quoted(fault: Weakness, files: Mapping[str, str]) -> Iterator[doc.Code]:
    """Yield the lines around the places of a finding, as far as `files` has them."""
    for each in excerpts(fault.locations, files):
        yield doc.Code(each.text, f"{each.path}, line {each.number}", each.first, frozenset({each.number}))


def headed(title: str, weight: str, criteria: Iterable[str]) -> doc.Inline:
    """Return the head of a finding: its title, weight and criteria."""
    return (doc.strong(title), " (", doc.TextRun(weight, "badge"), ": ", doc.codes(criteria), ")")


def criterion_place(record: Record, dimension: str, criterion: str = "") -> doc.LinkTarget:
    """Return where a submission's criterion, or dimension, stands on the page of everything."""
    return doc.LinkTarget("/".join(filter(None, (record.model, record.challenge, dimension, criterion))))


def _repaired(record: Record) -> Iterator[doc.Block]:
    copy = record.repaired
    if copy is None:
        return
    repairs = (
        (f"{'Then repaired' if n else 'Repaired'}", f"{r.kind.fault}: {r.words}") for n, r in enumerate(copy.repairs)
    )
    held = [e.criterion for e in copy.evidence if e.outcome is Outcome.PASSED]
    unseen = [e.criterion for e in copy.evidence if not e.outcome.assessed]
    lists = (("Nothing of it ran", copy.detail), ("Holds", doc.codes(held)), ("Not assessed", doc.codes(unseen)))
    yield doc.Facts((*repairs, *((label, text) for label, text in lists if text)))
    faults = tuple(
        doc.ListItem(
            headed(each.title, f"{each.weight}{_unasked_of(record, each.criteria)}", each.criteria),
            (
                doc.Facts(
                    tuple((k, v) for k, v in (("Seen", on_a_line(each.seen)), ("Likeliest fault", each.diagnosis)) if v)
                ),
            ),
        )
        for each in view.repaired_faults(record)
    )
    yield doc.List(faults)


def _unasked_of(record: Record, criteria: Names[str]) -> str:
    """Return a remark on criteria that the original prompt did not ask for."""
    return ", not asked" if record.origin and all(id in record.origin.not_asked for id in criteria) else ""


def _without(challenge: Challenge, record: Record, open_too: bool) -> doc.List:
    unseen = view.not_assessed(challenge, record) if open_too else {}
    found = (*view.without_credit(record), *((f"Not assessed: {why}", ids) for why, ids in unseen.items()))
    return doc.List(tuple((f"{why}: ", doc.codes(ids), ".") for why, ids in found))


def _list_unasked(challenge: Challenge, record: Record, all_of_them: bool, level: int) -> Iterator[doc.Block]:
    every = view.list_not_asked(challenge, record)
    copy = f" {view.copy_note(record)}" if record.build else ""
    title = "Not asked, yet it decides whether anything could be run"
    yield from doc.section(title, doc.List(tuple(_unasked(each, copy) for each in every if each.builds)), level=level)
    rest = doc.List(tuple(_unasked(each) for each in every if not each.builds and all_of_them))
    yield from doc.section(f"Also seen, {BESIDE}", rest, level=level)


def _unasked(each: view.NotAsked, note: str = "") -> doc.Inline:
    return (doc.code(each.criterion), f": {each.seen}. Not asked: ", each.reason, f".{note}")


def _dimensions(challenge: Challenge, record: Record) -> doc.Table:
    def line(id: str) -> tuple[str, str, str]:
        mark = record.dimensions.get(id)
        if mark is None or mark.score is None:
            missing = formatting.missing_mark(challenge, id, record) if mark is None else formatting.NOT_ASSESSED
            return missing, "", ""
        return formatting.mark(mark.score), formatting.interval(mark), formatting.percent(mark.coverage)

    lines = ((d.title, formatting.number(d.weight), *line(d.id)) for d in challenge.dimensions)
    return doc.table(("Dimension", "Weight", "Mark", "Interval", "Assessed"), lines, "Dimensions")


def _evidence(challenge: Challenge, record: Record) -> doc.Block:
    every = view.asked(record)
    if record.unanswered:
        return doc.Paragraph(f"Criteria: none of {len(every)} is met, because {NO_ANSWER}.")
    lines = (doc.TableRow(tuple(_criterion(e)), id=criterion_place(record, e.dimension, e.criterion).id) for e in every)
    return replace(doc.table(("Criterion", "Severity", "Outcome", "Figures"), (), "Criteria"), rows=tuple(lines))


def _criterion(item: Evidence) -> Iterator[doc.Inline | doc.Cell]:
    severity = item.severity.value
    yield doc.code(item.criterion)
    yield doc.TextRun(severity, "strong") if item.severity is Severity.CRITICAL else severity
    kind = "" if item.rests_on else KINDS.get(item.outcome, "open")
    yield doc.Cell((formatting.outcome(item),), kind=kind)
    yield f"while {item.rests_on} fails" if item.rests_on else formatting.measured(item)


def made(record: Record, around: Surroundings) -> doc.Fold:
    """Say where a submission comes from, and when, where and with what it was graded."""
    where = record.environment
    packages = ", ".join(f"{name} {version}" for name, version in sorted(where.packages.items()))
    counts = "" if record.ranked else " (not counted in ranks)"
    device = formatting.device(where)
    facts: list[tuple[str, doc.Inline]] = [
        *origin_facts(record, around.unfetched),
        ("When", f"{formatting.when(record.made)}, seed {record.seed}{counts}"),
        ("Where", f"{formatting.isolation(where)}, device {device}, {where.cpu}, {where.platform}"),
        ("With", f"harness {where.harness}, Python {where.python}, {packages}"),
        ("Limits", formatting.limits(record.limits)),
        *([("Took", formatting.took(record.seconds))] if record.seconds else []),
        ("Key", record.key),
    ]
    if any(e.seed is not None and e.outcome is not Outcome.NOT_RUN for e in record.evidence):
        facts.append(("Run a criterion again", doc.code(formatting.again(record, "CRITERION", around.place))))
    brief: list[tuple[str, doc.Inline]] = [
        *facts[: record.origin is not None],
        (
            "Graded",
            f"{formatting.when(record.made)}, seed {record.seed}{counts}, {formatting.isolation(where)}, "
            f"device {device}, harness {where.harness}",
        ),
        *_adapter(record),
        *facts[-1:],
        (
            f"All of this{', and how to contest a finding' if record.origin else ''}",
            doc.code(f"harness show {record.name} --format md"),
        ),
    ]
    shown = None if record.outside else (doc.Heading("Made"), doc.Facts(tuple(brief)))
    return doc.Fold("Where it comes from, and how it was graded", (doc.Facts(tuple(facts)),), brief=shown)


def _adapter(record: Record) -> Iterator[tuple[str, doc.Inline]]:
    """Name the adapter of a published answer on a line."""
    if origin := record.origin:
        count = len(origin.not_charged)
        free = f"; {count} {'criteria are' if count > 1 else 'criterion is'} not charged" if count else ""
        yield "Our adapter", f"{origin.adapter} for {origin.folder}, no line of it counted{free}"
