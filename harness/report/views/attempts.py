"""Several attempts at a challenge, in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.model import INTEGRITY, Challenge, Status
from harness.report import formatting
from harness.scoring.attempts import Attempts, CriterionTally, passes
from harness.scoring.record_summary import RecordSummary

NO_FIGURE = "–"
ALL_K = 5
"""Largest k up to which every pass@k is listed; beyond it 10, 20, 50 and so on, and the number of attempts."""
MOST_FAULTS = 12
"""Most faults listed."""


@dataclass(frozen=True)
class AttemptRow:
    """One attempt; `name` is its name on the command line."""

    name: str
    mark: str
    passes: str
    gravest: str


@dataclass(frozen=True)
class CriterionCount:
    """Number of attempts that meet a criterion; `short` if some miss it."""

    id: str
    title: str
    severity: str
    met: str
    short: bool


@dataclass(frozen=True)
class AttemptsReport:
    """Several attempts of one model at one challenge, in words; of the faults, gravest first, `more` are left out."""

    attempts: Attempts
    rows: tuple[AttemptRow, ...]
    criteria: tuple[CriterionCount, ...]
    faults: tuple[tuple[str, str, str], ...]
    more: int

    @property
    def count(self) -> str:
        """Number of attempts in all, with a mark and without code."""
        known, total = len(self.attempts.marked), len(self.attempts.summaries)
        marked = "" if known == total else f"{known} with a mark"
        return ", ".join(filter(None, (str(total), marked, gave_none(self.attempts), not_read(self.attempts))))

    @property
    def pass_at(self) -> tuple[tuple[str, str], ...]:
        """Pairs of k and the probability that one of k attempts passes."""
        shares = ((k, self.attempts.pass_at(k)) for k in _shown_k(len(self.attempts.marked)))
        return tuple((str(k), formatting.percent(share)) for k, share in shares)

    @property
    def gravest(self) -> str:
        """Gravest fault with its number of attempts, or empty."""
        return f"{self.faults[0][1]} (in {self.faults[0][2]})" if self.faults else ""

    @property
    def missed(self) -> tuple[CriterionCount, ...]:
        """Criteria that some attempt misses."""
        return tuple(count for count in self.criteria if count.short)

    @property
    def met_by_all(self) -> tuple[str, ...]:
        """Ids of the other criteria."""
        return tuple(count.id for count in self.criteria if not count.short)

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """Label and text of each figure over all attempts."""
        return (
            ("Attempts", self.count),
            ("Mean", formatting.standing(self.attempts.overall)),
            ("Standard deviation", deviation(self.attempts)),
            ("Best", _numbered(self.attempts.best)),
            ("Worst", _numbered(self.attempts.worst)),
            ("Pass", passed(self.attempts)),
            *((f"pass@{k}", share) for k, share in self.pass_at),
        )


def attempts_report(challenge: Challenge, attempts: Attempts) -> AttemptsReport:
    """Build the report of several attempts."""
    known = len(attempts.marked)
    tallies = {tally.criterion: tally for tally in attempts.criteria}
    criteria = tuple(
        CriterionCount(c.id, c.title.rstrip("."), c.severity.value, met(tally, known), tally.met < known)
        for c in challenge.criteria
        if (tally := tallies.get(c.id))
    )
    faults = common_faults(attempts)
    rows = tuple(map(_row, attempts.summaries))
    return AttemptsReport(attempts, rows, criteria, faults[:MOST_FAULTS], max(0, len(faults) - MOST_FAULTS))


def deviation(attempts: Attempts) -> str:
    """Return the sample standard deviation of the overalls."""
    return NO_FIGURE if attempts.deviation is None else formatting.mark(attempts.deviation)


def passed(attempts: Attempts) -> str:
    """Say how many of the marked attempts pass."""
    return f"{attempts.passed} of {len(attempts.marked)}"


def gave_none(attempts: Attempts) -> str:
    """Say how many marked attempts have a reply without code; empty if none has."""
    return (
        f"{attempts.unanswered} of {len(attempts.marked)} gave no code that can be graded"
        if attempts.unanswered
        else ""
    )


def not_read(attempts: Attempts) -> str:
    """Say how many attempts have an unreadable reply, and so count nowhere; empty if none has."""
    return f"{attempts.unread} of {len(attempts.summaries)} could not be read" if attempts.unread else ""


def mean_of(attempts: Attempts) -> str:
    """Describe the attempts behind a mean, to follow its mark."""
    count = len(attempts.marked)
    if count < 2:
        words = "1 attempt" if count else "no attempt has a mark"
    else:
        words = f"mean of {count} attempts, SD {deviation(attempts)}"
    return ", ".join(filter(None, (words, gave_none(attempts), not_read(attempts))))


def met(tally: CriterionTally, of: int) -> str:
    """Say how many attempts meet a criterion."""
    unseen = of - tally.assessed
    if not tally.assessed:
        return f"{formatting.NOT_ASSESSED} in any of {of}"
    return f"met by {tally.met} of {of}" + (f", {unseen} {formatting.NOT_ASSESSED}" if unseen else "")


def common_faults(attempts: Attempts) -> tuple[tuple[str, str, str], ...]:
    """Return severity, title and number of attempts of each fault, gravest first."""
    of = len(attempts.summaries)
    return tuple(
        (
            formatting.UNMARKED if fault.criterion == INTEGRITY else fault.severity.value,
            fault.title,
            f"{fault.attempts} of {of}",
        )
        for fault in attempts.faults
    )


def attempts_data(attempts: Attempts) -> dict[str, Any]:
    """Return the figures as JSON values."""
    marked = len(attempts.marked)
    return {
        "attempts": len(attempts.summaries),
        "marked": marked,
        "unanswered": attempts.unanswered,
        "unread": attempts.unread,
        "deviation": attempts.deviation,
        "best": attempts.best and attempts.best.overall.score,
        "worst": attempts.worst and attempts.worst.overall.score,
        "passed": attempts.passed,
        "pass_at": {str(k): attempts.pass_at(k) for k in range(1, marked + 1)},
    }


def _shown_k(n: int) -> Iterator[int]:
    yield from range(1, min(n, ALL_K) + 1)
    yield from (k for power in range(1, 7) for k in (10**power, 2 * 10**power, 5 * 10**power) if k < n)
    if n > ALL_K:
        yield n


def _numbered(summary: RecordSummary | None) -> str:
    if summary is None:
        return formatting.NOT_ASSESSED
    return f"{formatting.mark(summary.overall.score)} (attempt {summary.submission_name.attempt})"


def _row(summary: RecordSummary) -> AttemptRow:
    name = summary.submission_name
    status = "" if summary.status is Status.GRADED else f" ({formatting.status(summary.status)})"
    verdict = NO_FIGURE if summary.status is Status.JUDGE_ERROR else "yes" if passes(summary) else "no"
    gravest = next((found.title for found in summary.findings), "none")
    return AttemptRow(str(name), formatting.standing(summary.overall) + status, verdict, gravest)
