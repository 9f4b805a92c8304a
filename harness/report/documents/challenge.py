"""One challenge: who leads and why, the gravest findings, every model, and the criteria side by side."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.model import Challenge, ErrorRatioScale, Review, Severity
from harness.numerics import FULL, PASS
from harness.report import document as doc
from harness.report import formatting
from harness.report.documents.attempts import HOW, attempts_table
from harness.report.documents.marks import mark_cell, notes_block
from harness.report.documents.submission import TERMS, Surroundings, criterion_place, submission_blocks
from harness.report.figures.series import error_ratios
from harness.report.views.answers import ModelAnswer
from harness.report.views.attempts import attempts_report
from harness.report.views.challenge import ChallengeReport
from harness.report.views.criteria import CriterionRow
from harness.report.views.criterion_sides import CriterionSide
from harness.report.views.excerpts import Sources
from harness.report.views.origins import origin_facts
from harness.report.views.submission import grouped, not_assessed

ROUNDING = "what rounding the inputs alone would cost"
"""Divisor of an error ratio, unless the challenge has its own."""
GROUPS = (
    ("Passed", ("passed",)),
    ("In part", ("part", "unoffered")),
    ("Failed", ("failed", "lost")),
    ("Not assessed", ("open",)),
    ("Not asked or charged", ("unasked",)),
)
"""Columns of criteria, each with the kinds of outcome in it."""
SHAPES = {"passed": "✓", "part": "◐", "failed": "✕", "lost": "✕", "unoffered": "–", "open": "·", "unasked": "○"}
"""Signs of outcomes, for readers who see no colours."""


def challenge_page(report: ChallengeReport, reviews: Sequence[Review], unfetched: Iterable[str]) -> Iterator[doc.Block]:
    """Yield the page of one challenge."""
    challenge, around = report.challenge, Surroundings(reviews, evidence=False, made=False, alone=False)
    yield doc.Heading(challenge.title, 1)
    yield doc.Paragraph(challenge.summary)
    yield _verdict(report)
    yield doc.Paragraph((_counts(report), doc.link("scoreboard", "scoreboard.md"), "."), "small")
    yield from notes_block(report.notes)
    yield from doc.section("At a glance", _glance(report))
    several = [attempts_report(challenge, a.attempts) for a in report.answers if a.attempts]
    if several:
        yield attempts_table(several)
        yield doc.Paragraph(HOW, "small")
    yield doc.Heading("Model by model")
    for answer in report.answers:
        yield doc.Heading(answer.model, 3)
        yield from submission_blocks(challenge, answer, around, 4)
    yield from doc.section("For all answers", *_shared(report, frozenset(unfetched)))
    yield doc.Heading("Dimension by dimension")
    yield _dimensions(report)
    for part in report.sections:
        yield doc.Heading(part.dimension.title, 3)
        columns = ("Criterion", *(title for title, _ in GROUPS))
        yield doc.table(columns, (tuple(_grouped(report, row)) for row in part.rows), part.dimension.title)
    asked = "What a reviewer is asked stands in challenge.toml. " * any(c.review for c in challenge.criteria)
    made = doc.link("scoreboard", "scoreboard.md")
    yield doc.Paragraph((*_explain_ratio(report), f"{asked}How a mark is made and read: ", made, "."))
    yield doc.Heading("See it for yourself")
    yield doc.Paragraph(
        "Every probed criterion can be run again with the seed of its grade, printing what was expected against what "
        "came:"
    )
    shown = [f"harness show {report.answers[0].shown.name}"] if report.answers else []
    yield doc.Code("\n".join([f"harness replay MODEL/{challenge.id} CRITERION", *shown]))


def _counts(report: ChallengeReport) -> str:
    challenge, count = report.challenge, report.submissions
    how = "compiling and running" if any(c.compiler for c in challenge.criteria) else "running"
    return (
        f"Every mark on this page was measured by {how} the answer or reading its source with a tool: "
        f"{len(challenge.criteria)} criteria in {len(report.sections)} dimensions, {count} "
        f"submission{'s' if count != 1 else ''}. All tasks together: "
    )


def _verdict(report: ChallengeReport) -> doc.List:
    common = ((f"{label}: ", doc.codes(ids), ".") for label, ids in report.verdict.common)
    return doc.List((*report.verdict.sentences, *common))


def _glance(report: ChallengeReport) -> doc.Table:
    columns = ("Model", "Provenance", doc.Column("Overall", numeric=True), "Critical criteria met", "Gravest finding")
    lines = (
        (
            doc.TextRun(a.model, to=doc.LinkTarget(f"{a.model}/{a.challenge}", f"{a.challenge}.md", a.model)),
            formatting.provenance(a.marked.provenance),
            mark_cell(a.marked.overall, status=a.marked.status),
            report.critical(a),
            report.gravest(a) or "none",
        )
        for a in report.answers
    )
    return doc.table(columns, lines, f"Models on {report.challenge.title}")


def _dimensions(report: ChallengeReport) -> doc.Table:
    lines = (
        (
            part.dimension.title,
            formatting.number(part.dimension.weight),
            doc.joined(
                ((f"{a.model} ", doc.strong(mark)) for a, mark in zip(report.answers, part.standings, strict=True)),
                "; ",
            ),
        )
        for part in report.sections
    )
    return doc.table(("Dimension", "Weight", "Marks"), lines, "Dimensions")


def _grouped(report: ChallengeReport, row: CriterionRow) -> Iterator[doc.Inline]:
    models = [answer.model for answer in report.answers]
    yield f"{row.criterion.title.rstrip('.')} (", doc.code(row.criterion.id), f", {row.criterion.severity})"
    for _, kinds in GROUPS:
        found = grouped((cell.share, m) for m, cell in zip(models, row.cells, strict=True) if cell.kind in kinds)
        plainly = len(found) == 1 and {*found} <= {"passed", "failed", "not run"}
        yield "; ".join(f"{'' if plainly else f'{seen}: '}{_names(own, models)}" for seen, own in found.items())


def _names(own: Sequence[str], every: Sequence[str]) -> str:
    """Name submissions among all of them, briefly."""
    others = [name for name in every if name not in own]
    if not others and len(own) > 1:
        return "all"
    return f"all but {others[0]}" if len(others) == 1 and len(own) > 2 else ", ".join(own)


def _shared(report: ChallengeReport, unfetched: Names[str]) -> Iterator[doc.Block]:
    """Yield what several answers share, each sentence once, with the answers that it is about."""
    challenge, records = report.challenge, [answer.shown for answer in report.answers]
    names = {r.name: r.model + (f", attempt {r.attempt}" if r.attempt else "") for r in records}
    unseen = grouped(
        (each, names[r.name]) for r in records for each in not_assessed(challenge, r, briefly=True).items()
    )
    lines = ((why, doc.codes(ids), _names(of, [*names.values()])) for (why, ids), of in unseen.items())
    yield from doc.section("Not assessed", doc.table(("Why", "Criteria", "Answer"), lines, "Not assessed"), level=3)
    published = [r for r in records if r.origin]
    facts = grouped((fact, names[r.name]) for r in published for fact in origin_facts(r, unfetched, asked_too=False))
    labels = [label for label, _ in facts]
    given = [names[r.name] for r in published]
    ordered = sorted(facts.items(), key=lambda each: labels.index(each[0][0]))
    words = ((what, _names(of, given), text) for (what, text), of in ordered)
    yield from doc.section(TERMS, doc.table(("What", "Answer", "Words"), words, TERMS), level=3)
    if beside := {id for r in published if r.origin for id in r.origin.not_asked}:
        builds = sorted({id for r in published if r.build for id in r.build.criteria} & beside)
        but = (", but what fails ", doc.codes(builds), " cannot be run") if builds else ()
        why = doc.link("why, and what was seen", "not_asked.md")
        yield doc.Paragraph(("What the original prompts did not ask for is in no mark", but, ": ", why, "."))


def _explain_ratio(report: ChallengeReport) -> Iterator[str]:
    """Explain error ratios where some answer has one."""
    challenge = report.challenge
    if error_ratios(challenge, [answer.shown for answer in report.answers]):
        scale = challenge.error_ratio or ErrorRatioScale(unit=ROUNDING, full=FULL, passes=PASS)
        limits = f"Up to {scale.passes:g} is right."
        if scale.full:
            limits = f"Up to {scale.full:g} is full marks, over {scale.passes:g} is wrong."
        yield f"Error ratio: distance to a long-double oracle over {scale.unit}. {limits} "


def challenge_group(
    report: ChallengeReport, reviews: Sequence[Review], unfetched: Iterable[str], sources: Sources, detailed: bool
) -> tuple[doc.Block, ...]:
    """Return one challenge for the page of everything.

    Args:
        sources: files that findings name.
        detailed: false to leave single criteria out.
    """
    challenge, away = report.challenge, frozenset(unfetched)
    folds = []
    for answer in report.answers:
        record = answer.shown
        files = sources.get(record.name, {})
        around = Surroundings(reviews, away, files, evidence=detailed, made=detailed, links=True)
        title: doc.Inline = (
            doc.strong(answer.model),
            " ",
            doc.TextRun(formatting.provenance(answer.marked.provenance), "badge"),
            " ",
            doc.strong(formatting.mark(answer.marked.overall.score)),
            f" {report.gravest(answer)}",
        )
        blocks = (*submission_blocks(challenge, answer, around, 4),)
        folds.append(doc.Fold(title, blocks, f"{answer.model}/{challenge.id}", tags(answer, challenge.id)))
    return (
        doc.Heading(challenge.title, 3, f"challenge-{challenge.id}"),
        doc.Paragraph(challenge.summary, "lead"),
        _verdict(report),
        _matrix(report, detailed),
        *folds,
    )


def tags(answer: ModelAnswer, challenge: str = "") -> Mapping[str, str]:
    """Return what an answer is filtered by."""
    own = {"model": answer.model, "provenance": formatting.provenance(answer.marked.provenance)}
    return own | ({"challenge": challenge} if challenge else {})


def _matrix(report: ChallengeReport, detailed: bool) -> doc.Table:
    columns: list[str | doc.Column] = ["Criterion", *(doc.Column(a.model, tags=tags(a)) for a in report.answers)]
    rows = [doc.TableRow(("Overall", *(_mark(a) for a in report.answers)), heads=False)]
    for part in report.sections:
        title = f"{part.dimension.title} (weight {formatting.number(part.dimension.weight)})"
        id = part.dimension.id
        marks = [_dimension(report.challenge, a, id) for a in report.answers]
        if not detailed:  # a page of thousands of bars opens late
            marks = [replace(mark, score=None) for mark in marks]
        rows.append(doc.TableRow((title, *marks), id=f"{report.challenge.id}/{id}"))
        rows += [_outcomes(report, row) for row in part.rows if detailed]
    return doc.Table(
        tuple(columns), tuple(rows), f"{report.challenge.title}: criteria and models", whole=True, kind="matrix"
    )


def _mark(answer: ModelAnswer) -> doc.Cell:
    return mark_cell(answer.marked.overall, doc.LinkTarget(f"{answer.model}/{answer.challenge}"), answer.marked.status)


def _dimension(challenge: Challenge, answer: ModelAnswer, id: str) -> doc.Cell:
    score = answer.marked.dimensions.get(id)
    if score is None:
        missing = formatting.missing_mark(challenge, id, answer.shown)
        return doc.Cell((missing,), None, "unasked" if missing == formatting.NOT_ASKED else "open")
    return mark_cell(score, doc.LinkTarget(f"{answer.model}/{answer.challenge}"))


def _outcomes(report: ChallengeReport, row: CriterionRow) -> doc.TableRow:
    c = row.criterion
    weight = doc.strong("critical") if c.severity is Severity.CRITICAL else c.severity.value
    pairs = zip(report.answers, row.cells, strict=True)
    cells = (_outcome(cell, criterion_place(a.shown, c.dimension, c.id)) for a, cell in pairs)
    return doc.TableRow(((f"{c.title.rstrip('.')} ", doc.code(c.id), " ", weight), *cells))


def _outcome(cell: CriterionSide, to: doc.LinkTarget) -> doc.Cell:
    beside = ", in no mark" if cell.kind == "unasked" else ""
    return doc.Cell((doc.TextRun(f"{SHAPES[cell.kind]} {cell.share}{beside}", to=to),), kind=cell.kind)
