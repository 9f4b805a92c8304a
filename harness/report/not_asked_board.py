"""The board with and without what the original prompts did not ask for, from the evidence of the same records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Outcome, Record, Score, Severity, Status
from harness.report import formatting
from harness.report.board_rows import Column, mean
from harness.report.inputs import ReportInputs
from harness.scoring import Standing, score, standings
from harness.scoring.doubts import DoubtKind


@dataclass(frozen=True)
class MarkPair:
    """A mark as it counts, and as it would be with what was not asked; empty without a record."""

    without: str = ""
    having: str = ""

    @property
    def differ(self) -> bool:
        """Whether what was not asked changes it."""
        return self.without != self.having


@dataclass(frozen=True)
class PairRow:
    """One model: its place and its mean of the challenges that count, both ways, then its marks."""

    model: str
    place: MarkPair
    mean: MarkPair
    marks: tuple[MarkPair, ...]


@dataclass(frozen=True)
class CriterionNotAsked:
    """A criterion that a prompt did not ask for, why that is so, and the models that meet it or do not."""

    criterion: str
    severity: Severity
    reason: str
    met: tuple[str, ...]
    unmet: tuple[str, ...]


@dataclass(frozen=True)
class AskedPrompt:
    """What the answers of a collection to one challenge were written to.

    Attributes:
        challenge: its column.
        collection: its id.
        prompts: path and SHA-256 of each prompt, and the models that answered it.
        criteria: those that were not asked for.
        contradicted: those that were asked for, and the contrary elsewhere, and how.
    """

    challenge: Column
    collection: str
    prompts: tuple[tuple[str, str, tuple[str, ...]], ...]
    criteria: tuple[CriterionNotAsked, ...]
    contradicted: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class NotAskedBoard:
    """Everything on the page."""

    columns: tuple[Column, ...]
    of: int
    rows: tuple[PairRow, ...]
    prompts: tuple[AskedPrompt, ...]

    @property
    def changed(self) -> int:
        """How many marks what was not asked changes."""
        return sum(pair.differ for row in self.rows for pair in row.marks)

    @property
    def marks(self) -> int:
        """How many marks there are."""
        return sum(bool(pair.without) for row in self.rows for pair in row.marks)


def not_asked_board(inputs: ReportInputs, compared: Sequence[str]) -> NotAskedBoard:
    """Return the marks of the answers of collections, both ways.

    Args:
        inputs: what there is; records that the rubric of today did not make are left out.
        compared: ids of the challenges that the board ranks over.
    """
    known = {c.id: c for c in inputs.challenges}
    records = [
        r
        for r in sorted(inputs.records, key=lambda r: (r.challenge, r.submission_name.order))
        if r.origin
        and r.challenge in known
        and r.status is not Status.JUDGE_ERROR
        and DoubtKind.OLDER_RUBRIC not in inputs.doubts.get(r.name, ())
    ]
    whole = [_with_everything(known[r.challenge], r) for r in records]
    columns = tuple(Column(id, known[id].title) for id in sorted({r.challenge for r in records}))
    before, after = ({p.model: p for p in standings(some, compared)} for some in (records, whole))
    pairs = {
        (r.model, r.challenge): MarkPair(_mark(r.overall), _mark(w.overall))
        for r, w in zip(records, whole, strict=True)
    }
    rows = tuple(
        PairRow(
            model,
            MarkPair(place.place, after[model].place),
            MarkPair(_mean(place), _mean(after[model])),
            tuple(pairs.get((model, column.id), MarkPair()) for column in columns),
        )
        for model, place in before.items()
    )
    return NotAskedBoard(columns, len(compared), rows, tuple(_prompts(columns, known, records)))


def _with_everything(challenge: Challenge, record: Record) -> Record:
    """The record with the marks that its evidence has when what was not asked counts."""
    assert record.origin is not None
    scored = score(challenge, record.evidence, built=record.build is None, unmarked=record.origin.not_charged)
    return record.model_copy(update={"overall": scored.overall, "dimensions": scored.dimensions})


def _prompts(
    columns: Iterable[Column], known: Mapping[str, Challenge], records: Iterable[Record]
) -> Iterator[AskedPrompt]:
    by_challenge: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        assert record.origin is not None
        by_challenge.setdefault(record.challenge, {}).setdefault(record.origin.collection, []).append(record)
    for column in columns:
        for own in by_challenge[column.id].values():
            origin = own[0].origin
            assert origin is not None
            if origin.not_asked or origin.contradicted:
                criteria = tuple(_criterion(known[column.id], id, why, own) for id, why in origin.not_asked.items())
                contradicted = tuple(origin.contradicted.items())
                yield AskedPrompt(column, origin.collection, tuple(_written_to(own)), criteria, contradicted)


def _written_to(own: Iterable[Record]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Each prompt, its SHA-256, and the models that answered it."""
    models: dict[tuple[str, str], list[str]] = {}
    for record in own:
        if record.origin and record.origin.prompt and record.origin.prompt_sha256:
            models.setdefault((record.origin.prompt, record.origin.prompt_sha256), []).append(record.model)
    yield from ((*prompt, tuple(names)) for prompt, names in models.items())


def _criterion(challenge: Challenge, id: str, reason: str, own: Iterable[Record]) -> CriterionNotAsked:
    seen = {r.model: e for r in own for e in r.evidence if e.criterion == id}
    met = tuple(model for model, e in seen.items() if e.outcome is Outcome.PASSED)
    unmet = tuple(model for model, e in seen.items() if e.faulty)
    return CriterionNotAsked(id, challenge.criterion(id).severity, reason, met, unmet)


def _mark(overall: Score) -> str:
    return formatting.mark(overall.score)


def _mean(place: Standing) -> str:
    return ", ".join((formatting.whole(place.mean), *mean(place)[1:]))
