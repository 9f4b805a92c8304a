"""The scoreboard: who leads, every model's marks, and what tells neighbours apart; and rounds of it."""

from collections.abc import Collection as Names
from collections.abc import Iterator

from harness.model import Status
from harness.report import document as doc
from harness.report import formatting
from harness.report.documents.attempts import HOW, attempts_table
from harness.report.documents.marks import READING, mark_cell, notes_block
from harness.report.views.board.rounds import RoundView
from harness.report.views.board.rows import Entry, ScoreboardRow
from harness.report.views.board.scoreboard import Scoreboard
from harness.report.views.board.verdict import board_verdict
from harness.report.views.mark_source import MarkSource
from harness.scoring.ranking import APART, MEDAL_COVERAGE

LETTERS, NOT_ASKED = "letters.md", "not_asked.md"
NOTHING = "Nothing has been graded yet: `harness grade --all`."
STRENGTH = (
    "strength is that of Bradley and Terry on the scale of Elo, where 1000 is the middle and 400 points are odds of "
    "ten to one."
)


def board_document(board: Scoreboard) -> Iterator[doc.Block]:
    """Yield the board for a terminal."""
    yield board_table(board)
    yield from (doc.Paragraph(f"{row.standing.model}: {row.remark}") for row in board.rows if row.remark)


def board_table(board: Scoreboard) -> doc.Table:
    """Return a row per model with all its marks."""
    columns = [
        doc.Column("Rank", numeric=True, ascending=True),
        doc.Column("Model"),
        doc.Column(board.mean_title, numeric=True),
    ]
    columns += [doc.Column(suite.title, numeric=True) for suite in board.beside]
    columns += [doc.Column(c.title, numeric=True, tags={"challenge": c.id}) for c in board.challenges]
    return doc.Table(
        tuple(columns), tuple(_row(board, row) for row in board.rows), "Scoreboard", "board", 2, whole=True
    )


def _row(board: Scoreboard, row: ScoreboardRow) -> doc.TableRow:
    place = row.standing
    cells = (
        doc.Cell((row.rank or "–",), place.rank or place.provisional),
        doc.Cell((place.model, *row.provenance.split(", ")), place.model),
        doc.Cell(row.mean_lines, place.mean),
        *(doc.Cell(suite.lines(place.model) or ("–",), suite.mean(place.model)) for suite in board.beside),
        *map(entry_cell, row.entries),
    )
    return doc.TableRow(cells, {"model": place.model, "provenance": row.provenance})


def entry_cell(entry: Entry, link: bool = True) -> doc.Cell:
    """Return the mark of one model on one challenge."""
    model = entry.marked.model if entry.marked else ""
    to = doc.LinkTarget(f"{model}/{entry.challenge}", f"{entry.challenge}.md", model) if link else None
    flags = [formatting.FLAG] * bool(entry.integrity) + [formatting.DOUBT] * bool(entry.doubts)
    return mark_cell(entry.overall, to, entry.status or Status.GRADED, (*flags, entry.spread))


def board_page(board: Scoreboard, beside: Names[str] = ()) -> Iterator[doc.Block]:
    """Yield the scoreboard among the reports.

    Args:
        beside: names of the pages beside it.
    """
    published = board.source is MarkSource.PUBLISHED
    yield doc.Heading("Scoreboard of the published reviews" if published else "Scoreboard", 1)
    if published:
        yield from _judges(beside)
    elif verdict := board_verdict(board):
        yield doc.Paragraph(verdict)
    yield from notes_block(board.notes)
    if not board.rows:
        yield doc.Paragraph("No published review is here." if published else NOTHING)
        return
    yield _places(board)
    yield from _remarks(board)
    yield from doc.section("Task by task", *_tasks(board, published))
    yield from doc.section("Attempts", attempts_table(board.attempts), doc.Paragraph(HOW, "small"))
    lines = ((row.standing.model, row.best or "–", row.worst or "–") for row in board.ranked)
    yield from doc.section("Best and worst task", doc.table(("Model", "Best", "Worst"), lines))
    yield from doc.section("Head to head", *_meetings(board))
    yield from doc.section("What separates neighbours", doc.List(board.gaps))
    yield from doc.section("The ideal hybrid", *_hybrids(board))
    yield from doc.section("Findings in short", *(() if published else _findings(board)))
    if published:
        yield from doc.section("Where published figures contradict themselves", *_contradictions(board))
    yield doc.Fold("How to read this", (doc.List(tuple(_reading(board, beside))),))


