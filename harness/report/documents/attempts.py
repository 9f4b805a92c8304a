"""Several attempts of a model at a challenge."""

from collections.abc import Iterable, Iterator

from harness.model import Challenge
from harness.report import document as doc
from harness.report.views.attempts import AttemptsReport, attempts_report
from harness.scoring.attempts import Attempts

HOW = (
    "A mark of several attempts is their mean; its interval holds the mean when the attempts are drawn anew, whatever "
    "the parts not assessed would bring. SD is the sample standard deviation. An attempt passes that builds and fails "
    "no critical criterion; pass@k is the chance that at least one of k attempts passes."
)


def show_attempts(challenge: Challenge, attempts: Attempts) -> tuple[doc.Block, ...]:
    """Return the page of a model's attempts at a challenge."""
    report = attempts_report(challenge, attempts)
    last = doc.Paragraph(("One attempt: ", doc.code(f"harness show {report.rows[0].name}")))
    return doc.Heading(f"{report.attempts.model}/{report.attempts.challenge}", 1), *attempts_blocks(report), last


def attempts_blocks(report: AttemptsReport, level: int = 2) -> Iterator[doc.Block]:
    """Yield the figures of the attempts, then what each of them, each criterion and each fault comes to."""
    subject = f"of {report.attempts.model} at {report.attempts.challenge}"
    yield doc.Facts(report.figures)
    lines = ((doc.code(row.name), row.mark, row.passes, row.gravest) for row in report.rows)
    yield doc.table(("Attempt", "Mark", "Passes", "Gravest finding"), lines, f"Attempts {subject}")
    missed = (((count.title, " (", doc.code(count.id), ")"), count.severity, count.met) for count in report.missed)
    rows = doc.table(("Criterion", "Severity", "Attempts"), missed, f"Criteria not met by every attempt {subject}")
    yield from doc.section("Criteria that not every attempt meets", rows, level=level)
    more = [(f"{report.more} more; see the attempts", "", "")] if report.more else []
    found = (*((title, weight, count) for weight, title, count in report.faults), *more)
    rows = doc.table(("Finding", "Severity", "Attempts"), found, f"Findings {subject}")
    yield from doc.section("Findings of all attempts, the gravest first", rows, level=level)
    if report.met_by_all:
        yield doc.Paragraph(("Met by every attempt: ", doc.codes(report.met_by_all), "."))


def attempts_table(reports: Iterable[AttemptsReport]) -> doc.Table:
    """Return a row per model and challenge with several attempts."""
    lines = []
    for one in reports:
        figures = dict(one.figures)
        shares = ", ".join((f"{figures['Pass']} pass", *(f"pass@{k} {share}" for k, share in one.pass_at)))
        spread = f"{figures['Worst']} to {figures['Best']}"
        mean = f"{figures['Mean']}, SD {figures['Standard deviation']}"
        lines.append((one.attempts.model, one.attempts.challenge, one.count, mean, spread, shares))
    return doc.table(("Model", "Challenge", "Attempts", "Mean", "Worst to best", "Passes"), lines, "Attempts")
