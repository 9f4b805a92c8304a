"""Parts that several pages share: cells of marks, and warnings."""

from collections.abc import Iterator, Sequence

from harness.model import Score, Status
from harness.report import formatting
from harness.report.document import Block, Cell, Inline, LinkTarget, List, Paragraph, TextRun, strong


def mark_cell(
    score: Score | None, to: LinkTarget | None = None, status: Status = Status.GRADED, remarks: Sequence[str] = ()
) -> Cell:
    """Return a mark with its coverage, interval and remarks, as a link to its evidence."""
    if score is None:
        return Cell(("no record",), None, "open")
    first, *interval = formatting.standing_lines(score)
    flags = [remark for remark in remarks if remark in (formatting.FLAG, formatting.DOUBT)]
    others = [remark for remark in remarks if remark and remark not in flags]
    state = [] if status is Status.GRADED else [formatting.status(status)]
    lines: tuple[Inline, ...] = (TextRun(" ".join([first, *flags]), to=to), *interval, *others, *state)
    kind = "open" if score.score is None else "zero" if score.score == 0 else ""
    return Cell(lines, score.score, kind, score)


def notes_block(notes: Sequence[str]) -> Iterator[Block]:
    """Yield what a reader must know before comparing."""
    if notes:
        yield Paragraph(strong("Before comparing"))
        yield List(tuple(notes))
