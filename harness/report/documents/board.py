"""The scoreboard: who leads, every model's marks, and what tells neighbours apart; and rounds of it."""

from collections.abc import Collection as Names
from collections.abc import Iterator

from harness.model import Status
from harness.report import formatting
from harness.report.document import (
    Block,
    Cell,
    Column,
    Fold,
    Heading,
    Inline,
    LinkTarget,
    List,
    Paragraph,
    Table,
    TableRow,
    TextRun,
    joined,
    section,
    strong,
    table,
)
from harness.report.documents.attempts import HOW, attempts_table
from harness.report.documents.marks import mark_cell, notes_block
from harness.report.views.board.rounds import RoundView
from harness.report.views.board.rows import Entry, ScoreboardRow
from harness.report.views.board.scoreboard import Scoreboard
from harness.report.views.board.verdict import board_verdict
from harness.report.views.mark_source import MarkSource
from harness.scoring.ranking import APART

LETTERS, NOT_ASKED = "letters.md", "not_asked.md"
NOTHING = "Nothing has been graded yet: `harness grade --all`."
MARKS_READ = (
    "A mark reads point, coverage; [lowest, highest]: coverage is the share of the rubric's weight that was assessed; "
    "the interval counts the rest as lost, then as met; a mark alone leaves nothing open."
)
STRENGTH = (
    "strength is that of Bradley and Terry on the scale of Elo, where 1000 is the middle and 400 points are odds of "
    "ten to one."
)


def board_document(board: Scoreboard) -> Iterator[Block]:
    """Yield the board for a terminal."""
    yield board_table(board)
    yield from (Paragraph(f"{row.standing.model}: {row.remark}") for row in board.rows if row.remark)


def board_table(board: Scoreboard) -> Table:
    """Return a row per model with all its marks."""
    columns = [Column("Rank", numeric=True, ascending=True), Column("Model"), Column(board.mean_title, numeric=True)]
    columns += [Column(suite.title, numeric=True) for suite in board.beside]
    columns += [Column(c.title, numeric=True, tags={"challenge": c.id}) for c in board.challenges]
    return Table(tuple(columns), tuple(_row(board, row) for row in board.rows), "Scoreboard", "board", 2, whole=True)


def _row(board: Scoreboard, row: ScoreboardRow) -> TableRow:
    place = row.standing
    cells = (
        Cell((row.rank or "–",), place.rank or place.provisional),
        Cell((place.model, *row.provenance.split(", ")), place.model),
        Cell(row.mean_lines, place.mean),
        *(Cell(suite.lines(place.model) or ("–",), suite.mean(place.model)) for suite in board.beside),
        *map(entry_cell, row.entries),
    )
    return TableRow(cells, {"model": place.model, "provenance": row.provenance})


def entry_cell(entry: Entry, link: bool = True) -> Cell:
    """Return the mark of one model on one challenge."""
    model = entry.marked.model if entry.marked else ""
    to = LinkTarget(f"{model}/{entry.challenge}", f"{entry.challenge}.md", model) if link else None
    flags = [formatting.FLAG] * bool(entry.integrity) + [formatting.DOUBT] * bool(entry.doubts)
    return mark_cell(entry.overall, to, entry.status or Status.GRADED, (*flags, entry.spread))


def board_page(board: Scoreboard, beside: Names[str] = ()) -> Iterator[Block]:
    """Yield the scoreboard among the reports.

    Args:
        beside: names of the pages beside it.
    """
    published = board.source is MarkSource.PUBLISHED
    yield Heading("Scoreboard of the published reviews" if published else "Scoreboard", 1)
    if published:
        yield from _judges(beside)
    elif verdict := board_verdict(board):
        yield Paragraph(verdict)
    yield from notes_block(board.notes)
    if not board.rows:
        yield Paragraph("No published review is here." if published else NOTHING)
        return
    yield _places(board)
    yield from _remarks(board)
    yield from section("Task by task", *_tasks(board, published))
    if board.attempts:
        yield from section("Attempts", attempts_table(board.attempts), Paragraph(HOW, "small"))
    if board.ranked:
        lines = ((row.standing.model, row.best or "–", row.worst or "–") for row in board.ranked)
        yield from section("Best and worst task", table(("Model", "Best", "Worst"), lines))
    yield from section("Head to head", *_meetings(board))
    yield from section("What separates neighbours", *_gaps(board))
    yield from section("The ideal hybrid", *_hybrids(board))
    yield from section("Findings in short", *(() if published else _findings(board)))
    if published:
        yield from section("Where published figures contradict themselves", *_contradictions(board))
    yield Fold("How to read this", (List(tuple(_reading(board, beside))),))


