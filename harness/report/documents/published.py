"""What judges wrote beside what ran: marks, defects, and failures that no judge named."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from harness.report import document as doc
from harness.report import formatting
from harness.report.views.published.agreement import TauRow
from harness.report.views.published.defects import DefectRow, origin
from harness.report.views.published.published_vs_measured import ComparedMark, PublishedVsMeasured
from harness.review.defects import DefectRuling

KENDALL = "1 is the same order, -1 the reverse. p is the share of all orders that agree or disagree as much."


def published_page(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    """Yield the page: what disagrees most first."""
    yield doc.Heading("Published against measured", 1)
    yield doc.Paragraph(
        (
            "The published marks were written by judges who read these answers. The measured marks come from running "
            "them. This page shows the two side by side and never averages them: a published mark never enters a "
            "measured one. Back to the ",
            doc.link("scoreboard", "scoreboard.md"),
            ".",
        )
    )
    yield from _in_figures(found)
    yield doc.Heading("Failures that no judge named")
    yield from _failures(found)
    yield doc.Heading("Defects that were named")
    yield from _defects(found)
    yield doc.Heading("Marks")
    yield from _marks(found)
    if found.marks:
        yield doc.Heading("Agreement")
        yield from _agreement(found)
    yield doc.Heading("What is compared")
    yield from _compared(found)


def _linked(text: str, page: str, heading: str) -> doc.Inline:
    return doc.link(text, page, heading) if page else text


def _compared(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    if not found.origins:
        yield doc.Paragraph("Nothing: there are no published reviews and no published defects.")
    else:
        yield doc.List(tuple((f"{origin}: ", doc.codes(names)) for origin, names in found.origins))
    if found.lettered:
        were = f"{found.lettered} of these answers {'was' if found.lettered == 1 else 'were'} also given a letter."
        letters = doc.link("the letters beside the measured marks", "published/letters.md")
        yield doc.Paragraph((f"{were} No letter is a mark here: ", letters, "."))
    if found.reconstructed:
        yield doc.Paragraph(
            (
                doc.strong("A reconstruction is not the model's own file."),
                " It was written by this project to behave as is documented for the model's answer. So:",
            )
        )
        yield doc.List(
            (
                "Shown is that an answer that behaves as documented meets or fails what is listed here: it was "
                "compiled, run or counted, and every line leads to the record of it.",
                "Not shown is that the model's own file would. A difference of marks may come from the "
                "reconstruction, above all where size, style, speed or tests are marked. A defect that is "
                "confirmed here is confirmed of the documented behaviour.",
                "A mark based on the text of a reconstruction says nothing about the model's own text. It is labelled "
                "reconstructed text, and left out where the page says that it is.",
            )
        )


def _in_figures(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    yield doc.Heading("In figures")
    items = []
    if found.lines:
        outside = sum(not line.inside for line in found.lines)
        items.append(
            f"Dimensions marked by both sides: {len(found.lines)}. Measured minus published: "
            f"{found.mean_difference(found.lines)} points on average; {outside} of them have a published mark outside "
            "the measured interval."
        )
    if found.overalls:
        items.append(
            f"Overalls marked by both sides: {len(found.overalls)}. Measured minus published: "
            f"{found.mean_difference(found.overalls)} points on average."
        )
    if not items:
        items.append("No mark was given by both sides.")
    counts = (f"{word} {found.count(ruling)}" for word, ruling in _RULINGS)
    items.append(f"Defects that were named: {len(found.defects)}; {', '.join(counts)}.")
    items.append(f"Critical and major criteria not met that no named defect accounts for: {len(found.failures)}.")
    yield doc.List(tuple(items))
    if found.largest:
        left_out = ", marks of a reconstruction's text left out" if found.reconstructed else ""
        yield doc.Paragraph(f"The largest differences{left_out}:")
        lines = (
            (
                _linked(f"{line.model}/{line.challenge.id}", line.page, line.heading),
                origin(line.record),
                line.title,
                line.rounds,
                line.measured,
                line.difference_text,
            )
            for line in found.largest
        )
        titles = ("Submission", "Files", "Dimension", "Published", "Measured", "Difference")
        yield doc.table(titles, lines, "The largest differences")


_RULINGS = (
    ("confirmed", DefectRuling.CONFIRMED),
    ("refuted", DefectRuling.REFUTED),
    ("out of sight", DefectRuling.UNSEEN),
)


def _marks(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    if not found.marks:
        yield doc.Paragraph("No published review is about any of the challenges.")
        return
    yield doc.Paragraph(
        "The difference is the measured mark minus the mean of the published ones; inside and outside say whether "
        "these lie in the measured interval, whose ends count what was not assessed as lost and as met. A dimension "
        "without a measured mark has no difference. Passed criteria are not listed."
    )
    titles = ("Of what", "Files", "Published", "Measured", "Difference", "Behind the measured mark")
    for challenge, of in groupby(found.marks, key=lambda mark: mark.challenge.title):
        yield doc.Heading(challenge, 3)
        for model, own in groupby(of, key=lambda mark: mark.model):
            overall, *dimensions = own
            name = f"{model} on {overall.challenge.id}"
            lines = (
                (
                    _linked(line.title, line.page, line.heading),
                    origin(line.record),
                    line.rounds,
                    line.measured,
                    line.difference_text,
                    _behind(line, "all met" if line.dimension else "no gate"),
                )
                for line in (overall, *dimensions)
            )
            summary = f"{name}: published {overall.rounds}, measured {overall.measured}"
            yield doc.Fold(summary, (doc.table(titles, lines, name),))


def _behind(line: ComparedMark, nothing: str) -> doc.Inline:
    parts: list[doc.Inline] = [
        *(["reconstructed text"] if line.own_text else []),
        *line.reasons,
        *_grouped(line.behind),
    ]
    return doc.joined(parts, "; ") if parts or not line.page else nothing


def _grouped(groups: Mapping[str, Sequence[str]]) -> list[doc.Inline]:
    return [(reason, ": ", doc.codes(ids)) if ids[0] else reason for reason, ids in groups.items()]


def _agreement(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    yield doc.Paragraph(
        "Krippendorff's alpha, for marks on an interval scale: 1 is full agreement, 0 what chance would give, below 0 "
        "less than that. Krippendorff asks for 0.8, and draws no conclusion below 0.667. A unit is one dimension of "
        "one submission that both sides marked; published marks of several rounds are taken at their mean."
    )
    lines = ((row.scope, str(row.units), row.value) for row in found.agreements)
    yield doc.table(("Marks compared", doc.Column("Units", numeric=True), "Alpha"), lines, "Agreement of marks")
    yield doc.Paragraph(f"Kendall's tau-b between the two orders of models, by their overalls: {KENDALL}")
    yield orders("Models", found.orders)


def orders(what: str, rows: Sequence[TauRow]) -> doc.Table:
    """Return a table of agreements of orders."""
    lines = ((row.scope, str(row.order.models), row.tau, row.p) for row in rows)
    return doc.table(("Order", doc.Column(what, numeric=True), "Tau-b", "p"), lines, "Agreement of orders")


def _defects(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    if not found.defects:
        yield doc.Paragraph("None are listed.")
        return
    yield doc.Paragraph(
        "What running says follows from the records: confirmed where a criterion that would show the defect was not "
        "met, refuted where all of them were met, cannot see else. Confirmed is the fault, not the cause that was "
        "named for it: what the criterion saw stands beside it. How grave a defect was said to be is given as it was, "
        "the gravest where pages differ."
    )
    titles = ("Model", "Files", "Said", "Said to be", "Running says", "Because")
    ordered = sorted(found.defects, key=lambda row: row.defect.challenge)
    for challenge, rows in groupby(ordered, key=lambda row: row.defect.challenge):
        yield doc.Heading(f"Named on {challenge}", 3)
        yield doc.table(titles, map(_defect, rows), f"Defects named on {challenge}")
    if found.hidden:
        yield doc.Paragraph(f"Why running cannot see {found.count(DefectRuling.UNSEEN)} of them:")
        yield doc.List(tuple(f"{count}: {reason}." for reason, count in found.hidden))


def _defect(row: DefectRow) -> tuple[doc.Inline, ...]:
    defect, ruling = row.defect, row.ruling.value
    shown: list[doc.Inline] = [(doc.code(criterion), f": {sight}") for criterion, sight in row.shown]
    return (
        _linked(defect.model, row.page, row.heading),
        row.provenance,
        defect.said,
        defect.severity.value if defect.severity else "not stated",
        ruling if row.ruling is DefectRuling.UNSEEN else doc.strong(ruling),
        doc.joined([*shown, *_grouped(row.rest)], "; "),
    )


def _failures(found: PublishedVsMeasured) -> Iterator[doc.Block]:
    if not found.failures:
        yield doc.Paragraph("Nothing.")
        return
    text = ", and what was read off a reconstruction's text" if found.reconstructed else ""
    yield doc.Paragraph(
        "Critical and major criteria that were not met, or not wholly, in submissions with a published review, and "
        "that no confirmed defect accounts for; the critical ones first. Left out is what an answer does not "
        f"offer{text}."
    )
    lines = (
        (
            _linked(f"{row.record.model}/{row.record.challenge}", f"{row.record.challenge}.md", row.record.model),
            formatting.provenance(row.record.provenance),
            doc.code(row.evidence.criterion),
            row.evidence.severity.value,
            formatting.outcome(row.evidence),
            row.seen,
        )
        for row in found.failures
    )
    titles = ("Submission", "Files", "Criterion", "Severity", "Outcome", "Seen")
    yield doc.table(titles, lines, "Failures that no judge named")
    yield doc.Paragraph("What a probe saw can be seen again: `harness replay MODEL/CHALLENGE CRITERION`.")
