"""All measured marks together: rubrics, records in short, and who won against whom."""

from dataclasses import dataclass
from functools import cached_property

from harness.model import Challenge
from harness.scoring.attempts import MeasuredAnswer, by_answer
from harness.scoring.duels import Duels
from harness.scoring.memory import NO_MEMORY, FigureMemory
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class MeasuredMarks:
    """What tables of measured marks are made from.

    Attributes:
        challenges: the rubrics.
        summaries: one for each record.
        duels: every two models on every challenge both have a grade on.
        removed: names of records that are left out: their submissions are gone.
        left_out: names of records that are left out: they cannot be read, or be believed.
        memory: of figures made from them.
    """

    challenges: tuple[Challenge, ...]
    summaries: tuple[RecordSummary, ...]
    duels: Duels
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    memory: FigureMemory = NO_MEMORY

    @cached_property
    def known(self) -> tuple[MeasuredAnswer, ...]:
        """What models answered to challenges that are here, one for each model and challenge."""
        rubrics = {challenge.id for challenge in self.challenges}
        return by_answer((summary for summary in self.summaries if summary.challenge in rubrics), self.memory)
