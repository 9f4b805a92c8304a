"""Parts that several pages share: cells of marks, and warnings."""

from collections.abc import Iterator, Sequence

from harness.model import Score, Status
from harness.report import document as doc
from harness.report import formatting

READING = (
    "A mark reads point [lowest, highest], coverage. The point is taken over what was assessed; the interval counts "
    "the rest as lost, then as met; coverage is the share of the rubric's weight that was assessed. Not assessed is "
    "not a zero: it was not examined. One exception: if a submission does not build, or fails its anchor criterion, "
    "the criteria that depend on it count as 0, run or not.",
    "The overall is the mean of the dimensions under their weights, rounded half up; nothing is adjusted by hand. A "
    "gate is a ceiling that no other merit lifts; the overall stays below its own by 10 times the share not met of "
    "the critical weight assessed, so that critical criteria order the marks under it.",
    "Inside a dimension a critical criterion weighs 5, a major one 3, a minor one 1.",
    "Provenance: model output is as the model gave it, a reconstruction was written by this project to show the "
    "behaviour described for a model's answer, a baseline is a solution written by this project, and is not ranked.",
)
"""How a mark is made and read."""


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
