"""Grades published as letters, each beside the measured mark."""

from collections import Counter
from collections.abc import Iterator

from harness.report import document as doc
from harness.report import formatting
from harness.report.documents.published import KENDALL, orders
from harness.report.views.published.letter_table import LetterTable, PairOrder
from harness.scoring.duels import NOISE


def letters_page(found: LetterTable) -> Iterator[doc.Block]:
    """Yield the page."""
    yield doc.Heading("Published letter grades", 1)
    yield doc.Paragraph(
        (
            "Letters that published reviews give, as they stand. Their judges read the answers and did not run them. A "
            "letter is never converted to a mark and enters no figure of any other page. Back to the ",
            doc.link("published scoreboard", "published/scoreboard.md"),
            ".",
        )
    )
    overall = any(row.overall for row in found.rows)
    columns = ("Model", *(c.title for c in found.challenges), *(("Over all",) if overall else ()))
    given = (
        (
            row.model,
            *(row.letters.get(c.id, "–") for c in found.challenges),
            *((row.overall or "–",) if overall else ()),
        )
        for row in found.rows
    )
    yield doc.table(columns, given, "Letters")
    every = len(found.rows) * len(found.challenges)
    yield doc.Paragraph(f"{len(found.cells)} of {every} letters were given; – stands for none.")
    yield doc.Heading("Beside the measured marks")
    yield doc.Paragraph(
        "Every letter beside the measured mark of the same answer, with the share of the rubric that was assessed: a "
        "letter judges what its judge read, a mark what was assessed. The ranks are among the answers to the "
        f"challenge that have both; equal letters, and equal marks, share one. {found.measured} of {len(found.cells)} "
        "letters stand beside a mark."
    )
    lines = (
        (
            doc.link(cell.title, f"{cell.challenge}.md"),
            cell.model,
            cell.letter,
            cell.by_letter or "–",
            cell.mark,
            cell.by_mark or "–",
        )
        for cell in found.cells
    )
    titles = ("Challenge", "Model", "Letter", "Rank by letter", "Measured", "Rank by mark")
    yield doc.table(titles, lines, "Letters beside marks")
    if found.measured:
        yield from doc.section("Where they disagree most", *_disagreements(found))


def _disagreements(found: LetterTable) -> Iterator[doc.Block]:
    counts = Counter(pair.order for pair in found.pairs)
    yield doc.Paragraph(
        "Two answers to one challenge are ordered the other way round where the one with the better letter has a "
        f"mark lower by more than {formatting.mark(NOISE)} points, the lead that a duel takes for noise. Of the "
        f"{len(found.pairs)} pairs of answers to the same challenge"
    )
    ends = [";"] * (len(PairOrder) - 1) + ["."]
    yield doc.List(tuple(f"{counts[kind]} {kind}{end}" for kind, end in zip(PairOrder, ends, strict=True)))
    for told, kind in (
        ("The pairs that are ordered the other way round, the widest lead in marks first:", PairOrder.OPPOSITE),
        ("The pairs with one letter, the marks furthest apart first:", PairOrder.SAME_LETTER),
    ):
        lines = [
            (
                p.better.title,
                *(f"{c.model}: {c.letter}, measured {c.mark}" for c in (p.better, p.worse)),
                formatting.mark(abs(p.lead)),
            )
            for p in found.pairs
            if p.order is kind
        ]
        if lines:
            yield doc.Paragraph(told)
            yield doc.table(("Challenge", "Better letter", "Other", doc.Column("Apart", numeric=True)), lines)
    yield doc.Paragraph(f"Kendall's tau-b between the order by letters and the order by marks: {KENDALL}")
    yield orders("Answers", found.orders)
