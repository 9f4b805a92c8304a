"""All measured marks together: rubrics, records in short, and who won against whom."""

from dataclasses import dataclass
from functools import cached_property

from harness.model import Challenge
from harness.scoring.duels import Duels
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class MeasuredMarks:
    """What tables of measured marks are made from.

    Attributes:
        challenges: the rubrics.
        summaries: one for each record.
        duels: every two models on every challenge both have a grade on.
    """

    challenges: tuple[Challenge, ...]
    summaries: tuple[RecordSummary, ...]
    duels: Duels

    @cached_property
    def known(self) -> tuple[RecordSummary, ...]:
        """The records of challenges that are here."""
        rubrics = {challenge.id for challenge in self.challenges}
        return tuple(summary for summary in self.summaries if summary.challenge in rubrics)