def _judges(beside: Names[str]) -> Iterator[Block]:
    read = (
        "Every figure here is what published judges wrote, who read the answers and did not run them. The rules of this"
    )
    project = "project do not apply to it: overalls, winners and edges are those of the judges. What ran: "
    letters: tuple[Inline, ...] = ()
    if LETTERS in beside:
        letters = (" What was published as a letter: ", _page("letter grades", f"published/{LETTERS}"))
        letters = (*letters, ", beside what was measured.")
    measured, both = (
        _page("the measured scoreboard", "scoreboard.md"),
        _page("both side by side", "published_vs_measured.md"),
    )
    yield Paragraph((f"{read} {project}", measured, ", and ", both, ".", *letters))


def _page(text: str, page: str, heading: str = "") -> TextRun:
    return TextRun(text, to=LinkTarget("", page, heading))


def _places(board: Scoreboard) -> Table:
    """Return a row per model with its place and what is gravest."""
    columns = (Column("Rank", numeric=True), "Model", Column(board.mean_title, numeric=True))
    published = board.source is MarkSource.PUBLISHED
    more = () if published else ("Critical criteria met", "Gravest finding")
    suites = tuple(Column(suite.title, numeric=True) for suite in board.beside)
    lines = (
        (
            row.rank or "–",
            f"{row.standing.model} ({row.provenance})",
            (strong(row.mean_lines[0]), *(f"; {line}" for line in row.mean_lines[1:])),
            *("; ".join(suite.lines(row.standing.model)) or "–" for suite in board.beside),
            *(() if published else (row.critical, gravest_finding(row))),
        )
        for row in board.rows
    )
    return table((*columns, *suites, *more), lines, "Places")


def gravest_finding(row: ScoreboardRow) -> Inline:
    """Name a model's gravest finding and its challenge."""
    entry = row.gravest
    if entry is None:
        return "none"
    place = LinkTarget(f"{row.standing.model}/{entry.challenge}", f"{entry.challenge}.md", row.standing.model)
    return (TextRun(entry.challenge, to=place), f": {entry.gravest[1]}")


def _remarks(board: Scoreboard) -> Iterator[Block]:
    remarks = tuple(f"{row.standing.model}: {row.remark}." for row in board.rows if row.remark)
    if remarks:
        yield List(remarks)


def _tasks(board: Scoreboard, published: bool) -> Iterator[Block]:
    won = {one.challenge.id: one for one in board.challenge_winners}
    lines = []
    for number, c in enumerate(board.challenges):
        entries = [(row, row.entries[number]) for row in board.rows if row.entries[number].marked]
        entries.sort(key=lambda pair: -((pair[1].overall and pair[1].overall.score) or -1.0))
        marks = joined((_marked(row, entry, published) for row, entry in entries), "; ")
        lines.append((_page(c.title, f"{c.id}.md"), marks, won[c.id].result if c.id in won else "–"))
    if lines:
        yield table(("Challenge", "Marks", "Winner"), lines, "Marks by challenge")


def _marked(row: ScoreboardRow, entry: Entry, published: bool) -> Inline:
    first, *rest = entry_cell(entry, link=not published).lines
    return (f"{row.standing.model}{APART * row.standing.apart} ", first, *((" (", joined(rest), ")") if rest else ()))


def _meetings(board: Scoreboard) -> Iterator[Block]:
    prefix = "published/" if board.source is MarkSource.PUBLISHED else ""
    duels = [
        (row.standing.model, row.won or "–", formatting.whole(row.standing.strength) if row.standing.strength else "–")
        for row in board.rows
        if row.won or row.standing.strength is not None
    ]
    if duels:
        yield table(("Model", "Duels won", "Strength"), duels, "Duels")
    lines = [
        (
            _page(f"{one.left} and {one.right}", prefix + formatting.pair_page(one.left, one.right)),
            one.tally,
            one.winners,
        )
        for one in board.meetings
    ]
    if lines:
        yield table(("Models", "Result", "Task by task"), lines, "Head to head")
    if (duels or lines) and board.certainty:
        yield Paragraph(board.certainty, "small")


