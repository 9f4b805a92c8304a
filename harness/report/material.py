"""What reports are made from, read once; everything after it is a pure function."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.model import Challenge, Comparison, Defect, Ranking, Record, Review, Round
from harness.report.code import Sources, named_files
from harness.review import reviews_of
from harness.review.defects import read_defects
from harness.review.published import read_comparisons, read_ranking, read_rounds
from harness.workspace import Workspace


@dataclass(frozen=True)
class Material:
    """Everything that reports are made from.

    Attributes:
        challenges: the rubrics.
        records: one for each submission graded.
        reviews: of any kind.
        rounds: named groups of models.
        comparisons: published two-way tables.
        ranking: the published final order; None where there is none.
        defects: what published reviews said is wrong.
        sources: the files that findings speak of; where one is not there, its lines are not shown.
    """

    challenges: Sequence[Challenge]
    records: Sequence[Record] = ()
    reviews: Sequence[Review] = ()
    rounds: Sequence[Round] = ()
    comparisons: Sequence[Comparison] = ()
    ranking: Ranking | None = None
    defects: Sequence[Defect] = ()
    sources: Sources = field(default_factory=dict)

    def challenge(self, id: str) -> Challenge | None:
        """The rubric of that id; None where it is not here."""
        return next((c for c in self.challenges if c.id == id), None)


def gather(workspace: Workspace) -> Material:
    """Read all of it.

    Raises:
        SpecError: a challenge, a review or a file of published figures is malformed.
        StoreError: a record cannot be read.
    """
    records = tuple(workspace.records())
    return Material(
        challenges=tuple(workspace.challenge(id) for id in workspace.challenges()),
        records=records,
        reviews=reviews_of(workspace),
        rounds=read_rounds(workspace),
        comparisons=read_comparisons(workspace),
        ranking=read_ranking(workspace),
        defects=read_defects(workspace),
        sources=named_files(workspace.root / "submissions", records),
    )
