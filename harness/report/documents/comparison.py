"""Two models side by side: who wins each challenge and why, and the criteria that tell them apart."""

from collections.abc import Iterator

from harness.model import Status
from harness.report import document as doc
from harness.report import formatting
from harness.report.views.attempts import mean_of, passed
from harness.report.views.comparison import ChallengeComparison, ModelComparison
from harness.report.views.criterion_sides import CriterionSide
from harness.report.views.head_to_head import HeadToHeadReport, HeadToHeadSection
from harness.report.views.mark_source import MarkSource

DRAWN = "where N are right, a fault in about 3 of N such cases would be missed once in 20 times"
"""Confidence of drawn cases; printed once, not per row."""
TALLY = "Tally of all challenges that both answered"
"""Heading of the tally; that of the scoreboard leaves out challenges that count in no rank."""


def comparison_document(compared: ModelComparison) -> Iterator[doc.Block]:
    """Yield the page of two models."""
    yield doc.Heading(f"{compared.left} against {compared.right}", 1)
    for shared in compared.challenges:
        yield doc.Heading(f"{shared.challenge.title} ({shared.challenge.id})")
        yield doc.table(_mark_titles(shared), _marks(shared), f"Marks on {shared.challenge.title}")
        yield doc.Paragraph(shared.result)
        titles = ("Criterion", "Severity", compared.left, compared.right, "Ahead")
        told = doc.table(titles, _apart(shared), f"Criteria of {shared.challenge.title}")
        yield from doc.section("What tells them apart", told, level=3)
        for label, ids in _lists(shared):
            yield doc.Paragraph((f"{label}: ", ", ".join(ids), "."))
    yield from doc.section(TALLY, _tally(compared))


def _mark_titles(shared: ChallengeComparison) -> list[str]:
    return ["Mark", *(f"{a.model} ({formatting.provenance(a.marked.provenance)})" for a in (shared.left, shared.right))]


def _marks(shared: ChallengeComparison) -> Iterator[list[str]]:
    pair = (shared.left, shared.right)
    yield ["Overall", *(formatting.standing(a.marked.overall) for a in pair)]
    if any(a.attempts for a in pair):
        yield ["Over", *(mean_of(a.attempts) if a.attempts else "a single answer" for a in pair)]
        yield ["Pass", *(passed(a.attempts) if a.attempts else "" for a in pair)]
    for dimension in shared.challenge.dimensions:
        id = dimension.id
        marks = [formatting.dimension(shared.challenge, id, a.shown, a.marked.dimensions.get(id)) for a in pair]
        yield [dimension.title, *marks]
    if any(a.marked.status is not Status.GRADED for a in pair):
        yield ["Status", *(formatting.status(a.marked.status) for a in pair)]


def _apart(shared: ChallengeComparison) -> Iterator[list[str]]:
    seen: tuple[dict[str, str], dict[str, str]] = {}, {}
    for row in shared.apart:
        c = row.criterion
        texts = [_text_once(side, c.id, known) for side, known in zip((row.left, row.right), seen, strict=True)]
        yield [c.id, c.severity.value, *texts, shared.ahead(row)]


def _text_once(side: CriterionSide, criterion: str, seen: dict[str, str]) -> str:
    """Return the text of a side; a fault known from an earlier row in `seen` is named by that row's criterion."""
    first = seen.setdefault(side.fault, criterion)
    return side.text_of(side.fault if first == criterion or not side.fault else f"as {first}")


def _lists(shared: ChallengeComparison) -> Iterator[tuple[str, tuple[str, ...]]]:
    for label, ids in (
        ("Both miss", shared.unmet),
        ("Both meet in part", shared.half_met),
        ("Assessed on one of them only", shared.one_sided),
        ("Drawn cases", (DRAWN,) if any(row.drawn for row in shared.apart) else ()),
    ):
        if ids:
            yield label, ids


def _tally(compared: ModelComparison) -> doc.Table:
    lines = []
    for shared in compared.challenges:
        one = shared.duel
        winner = (one.winner or "split") if one.played else "no duel"
        lines.append((shared.challenge.id, formatting.mark(one.left_mark), formatting.mark(one.right_mark), winner))
    left, right = compared.tally
    leader = "even" if left == right else compared.left if left > right else compared.right
    lines.append(("won", formatting.number(left), formatting.number(right), leader))
    return doc.table(("Challenge", compared.left, compared.right, "Winner"), lines, "Tally")


def head_to_head_page(match: HeadToHeadReport) -> Iterator[doc.Block]:
    """Yield the page of two models in the reports, by the marks of one source."""
    published, left, right = match.source is MarkSource.PUBLISHED, match.left, match.right
    yield doc.Heading(f"{left} and {right}", 1)
    if published:
        judged = "What a published judge wrote, who read the answers and did not run them: winners, rows and edges are"
        measured = doc.LinkTarget("", f"head_to_head/{left}_vs_{right}.md")
        yield doc.Paragraph(
            (f"{judged} the judge's own. What ran: ", doc.TextRun("the same two, measured", to=measured), ".")
        )
    else:
        first, second = match.provenance
        both = "Compared on the criteria that both were assessed on."
        yield doc.Paragraph(f"{both} {left}: {first}; {right}: {second}.")
    page = f"{'published/' if published else ''}{formatting.pair_page(left, right)}"
    uncounted = ", ".join(s.challenge.title for s in match.sections if not s.counted)
    beside = f" Not counted, as on the scoreboard: {uncounted}." if uncounted else ""
    yield doc.Paragraph((doc.strong(match.tally), f": {match.summary}. A split counts half for each.{beside}"))
    lines = (
        (
            doc.link(s.challenge.title, page, s.challenge.title),
            s.left,
            s.right,
            f"{s.winner}{'' if s.counted else ' (not counted)'}",
        )
        for s in match.sections
    )
    yield doc.table(("Challenge", left, right, "Winner"), lines, "Challenges")
    for part in match.sections:
        yield doc.Heading(part.challenge.title)
        yield from _bout(match, part)


def _bout(match: HeadToHeadReport, part: HeadToHeadSection) -> Iterator[doc.Block]:
    page = doc.link(part.challenge.title, f"{part.challenge.id}.md")
    evidence = () if match.source is MarkSource.PUBLISHED else (" The evidence: ", page, ".")
    yield doc.Paragraph((f"{part.why} {part.edges}", *evidence))
    lines = (
        (line.criterion, line.left, line.right, f"{line.edge or 'level'}{f' ({line.note})' if line.note else ''}")
        for line in part.lines
    )
    yield doc.table(("Criterion", match.left, match.right, "Edge"), lines, f"Criteria of {part.challenge.title}")
    for label, ids in (
        ("Alike", part.alike),
        ("Not compared, for it was not assessed, not asked or not charged for one of them", part.open),
    ):
        if ids:
            yield doc.Paragraph((f"{label}: ", doc.codes(ids), "."))