def _gaps(board: Scoreboard) -> Iterator[Block]:
    if board.gaps:
        widest = (f" Widest: {'; '.join(gap.parts)}." if gap.parts else "" for gap in board.gaps)
        pairs = zip(board.gaps, widest, strict=True)
        yield List(tuple(f"{gap.above} is {gap.lead} ahead of {gap.below}.{text}" for gap, text in pairs))


def _hybrids(board: Scoreboard) -> Iterator[Block]:
    if board.hybrids:
        best = (
            "What the best part of every answer would come to, if parts could be put together; dimensions under their"
        )
        yield Paragraph(f"{best} weights, no gate.")
        lines = (
            (one.title, one.mark, one.best,
             "; ".join(f"{part.title} {part.mark} ({', '.join(part.models) or 'none'})" for part in one.parts))
            for one in board.hybrids
        )  # fmt: skip
        yield table(("Challenge", "Best of every part", "Best single answer", "From"), lines, "The ideal hybrid")


def _findings(board: Scoreboard) -> Iterator[Block]:
    for row in board.rows:
        items = tuple(
            (_page(entry.rubric.title, f"{entry.challenge}.md"), f", {entry.text}: ",
             "; ".join(entry.findings) or "no weakness was seen", ".")
            for entry in row.entries
            if entry.marked
        )  # fmt: skip
        yield Fold(f"{row.standing.model} ({row.provenance})", (List(items),))


def _contradictions(board: Scoreboard) -> Iterator[Block]:
    for kind, found in board.contradictions.items():
        yield Heading(kind, 3)
        yield table(("Where", "Said", "What follows"), ((one.where, one.said, one.follows) for one in found), kind)
    if not board.contradictions:
        yield Paragraph("Nowhere.")


def _reading(board: Scoreboard, beside: Names[str]) -> Iterator[Inline]:
    count = len(board.compared)
    if board.source is MarkSource.PUBLISHED:
        yield "Of an answer marked in two rounds the mark is the mean; the interval runs from the lower to the higher."
        yield "The mean is the plain mean over the challenges, rounded half up."
    else:
        thin = f" (all but {', '.join(board.thin)})" if board.thin else ""
        yield MARKS_READ
        yield (
            f"The mean is the plain mean of a model's overalls over the {count} challenges that count{thin}, with "
            "their mean coverage; ranks follow it before it is rounded."
        )
        for suite in board.beside:
            yield f"{suite.title} is place, mean and coverage over the suite {suite.id}, of {suite.of} challenges."
        yield "A baseline was written by this project: it shows what the probes accept, and is not ranked."
        yield f"A medal needs a coverage of {board.medal_coverage}."
    if NOT_ASKED in beside:
        asked = "What the original prompts of published answers did not ask for is in no mark: "
        yield (asked, _page("the marks with it and without", NOT_ASKED), ".")
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


def round_page(view: RoundView) -> Iterator[Block]:
    """Yield the page of one round."""
    published = view.source is MarkSource.PUBLISHED
    prefix = "published/" if published else ""
    yield Heading(view.round.title, 1)
    if published:
        read = "By the published reviews, whose judge read the answers and did not run them. What ran: "
        yield Paragraph((read, _page("the same round, measured", f"rounds/{view.round.id}.md"), "."))
    else:
        yield Paragraph("By what was measured.")
    yield Paragraph(view.verdict)
    yield from notes_block(view.notes)
    lines = [
        (row.standing.place or "–", row.standing.model, formatting.provenances(row.standing.provenance),
         joined((_mark_of(c.title, mark) for c, mark in zip(view.challenges, row.marks, strict=True)), "; "),
         strong(formatting.whole(row.standing.mean)))
        for row in view.rows
    ]  # fmt: skip
    yield table(
        ("Place", "Model", "Provenance", "Marks", "Average"), lines or [("–", "no model has a mark", "", "", "")]
    )
    if view.missing:
        yield Paragraph(f"Without a mark: {', '.join(view.missing)}.")
    won = tuple(
        (_page(one.challenge.title, f"{one.challenge.id}.md"), f": {one.result}.") for one in view.challenge_winners
    )
    yield from section("Task by task", *((List(won),) if won else ()))
    pairs = tuple(_page(f"{a} and {b}", prefix + formatting.pair_page(a, b)) for a, b in view.pairs)
    yield from section("Head to head", *((List(pairs),) if pairs else ()))


def _mark_of(title: str, mark: str) -> Inline:
    return (f"{title} ", strong(mark))