def _judges(beside: Names[str]) -> Iterator[doc.Block]:
    read = (
        "Every figure here is what published judges wrote, who read the answers and did not run them. The rules of this"
    )
    project = "project do not apply to it: overalls, winners and edges are those of the judges. What ran: "
    letters: tuple[doc.Inline, ...] = ()
    if LETTERS in beside:
        letters = (" What was published as a letter: ", doc.link("letter grades", f"published/{LETTERS}"))
        letters = (*letters, ", beside what was measured.")
    measured, both = (
        doc.link("the measured scoreboard", "scoreboard.md"),
        doc.link("both side by side", "published_vs_measured.md"),
    )
    yield doc.Paragraph((f"{read} {project}", measured, ", and ", both, ".", *letters))


def _places(board: Scoreboard) -> doc.Table:
    """Return a row per model with its place and what is gravest."""
    columns = (doc.Column("Rank", numeric=True), "Model", doc.Column(board.mean_title, numeric=True))
    published = board.source is MarkSource.PUBLISHED
    more = () if published else ("Critical criteria met", "Gravest finding")
    suites = tuple(doc.Column(suite.title, numeric=True) for suite in board.beside)
    lines = (
        (
            row.rank or "–",
            f"{row.standing.model} ({row.provenance})",
            (doc.strong(row.mean_lines[0]), *(f"; {line}" for line in row.mean_lines[1:])),
            *("; ".join(suite.lines(row.standing.model)) or "–" for suite in board.beside),
            *(() if published else (row.critical, gravest_finding(row))),
        )
        for row in board.rows
    )
    return doc.table((*columns, *suites, *more), lines, "Places")


def gravest_finding(row: ScoreboardRow) -> doc.Inline:
    """Name a model's gravest finding and its challenge."""
    entry = row.gravest
    if entry is None:
        return "none"
    place = doc.LinkTarget(f"{row.standing.model}/{entry.challenge}", f"{entry.challenge}.md", row.standing.model)
    return (doc.TextRun(entry.challenge, to=place), f": {entry.gravest[1]}")


def _remarks(board: Scoreboard) -> Iterator[doc.Block]:
    remarks = tuple(f"{row.standing.model}: {row.remark}." for row in board.rows if row.remark)
    if remarks:
        yield doc.List(remarks)


def _tasks(board: Scoreboard, published: bool) -> Iterator[doc.Block]:
    won = {one.challenge.id: one for one in board.challenge_winners}
    lines = []
    for number, c in enumerate(board.challenges):
        entries = [(row, row.entries[number]) for row in board.rows if row.entries[number].marked]
        entries.sort(key=lambda pair: -((pair[1].overall and pair[1].overall.score) or -1.0))
        marks = doc.joined((_marked(row, entry, published) for row, entry in entries), "; ")
        lines.append((doc.link(c.title, f"{c.id}.md"), marks, won[c.id].result if c.id in won else "–"))
    yield doc.table(("Challenge", "Marks", "Winner"), lines, "Marks by challenge")


def _marked(row: ScoreboardRow, entry: Entry, published: bool) -> doc.Inline:
    first, *rest = entry_cell(entry, link=not published).lines
    return (
        f"{row.standing.model}{APART * row.standing.apart} ",
        first,
        *((" (", doc.joined(rest), ")") if rest else ()),
    )


def _meetings(board: Scoreboard) -> Iterator[doc.Block]:
    prefix = "published/" if board.source is MarkSource.PUBLISHED else ""
    duels = [
        (row.standing.model, row.won or "–", formatting.whole(row.standing.strength) if row.standing.strength else "–")
        for row in board.rows
        if row.won or row.standing.strength is not None
    ]
    if duels:
        yield doc.table(("Model", "Duels won", "Strength"), duels, "Duels")
    lines = [
        (
            doc.link(f"{one.left} and {one.right}", prefix + formatting.pair_page(one.left, one.right)),
            one.tally,
            one.winners,
        )
        for one in board.meetings
    ]
    if lines:
        yield doc.table(("Models", "Result", "Task by task"), lines, "Head to head")
    if (duels or lines) and board.certainty:
        yield doc.Paragraph(board.certainty, "small")


