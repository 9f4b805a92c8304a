"""All measured marks."""

from dataclasses import dataclass
from functools import cached_property

from harness.model import Challenge
from harness.scoring.attempts import MeasuredAnswer, by_answer
from harness.scoring.duels import Duels
from harness.scoring.memory import NO_MEMORY, FigureMemory
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class MeasuredMarks:
    """Data behind the tables of measured marks.

    Attributes:
        removed: records whose submissions are gone.
        left_out: unreadable and refused records.
    """

    challenges: tuple[Challenge, ...]
    summaries: tuple[RecordSummary, ...]
    duels: Duels
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    memory: FigureMemory = NO_MEMORY

    @cached_property
    def known(self) -> tuple[MeasuredAnswer, ...]:
        """Submissions to known challenges, one per model and challenge."""
        rubrics = {challenge.id for challenge in self.challenges}
        return by_answer((summary for summary in self.summaries if summary.challenge in rubrics), self.memory)
