"""Sources of marks: measured by running, or published by judges who read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from harness.model import Provenance, Round
from harness.review.published import published
from harness.scoring.duels import Duel, Duels, HeadToHead
from harness.scoring.marked import Marked
from harness.scoring.measured_marks import MeasuredMarks

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs


class MarkSource(StrEnum):
    """A source of marks."""

    MEASURED = "measured"
    PUBLISHED = "published"


@dataclass(frozen=True)
class Marks:
    """Marks from one source, with duels or comparisons.

    Attributes:
        marked: one per model and challenge.
        head_to_heads: comparisons of two models on a challenge.
    """

    source: MarkSource
    marked: tuple[Marked, ...]
    head_to_heads: Sequence[HeadToHead]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Models with marks, without baselines."""
        return tuple(sorted({m.model for m in self.marked if m.provenance is not Provenance.BASELINE}))

    def among(self, models: Sequence[str], challenges: Sequence[str]) -> "Marks":
        """Return the marks of these models on these challenges."""
        known, asked = {*models}, {*challenges}
        if isinstance(self.head_to_heads, Duels):
            fought: Sequence[HeadToHead] = self.head_to_heads.among(known, asked)
        else:
            all = self.head_to_heads
            fought = tuple(f for f in all if f.left in known and f.right in known and f.challenge in asked)
        marked = tuple(m for m in self.marked if m.model in known and m.challenge in asked)
        return Marks(self.source, marked, fought)

    def on(self, challenges: Collection[str]) -> "Marks":
        """Return the marks on these challenges."""
        if all(m.challenge in challenges for m in self.marked):
            return self
        return Marks(
            self.source,
            tuple(m for m in self.marked if m.challenge in challenges),
            tuple(f for f in self.head_to_heads if f.challenge in challenges),
        )

    def between(self, left: str, right: str) -> tuple[HeadToHead, ...]:
        """Return the comparisons of two models, in either order."""
        return tuple(self._by_pair.get(frozenset((left, right)), ()))

    def of(self, model: str) -> tuple[HeadToHead, ...]:
        """Return the comparisons of one model with any other."""
        return tuple(self._by_model.get(model, ()))

    @cached_property
    def _by_model(self) -> Mapping[str, Sequence[HeadToHead]]:
        found: dict[str, list[HeadToHead]] = {}
        for result in self.head_to_heads:
            for model in (result.left, result.right):
                found.setdefault(model, []).append(result)
        return found

    @cached_property
    def _by_pair(self) -> Mapping[frozenset[str], Sequence[HeadToHead]]:
        pairs: dict[frozenset[str], list[HeadToHead]] = {}
        for result in self.head_to_heads:
            pairs.setdefault(frozenset((result.left, result.right)), []).append(result)
        return pairs


def marks(inputs: "ReportInputs", source: MarkSource, round: Round | None = None) -> Marks:
    """Return the marks of one source.

    Args:
        round: only its models and challenges, by preference with the published marks of its own reviews.
    """
    if source is MarkSource.MEASURED:
        found = measured_marks(inputs.measured)
        return found.among(round.models, round.challenges) if round else found
    own = published(inputs.reviews, round.id) if round else ()
    if round and own:
        return Marks(source, own, tuple(_by_overalls(own))).among(round.models, round.challenges)
    found = Marks(source, published(inputs.reviews), tuple(inputs.comparisons))
    return found.among(round.models, round.challenges) if round else found


def measured_marks(measured: MeasuredMarks) -> Marks:
    """Return all measured marks of known challenges."""
    return Marks(MarkSource.MEASURED, measured.known, measured.duels)


def _by_overalls(marked: Iterable[Marked]) -> Iterable[Duel]:
    """Yield duels that any lead in overalls wins, as with judges."""
    by_challenge: dict[str, list[Marked]] = {}
    for one in sorted(marked, key=lambda m: (m.challenge, m.model)):
        by_challenge.setdefault(one.challenge, []).append(one)
    for id, own in by_challenge.items():
        for left, right in combinations(own, 2):
            yield Duel(id, left.model, right.model, left.overall.score, right.overall.score, 0, noise=0.0)