def _hybrids(board: Scoreboard) -> Iterator[doc.Block]:
    best = "What the best part of every answer would come to, if parts could be put together; dimensions under their"
    yield doc.Paragraph(f"{best} weights, no gate.")
    lines = ((one.title, one.mark, one.best, one.parts) for one in board.hybrids)
    yield doc.table(("Challenge", "Best of every part", "Best single answer", "From"), lines, "The ideal hybrid")


def _findings(board: Scoreboard) -> Iterator[doc.Block]:
    for row in board.rows:
        items = tuple(
            (
                doc.link(entry.rubric.title, f"{entry.challenge}.md"),
                f", {entry.text}: ",
                "; ".join(entry.findings) or "no weakness was seen",
                ".",
            )
            for entry in row.entries
            if entry.marked
        )
        yield doc.Fold(f"{row.standing.model} ({row.provenance})", (doc.List(items),))


def _contradictions(board: Scoreboard) -> Iterator[doc.Block]:
    for kind, found in board.contradictions.items():
        yield doc.Heading(kind, 3)
        yield doc.table(("Where", "Said", "What follows"), ((one.where, one.said, one.follows) for one in found), kind)
    if not board.contradictions:
        yield doc.Paragraph("Nowhere.")


def _reading(board: Scoreboard, beside: Names[str]) -> Iterator[doc.Inline]:
    count = len(board.compared)
    if board.source is MarkSource.PUBLISHED:
        yield "Of an answer marked in two rounds the mark is the mean; the interval runs from the lower to the higher."
        yield "The mean is the plain mean over the challenges, rounded half up."
    else:
        thin = f" (all but {', '.join(board.thin)})" if board.thin else ""
        yield from READING
        yield (
            f"The mean is the plain mean of a model's overalls over the {count} challenges that count{thin}, with "
            "their mean coverage; ranks follow it before it is rounded."
        )
        for suite in board.beside:
            yield f"{suite.title} is place, mean and coverage over the suite {suite.id}, of {suite.of} challenges."
        yield f"A medal needs a coverage of {formatting.percent(MEDAL_COVERAGE)}."
    if NOT_ASKED in beside:
        asked = "What the original prompts of published answers did not ask for is in no mark: "
        yield (asked, doc.link("the marks with it and without", NOT_ASKED), ".")
    if board.provisional:
        yield (
            "A place in brackets is provisional: the model lacks challenges, and is compared with those that have "
            "them all by the ones it has. It moves nobody else."
        )
    if any(row.standing.apart for row in board.rows):
        yield (
            "A place with † is that of a model asked in several turns: it replied in view of what was found in its "
            "earlier replies, and is ranked among models asked so."
        )
    both = "" if board.source is MarkSource.PUBLISHED else ", on the criteria both were assessed on"
    duel = f"A duel is two models on one of the {count} challenges that count{both}"
    yield f"{duel}; a split is half a win for each; {STRENGTH}"


def round_page(view: RoundView) -> Iterator[doc.Block]:
    """Yield the page of one round."""
    published = view.source is MarkSource.PUBLISHED
    prefix = "published/" if published else ""
    yield doc.Heading(view.round.title, 1)
    if published:
        read = "By the published reviews, whose judge read the answers and did not run them. What ran: "
        yield doc.Paragraph((read, doc.link("the same round, measured", f"rounds/{view.round.id}.md"), "."))
    else:
        yield doc.Paragraph("By what was measured.")
    yield doc.Paragraph(view.verdict)
    yield from notes_block(view.notes)
    lines = [
        (
            row.standing.place or "–",
            row.standing.model,
            formatting.provenances(row.standing.provenance),
            doc.joined(
                ((f"{c.title} ", doc.strong(mark)) for c, mark in zip(view.challenges, row.marks, strict=True)), "; "
            ),
            doc.strong(formatting.whole(row.standing.mean)),
        )
        for row in view.rows
    ]
    yield doc.table(
        ("Place", "Model", "Provenance", "Marks", "Average"), lines or [("–", "no model has a mark", "", "", "")]
    )
    if view.missing:
        yield doc.Paragraph(f"Without a mark: {', '.join(view.missing)}.")
    won = tuple(
        (doc.link(one.challenge.title, f"{one.challenge.id}.md"), f": {one.result}.") for one in view.challenge_winners
    )
    yield from doc.section("Task by task", doc.List(won))
    pairs = tuple(doc.link(f"{a} and {b}", prefix + formatting.pair_page(a, b)) for a, b in view.pairs)
    yield from doc.section("Head to head", doc.List(pairs))
