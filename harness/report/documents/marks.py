"""Parts that several pages share: cells of marks, and warnings."""

from collections.abc import Iterator, Sequence

from harness.model import Score, Status
from harness.report import document as doc
from harness.report import formatting


def mark_cell(
    score: Score | None, to: doc.LinkTarget | None = None, status: Status = Status.GRADED, remarks: Sequence[str] = ()
) -> doc.Cell:
    """Return a mark with its coverage, interval and remarks, as a link to its evidence."""
    if score is None:
        return doc.Cell(("no record",), None, "open")
    first, *interval = formatting.standing_lines(score)
    flags = [remark for remark in remarks if remark in (formatting.FLAG, formatting.DOUBT)]
    others = [remark for remark in remarks if remark and remark not in flags]
    state = [] if status is Status.GRADED else [formatting.status(status)]
    lines: tuple[doc.Inline, ...] = (doc.TextRun(" ".join([first, *flags]), to=to), *interval, *others, *state)
    kind = "open" if score.score is None else "zero" if score.score == 0 else ""
    return doc.Cell(lines, score.score, kind, score)


def notes_block(notes: Sequence[str]) -> Iterator[doc.Block]:
    """Yield what a reader must know before comparing."""
    if notes:
        yield doc.Paragraph(doc.strong("Before comparing"))
        yield doc.List(tuple(notes))
