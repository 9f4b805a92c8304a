"""What the original prompts did not ask for: the board without it and with it, and why."""

from collections.abc import Iterator

from harness.report import document as doc
from harness.report.views.board.not_asked_board import AskedPrompt, MarkPair, NotAskedBoard


def not_asked_page(board: NotAskedBoard) -> Iterator[doc.Block]:
    """Yield the page."""
    yield doc.Heading("What the original prompts did not ask for", 1)
    exception: doc.Inline = ()
    if board.builds:
        built = " cannot be run, and has the gate of a failed build, asked or not. "
        exception = (" One exception: what fails ", doc.codes(board.builds), built)
    yield doc.Paragraph(
        (
            "The answers of a collection were written to prompts of their own, which did not ask for everything that "
            "is probed here. Such criteria are run and shown, and enter no mark, gate, rank or comparison.",
            exception or " ",
            "Here the marks as they count stand beside those that the same evidence gives when these criteria count as "
            "well. Criteria that our adapter decides count in neither. An answer that is named neither as meeting a "
            "criterion nor as "
            "not meeting it was not assessed there. Back to the ",
            doc.link("scoreboard", "scoreboard.md"),
            ".",
        )
    )
    yield doc.Heading("The board without and with them")
    yield doc.Paragraph(
        f"{board.changed} of {board.marks} marks change; those that do are bold. Place and mean are over the "
        f"{board.of} challenges that the scoreboard counts; a place in brackets is provisional, and of how many "
        "challenges a mean is stands behind it where some are missing."
    )
    lines = ((row.model, *_pair(row.place), *_pair(row.mean)) for row in board.rows)
    yield doc.table(("Model", "Place", "with", "Mean", "with"), lines, "Places")
    yield _marks(board)
    for prompt in board.prompts:
        yield from _prompt(prompt)


def _pair(pair: MarkPair) -> tuple[doc.Inline, doc.Inline]:
    if not pair.without:
        return "–", "–"
    return pair.without, doc.strong(pair.having) if pair.differ else pair.having


def _marks(board: NotAskedBoard) -> doc.Table:
    lines = (
        (
            doc.link(challenge.title, f"{challenge.id}.md"),
            doc.joined(
                (
                    (f"{row.model} {pair.without} → ", _pair(pair)[1])
                    for row in board.rows
                    if (pair := row.marks[number]).without
                ),
                "; ",
            ),
        )
        for number, challenge in enumerate(board.challenges)
    )
    return doc.table(("Challenge", "Mark without → with"), lines, "Marks")


def _prompt(prompt: AskedPrompt) -> Iterator[doc.Block]:
    yield doc.Heading(prompt.challenge.title)
    yield doc.List(
        tuple(
            (
                f"{', '.join(models)}: written to ",
                doc.code(path),
                f" of the collection {prompt.collection}, SHA-256 ",
                doc.code(sha256),
                ".",
            )
            for path, sha256, models in prompt.prompts
        )
    )
    if prompt.criteria:
        lines = (
            (
                doc.code(one.criterion),
                one.severity.value,
                one.reason,
                "; ".join(one.unmet) or "–",
                ", ".join(one.met) or "–",
            )
            for one in prompt.criteria
        )
        titles = ("Criterion", "Severity", "Why it was not asked", "Not met, or in part, by", "Met by")
        yield doc.table(titles, lines, prompt.challenge.title)
    if prompt.contradicted:
        yield doc.Paragraph("Asked for, and the contrary as well; it counts, and this stands beside the finding:")
        yield doc.List(tuple((doc.code(criterion), f": {how}") for criterion, how in prompt.contradicted))
