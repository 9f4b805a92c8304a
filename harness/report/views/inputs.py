"""Inputs of reports, read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from harness.model import (
    Challenge,
    ChallengeSuite,
    Comparison,
    LetterGrades,
    PublishedDefect,
    Ranking,
    Record,
    Review,
    Round,
)
from harness.model.workspace_settings import TITLE
from harness.report.views.excerpts import Sources, cited_files
from harness.report.views.origins import unfetched
from harness.review import reviews_of
from harness.review.defects import read_defects
from harness.review.published import read_comparisons, read_letters, read_ranking, read_rounds
from harness.scoring.doubts import DoubtKind
from harness.scoring.duels import duels
from harness.scoring.measured_marks import MeasuredMarks
from harness.scoring.record_summary import RecordSummary
from harness.store.own_suite import list_missing_ranks, ranking_suite, suites_beside
from harness.store.record_store import Store
from harness.workspace import Workspace


@dataclass(frozen=True)
class ReportInputs:
    """Everything that reports are made from.

    Attributes:
        comparisons: published comparisons of two models.
        ranking: published final order, if any.
        sources: files that findings cite, as far as present.
        unfetched: collections whose answers are not on this machine.
        suite: suite that models are ranked over, if any.
        suites: all suites, for places beside the ranks.
        removed: names of omitted records, whose submissions are gone.
        left_out: names of omitted records, unreadable or untrusted.
        doubts: doubts about the records, by name.
        unranked: reasons why challenges of the workspace rank nobody.
        earlier: other grades made on this machine of the records' submissions, the latest last.
        title: of the page of everything.
    """

    challenges: Sequence[Challenge]
    records: Sequence[Record] = ()
    reviews: Sequence[Review] = ()
    rounds: Sequence[Round] = ()
    comparisons: Sequence[Comparison] = ()
    ranking: Ranking | None = None
    letters: Sequence[LetterGrades] = ()
    defects: Sequence[PublishedDefect] = ()
    sources: Sources = field(default_factory=dict)
    unfetched: frozenset[str] = frozenset()
    suite: ChallengeSuite | None = None
    suites: Sequence[ChallengeSuite] = ()
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    doubts: Mapping[str, tuple[DoubtKind, ...]] = field(default_factory=dict)
    unranked: tuple[str, ...] = ()
    earlier: Sequence[Record] = ()
    title: str = TITLE

    @cached_property
    def measured(self) -> MeasuredMarks:
        """Marks of the records."""
        summaries = tuple(RecordSummary.of(r, self.doubts.get(r.name, ())) for r in self.records)
        fought = duels(self.challenges, summaries)
        return MeasuredMarks(tuple(self.challenges), summaries, fought, self.removed, self.left_out)


def gather(workspace: Workspace) -> ReportInputs:
    """Read the inputs of all reports.

    Raises:
        SpecError: a challenge, a review or a file of published figures is malformed.
    """
    store = Store(workspace)
    published = store.published.read()
    records = tuple(published.records)
    return ReportInputs(
        challenges=tuple(workspace.challenge(id) for id in workspace.challenges()),
        records=records,
        reviews=reviews_of(workspace),
        rounds=read_rounds(workspace),
        comparisons=read_comparisons(workspace),
        ranking=read_ranking(workspace),
        letters=read_letters(workspace),
        defects=read_defects(workspace),
        sources=cited_files(workspace.folder_of, records),
        unfetched=unfetched(workspace),
        suite=ranking_suite(workspace),
        suites=suites_beside(workspace),
        removed=published.removed,
        left_out=published.left_out,
        doubts=published.doubts,
        unranked=list_missing_ranks(workspace),
        earlier=read_earlier(store, records),
        title=workspace.settings.title,
    )


def read_earlier(store: Store, records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the local records of submissions that were graded several times here, without `records` themselves."""
    several = {(kept.model, kept.challenge) for kept in store.summary() if kept.records > 1}
    own = {(r.name, r.key) for r in records if (r.model, r.challenge) in several}
    names = {name for name, _ in own}
    found = (r for r in (store.records() if own else ()) if r.name in names and (r.name, r.key) not in own)
    return tuple(sorted(found, key=lambda r: (r.name, r.made)))
