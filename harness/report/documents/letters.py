"""Grades published as letters, each beside the measured mark."""

from collections.abc import Iterator

from harness.report import formatting
from harness.report.document import Block, Column, Heading, LinkTarget, List, Paragraph, TextRun, section, table
from harness.report.documents.published import KENDALL, orders
from harness.report.views.published.letter_table import LetterTable


def letters_page(found: LetterTable) -> Iterator[Block]:
    """Yield the page."""
    yield Heading("Published letter grades", 1)
    yield Paragraph((
        "Letters that published reviews give, as they stand. Their judges read the answers and did not run them. A "
        "letter is never converted to a mark and enters no figure of any other page. Back to the ",
        TextRun("published scoreboard", to=LinkTarget("", "published/scoreboard.md")), ".",
    ))  # fmt: skip
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
    yield table(columns, given, "Letters")
    every = len(found.rows) * len(found.challenges)
    yield Paragraph(f"{len(found.cells)} of {every} letters were given; – stands for none.")
    yield Heading("Beside the measured marks")
    yield Paragraph(
        "Every letter beside the measured mark of the same answer, with the share of the rubric that was assessed: a "
        "letter judges what its judge read, a mark what was assessed. The ranks are among the answers to the "
        f"challenge that have both; equal letters, and equal marks, share one. {found.measured} of {len(found.cells)} "
        "letters stand beside a mark."
    )
    lines = (
        (TextRun(cell.title, to=LinkTarget("", f"{cell.challenge}.md")), cell.model, cell.letter, cell.by_letter or "–",
         cell.mark,
         cell.by_mark or "–")
        for cell in found.cells
    )  # fmt: skip
    titles = ("Challenge", "Model", "Letter", "Rank by letter", "Measured", "Rank by mark")
    yield table(titles, lines, "Letters beside marks")
    if found.measured:
        yield from section("Where they disagree most", *_disagreements(found))


def _disagreements(found: LetterTable) -> Iterator[Block]:
    pairs = found.pairs
    yield Paragraph(
        "Two answers to one challenge are ordered the other way round where the one with the better letter has a "
        f"mark lower by more than {pairs.noise} points, the lead that a duel takes for noise. Of the {pairs.all} "
        "pairs of answers to the same challenge"
    )
    yield List((
        f"{pairs.alike} are ordered alike by letters and marks;",
        f"{len(pairs.opposite)} are ordered the other way round;",
        f"{len(pairs.same_letter)} have one letter, and marks that differ by more than that;",
        f"{pairs.same_mark} have different letters, and marks that differ by no more than that;",
        f"{pairs.neither} have one letter, and marks that differ by no more than that.",
    ))  # fmt: skip
    for told, own in (
        ("The pairs that are ordered the other way round, the widest lead in marks first:", pairs.opposite),
        ("The pairs with one letter, the marks furthest apart first:", pairs.same_letter),
    ):
        if own:
            yield Paragraph(told)
            lines = (
                (p.better.title, *(f"{c.model}: {c.letter}, measured {c.mark}" for c in (p.better, p.worse)),
                 formatting.mark(abs(p.lead)))
                for p in own
            )  # fmt: skip
            yield table(("Challenge", "Better letter", "Other", Column("Apart", numeric=True)), lines)
    yield Paragraph(f"Kendall's tau-b between the order by letters and the order by marks: {KENDALL}")
    yield orders("Answers", found.orders)
