"""The order of models on a scoreboard: the plain mean of their overalls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from harness.model import Provenance, Record, Status
from harness.scoring.marks import exact

MEDAL_COVERAGE = 0.7
MEDALS = {1: "gold", 2: "silver", 3: "bronze"}


@dataclass(frozen=True)
class Standing:
    """Where one model stands.

    Attributes:
        model: which.
        provenance: where its files come from; more than one where its submissions differ.
        mean: of its overalls, 0 to 100; None when it has none.
        coverage: mean coverage of those overalls.
        graded: challenges it has an overall on.
        of: challenges compared.
        rank: 1 is best, equal means share one; None when it is not ranked.
        medal: gold, silver, bronze or none.
        note: why it has no rank or no medal, empty otherwise.
    """

    model: str
    provenance: tuple[Provenance, ...]
    mean: float | None
    coverage: float
    graded: int
    of: int
    rank: int | None = None
    medal: str | None = None
    note: str = ""


def standings(records: Iterable[Record], challenges: Sequence[str]) -> tuple[Standing, ...]:
    """All models, the best first, then those that are not ranked, baselines last; equal means by name.

    Not ranked are baselines, which are ours, models without an overall on every challenge, whose mean compares
    with nobody's, and models with a grade that does not count (a seed chosen by hand, or a part of the probes).

    Args:
        records: one for each submission graded, in any order.
        challenges: ids of the challenges compared.
    """
    by_model: dict[str, list[Record]] = {}
    for record in records:
        if record.challenge in challenges:
            by_model.setdefault(record.model, []).append(record)
    rows = [_Row(model, by_model[model], len(challenges)) for model in sorted(by_model)]
    ranked = [row.mean for row in rows if row.mean is not None and not row.unranked]
    rows.sort(key=lambda row: (row.baseline, bool(row.unranked), -(row.mean if row.mean is not None else -1)))
    return tuple(row.standing(ranked) for row in rows)


class _Row:
    """One model's records on the way to its standing."""

    def __init__(self, model: str, records: Sequence[Record], of: int) -> None:
        self.model = model
        self.of = of
        self.provenance = tuple(sorted({r.provenance for r in records}))
        self.baseline = Provenance.BASELINE in self.provenance
        marks = [r.overall for r in records if r.status is not Status.JUDGE_ERROR and r.overall.score is not None]
        self.graded = len(marks)
        total = sum((exact(m.score) for m in marks if m.score is not None), Fraction(0))
        self.mean = total / self.graded if marks else None
        self.coverage = float(sum((exact(m.coverage) for m in marks), Fraction(0)) / self.graded) if marks else 0.0
        self.unranked = self._why_unranked(all(r.ranked for r in records))

    def _why_unranked(self, counts: bool) -> str:
        if self.baseline:
            return "ours, not ranked"
        if self.graded < self.of:
            return f"not ranked: graded on {self.graded} of {self.of} challenges"
        return "" if counts else "not ranked: seed chosen by hand, or only a part of the probes ran"

    def standing(self, means: Sequence[Fraction]) -> Standing:
        """Its place among the `means` of all ranked models."""
        rank, medal, note = None, None, self.unranked
        if self.mean is not None and not note:
            rank = 1 + sum(mean > self.mean for mean in means)
            covered = self.coverage >= MEDAL_COVERAGE
            medal = MEDALS.get(rank) if covered and len(means) > 1 else None
            note = (
                ""
                if covered or rank not in MEDALS
                else f"no medal: less than {MEDAL_COVERAGE:.0%} of the rubric was assessed"
            )
        mean = None if self.mean is None else float(self.mean)
        return Standing(
            self.model, self.provenance, mean, self.coverage, self.graded, self.of, rank, medal, note
        )  # fmt: skip
