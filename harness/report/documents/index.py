"""Everything on one page: the verdict, the marks and one real defect first, then every challenge and all evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from harness.model import Challenge, Provenance, Record, Score, Severity
from harness.report import document as doc
from harness.report import formatting
from harness.report.documents.attempts import HOW
from harness.report.documents.board import NOTHING, STRENGTH, board_table, gravest_finding
from harness.report.documents.challenge import challenge_group
from harness.report.documents.marks import READING
from harness.report.documents.submission import quoted
from harness.report.figures.drawings import figures_section
from harness.report.views.answers import ModelAnswer, answers
from harness.report.views.board.rows import ScoreboardRow
from harness.report.views.board.scoreboard import Scoreboard
from harness.report.views.board.verdict import board_verdict
from harness.report.views.challenge import challenge_report
from harness.report.views.finding import labelled, weaknesses
from harness.report.views.inputs import ReportInputs
from harness.scoring.marked import Marked

MOST_DETAILED = 200
"""Most submissions with every criterion on the page; with more, only gates, findings and dimensions."""
MOST_RANKS = 3
"""Most ranks listed per model, likeliest first."""


@dataclass(frozen=True)
class IndexParts:
    """The blocks of the page, part by part; controls of the browser stand between them."""

    top: tuple[doc.Block, ...]
    board: tuple[doc.Block, ...]
    finding: tuple[doc.Block, ...]
    challenges: tuple[doc.Block, ...]
    figures: tuple[doc.Block, ...]
    reading: tuple[doc.Block, ...]


def index_parts(inputs: ReportInputs, board: Scoreboard, records: Sequence[Record]) -> IndexParts:
    """Return the parts of the page.

    Args:
        records: one per submission, of known challenges, by challenge and name.
    """
    answered = answers(records)
    shown = [answer.shown for answer in answered]
    models = [row.standing.model for row in board.rows]
    return IndexParts(
        tuple(_top(inputs, board, records)),
        tuple(_board(board)),
        tuple(_finding_of_the_day(inputs, board, shown)),
        tuple(_challenges(inputs, records)),
        tuple(figures_section(inputs.challenges, shown, models)) if shown else (),
        tuple(_reading(any(answer.attempts for answer in answered))),
    )


def _top(inputs: ReportInputs, board: Scoreboard, records: Sequence[Record]) -> Iterator[doc.Block]:
    yield doc.Heading(inputs.title, 1)
    models = sum(Provenance.BASELINE not in row.standing.provenance for row in board.rows)
    versions = sorted({r.environment.harness for r in records})
    facts = (
        f"graded {board.graded}" if board.graded else "",
        f"harness {', '.join(versions)}" if versions else "",
        f"{models} model{'s' if models != 1 else ''}",
        f"{len(board.challenges)} challenge{'s' if len(board.challenges) != 1 else ''}",
    )
    if not board.rows:
        yield doc.Paragraph(NOTHING)
        return
    yield doc.Paragraph(" · ".join(filter(None, facts)), "small")
    yield doc.Paragraph(doc.strong(board_verdict(board)), "verdict")
    yield _chart(board)


def _chart(board: Scoreboard) -> doc.Table:
    """Return a row per model: its mean on a scale with the marks behind it, as a figure too, and what is gravest."""
    rows = []
    for row in board.rows:
        place = row.standing
        strip = (
            (main, *(mark for mark in board.marks_of(row) if mark.score is not None))
            if (main := board.mean(row))
            else ()
        )
        title: doc.Inline = (doc.strong(place.model), " ", doc.TextRun(row.rank or row.provenance, "badge"))
        cells = (
            title,
            doc.Cell(("",), strip=strip),
            doc.Cell((doc.strong(formatting.whole(place.mean)), *_some_of(board, place.graded))),
            gravest_finding(row),
        )
        rows.append(doc.TableRow(cells, {"model": place.model, "provenance": row.provenance}))
    over = "0 to 100: the mean as a large dot on its interval, the marks behind it as small ones"
    return doc.Table(("Model", over, "Mean", "Gravest finding"), tuple(rows), "Means of all models", kind="chart")


def _some_of(board: Scoreboard, graded: int) -> tuple[str, ...]:
    """Return how many marks a mean is of, where it lacks some of the challenges that count."""
    over = len(board.compared)
    return (f"of {graded}, not {over}",) if graded < over else ()


def _board(board: Scoreboard) -> Iterator[doc.Block]:
    if not board.rows:
        return
    more = (doc.Column("Critical criteria met"), doc.Column("Gravest finding"))
    whole = board_table(board)
    rows = tuple(
        replace(own, cells=(*own.cells, row.critical, gravest_finding(row)))
        for own, row in zip(whole.rows, board.rows, strict=True)
    )
    yield replace(whole, columns=(*whole.columns, *more), rows=rows, sortable=True)
    remarks = tuple(f"{row.standing.model}: {row.remark}." for row in board.rows if row.remark)
    notes = (*board.notes, *remarks)
    if notes:
        yield doc.Fold(f"Before comparing: {len(notes)} {'notes' if len(notes) > 1 else 'note'}", (doc.List(notes),))
    yield doc.Fold("Duels, strength and ranks when the challenges are drawn anew", tuple(_certainty(board)))


def _certainty(board: Scoreboard) -> Iterator[doc.Block]:
    lines = (
        (
            row.standing.model,
            _chances(row),
            row.won or "–",
            "–" if row.standing.strength is None else formatting.whole(row.standing.strength),
        )
        for row in board.rows
    )
    yield doc.table(("Model", "Ranks when drawn anew", "Duels won", "Strength"), lines, "Certainty of the order")
    yield doc.Paragraph(
        (
            "Ranks when drawn anew: the challenges are resampled with replacement many times; shown is the share of "
            "samples in which each model has each rank. ",
            "Duels won: two models on one challenge that counts, on the criteria both were assessed on; a lead inside "
            "the noise is half a win each; ",
            f"{STRENGTH} ",
            board.certainty,
        ),
        "small",
    )


def _chances(row: ScoreboardRow) -> str:
    likely = sorted(enumerate(row.standing.chances, 1), key=lambda chance: (-chance[1], chance[0]))
    ranks = [f"{rank}: {formatting.percent(share)}" for rank, share in likely[:MOST_RANKS] if share >= 0.01]
    return ", ".join(ranks) or "–"


def _finding_of_the_day(inputs: ReportInputs, board: Scoreboard, shown: Sequence[Record]) -> Iterator[doc.Block]:
    """Yield one critical defect with its counterexample; another one after grades of another day."""
    rubrics = {c.id: c for c in inputs.challenges}
    found = [
        (record, fault)
        for record in shown
        if record.provenance is not Provenance.BASELINE
        for fault in weaknesses(rubrics[record.challenge], record)
        if fault.weight == Severity.CRITICAL and fault.replay and fault.example.expected is not None and fault.diagnosis
    ]
    if not found:
        return
    record, fault = found[(board.made[1].toordinal() if board.made else 0) % len(found)]
    yield doc.Heading("Finding of the day", 2, "finding")
    title = rubrics[record.challenge].title
    place = doc.LinkTarget(f"{record.model}/{record.challenge}")
    yield doc.Paragraph((doc.TextRun(record.model, to=place), f" on {title}: ", doc.strong(fault.title)), "lead")
    yield doc.Facts(tuple(pair for pair in labelled(fault) if pair[0] != "Also"))
    yield from islice(quoted(fault, inputs.sources.get(record.name, {})), 1)


def _challenges(inputs: ReportInputs, records: Sequence[Record]) -> Iterator[doc.Block]:
    detailed = len(records) <= MOST_DETAILED
    yield doc.Heading("Challenges", 2, "challenges")
    if not inputs.challenges:
        yield doc.Paragraph("There is no challenge here.")
    if not detailed:
        yield doc.Paragraph(
            f"There are more than {MOST_DETAILED} submissions, so each shows its gates, findings and dimensions only; "
            "every criterion is on the page of its challenge."
        )
    empty = []
    for challenge in sorted(inputs.challenges, key=lambda c: c.id):
        own = [r for r in records if r.challenge == challenge.id]
        if own:
            report = challenge_report(challenge, own)
            blocks = challenge_group(report, inputs.reviews, inputs.unfetched, inputs.sources, detailed)
            yield doc.Group(blocks, {"challenge": challenge.id})
        else:
            empty.append((doc.strong(challenge.title), f": {challenge.summary}"))
    if empty:
        yield doc.Fold(f"No model has answered {len(empty)} more yet", (doc.List(tuple(empty)),))


def _reading(attempts: bool) -> Iterator[doc.Block]:
    yield doc.Heading("How to read this", 2, "reading")
    yield doc.List(
        (
            "Every mark here was measured by running an answer or by reading its source with a tool, and leads to its "
            "evidence: click it.",
            *READING,
            *([f"Mean of n attempts: {HOW}"] if attempts else []),
            "Lines of code beside a finding are those of the submission's files when this page was made.",
            "`harness replay MODEL/CHALLENGE CRITERION` runs a probe again with the seed of its grade and prints what "
            "was expected against what came.",
        )
    )


def compared_data(inputs: ReportInputs, answered: Sequence[ModelAnswer], models: Sequence[str]) -> dict[str, Any]:
    """Return the browser's data for comparing: [point, low, high, coverage] by model or record, and by challenge.

    The overall precedes the dimensions, in the order of `parts`; where there is no mark, words say why. The `names` of
    a model are its own, then those of its single attempts and earlier grades.
    """
    rubrics = {c.id: c for c in inputs.challenges}
    known = sorted({answer.challenge for answer in answered})
    names: dict[str, dict[str, None]] = {model: {model: None} for model in models}
    marks: dict[str, dict[str, list[object]]] = {model: {} for model in models}

    def add(name: str, record: Record, marked: Marked) -> None:
        names[record.model][name] = None
        marks.setdefault(name, {})[record.challenge] = _numbers(rubrics[record.challenge], record, marked)

    for answer in answered:
        add(answer.model, answer.shown, answer.marked)
        for record in answer.records if answer.attempts else ():
            add(f"{record.model}/attempt-{record.attempt}", record, record)
    for record in inputs.earlier:
        if record.model in names and record.challenge in known:
            add(f"{record.name}, {record.made:%Y-%m-%d %H:%M}, harness {record.environment.harness}", record, record)
    titles = {id: [["", "Overall"], *([d.id, d.title] for d in rubrics[id].dimensions)] for id in known}
    challenges = {id: {"title": rubrics[id].title, "parts": titles[id]} for id in known}
    return {"names": {model: list(own) for model, own in names.items()}, "challenges": challenges, "marks": marks}


def _numbers(challenge: Challenge, record: Record, marked: Marked) -> list[object]:
    def numbers(score: Score | None, missing: str) -> object:
        if score is None or score.score is None:
            return missing
        ends = (float(formatting.mark(value)) for value in (score.score, score.low, score.high))
        return [*ends, formatting.percent(score.coverage)]

    dimensions = (
        numbers(marked.dimensions.get(d.id), formatting.missing_mark(challenge, d.id, record))
        for d in challenge.dimensions
    )
    return [numbers(marked.overall, formatting.NOT_ASSESSED), *dimensions]
