"""The board with and without criteria that the original prompts did not ask for, from the same records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Outcome, Record, Severity, Status
from harness.report import formatting
from harness.report.views.board.rows import mean
from harness.report.views.inputs import ReportInputs
from harness.report.views.submission import grouped
from harness.scoring import Standing, score, standings
from harness.scoring.doubts import DoubtKind


@dataclass(frozen=True)
class MarkPair:
    """A mark without (as it counts) and with criteria not asked for; empty without a record."""

    without: str = ""
    having: str = ""

    @property
    def differ(self) -> bool:
        """True if these criteria change it."""
        return self.without != self.having


@dataclass(frozen=True)
class PairRow:
    """One model: place, mean over the compared challenges, and marks, all in pairs."""

    model: str
    place: MarkPair
    mean: MarkPair
    marks: tuple[MarkPair, ...]


@dataclass(frozen=True)
class CriterionNotAsked:
    """A criterion outside a prompt, why, and the models that meet it, or miss it with what was seen."""

    criterion: str
    severity: Severity
    reason: str
    met: tuple[str, ...]
    unmet: tuple[str, ...]


@dataclass(frozen=True)
class AskedPrompt:
    """Prompts of a collection's answers to one challenge.

    Attributes:
        prompts: path and SHA-256 of each prompt, and the models that answered it.
        contradicted: criteria whose contrary was also asked for, and how.
    """

    challenge: Challenge
    collection: str
    prompts: tuple[tuple[str, str, tuple[str, ...]], ...]
    criteria: tuple[CriterionNotAsked, ...]
    contradicted: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class NotAskedBoard:
    """Everything on the page; `builds` are criteria not asked for that decide whether anything could be run."""

    challenges: tuple[Challenge, ...]
    of: int
    rows: tuple[PairRow, ...]
    prompts: tuple[AskedPrompt, ...]
    builds: tuple[str, ...] = ()

    @property
    def changed(self) -> int:
        """Number of marks that differ."""
        return sum(pair.differ for row in self.rows for pair in row.marks)

    @property
    def marks(self) -> int:
        """Number of marks."""
        return sum(bool(pair.without) for row in self.rows for pair in row.marks)


def not_asked_board(inputs: ReportInputs, compared: Sequence[str]) -> NotAskedBoard:
    """Return the marks of collections' answers, both ways.

    Args:
        inputs: records of an older rubric are left out.
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
    asked = tuple(known[id] for id in sorted({r.challenge for r in records}))
    before, after = ({p.model: p for p in standings(some, compared)} for some in (records, whole))
    pairs = {
        (r.model, r.challenge): MarkPair(formatting.mark(r.overall.score), formatting.mark(w.overall.score))
        for r, w in zip(records, whole, strict=True)
    }
    rows = tuple(
        PairRow(
            model,
            MarkPair(place.place, after[model].place),
            MarkPair(_mean(place), _mean(after[model])),
            tuple(pairs.get((model, challenge.id), MarkPair()) for challenge in asked),
        )
        for model, place in before.items()
    )
    named = {(r.challenge, id) for r in records if r.origin for id in r.origin.not_asked}
    builds = {id for challenge, id in named if known[challenge].criterion(id).compiler == "compiles"}
    return NotAskedBoard(asked, len(compared), rows, tuple(_prompts(asked, records)), tuple(sorted(builds)))


def _with_everything(challenge: Challenge, record: Record) -> Record:
    assert record.origin is not None
    scored = score(challenge, record.evidence, built=record.build is None, unmarked=record.origin.not_charged)
    return record.model_copy(update={"overall": scored.overall, "dimensions": scored.dimensions})


def _prompts(challenges: Iterable[Challenge], records: Iterable[Record]) -> Iterator[AskedPrompt]:
    by_challenge: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        assert record.origin is not None
        by_challenge.setdefault(record.challenge, {}).setdefault(record.origin.collection, []).append(record)
    for challenge in challenges:
        for own in by_challenge[challenge.id].values():
            origin = own[0].origin
            assert origin is not None
            if origin.not_asked or origin.contradicted:
                criteria = tuple(_criterion(challenge, id, why, own) for id, why in origin.not_asked.items())
                contradicted = tuple(origin.contradicted.items())
                yield AskedPrompt(challenge, origin.collection, tuple(_written_to(own)), criteria, contradicted)


def _written_to(own: Iterable[Record]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    models: dict[tuple[str, str], list[str]] = {}
    for record in own:
        if record.origin and record.origin.prompt and record.origin.prompt_sha256:
            models.setdefault((record.origin.prompt, record.origin.prompt_sha256), []).append(record.model)
    yield from ((*prompt, tuple(names)) for prompt, names in models.items())


def _criterion(challenge: Challenge, id: str, reason: str, own: Iterable[Record]) -> CriterionNotAsked:
    seen = {r.model: e for r in own for e in r.evidence if e.criterion == id}
    met = tuple(model for model, e in seen.items() if e.outcome is Outcome.PASSED)
    missed = grouped((formatting.seen(e), model) for model, e in seen.items() if e.faulty)
    unmet = tuple(f"{what} ({', '.join(models)})" for what, models in missed.items())
    return CriterionNotAsked(id, challenge.criterion(id).severity, reason, met, unmet)


def _mean(place: Standing) -> str:
    return ", ".join((formatting.whole(place.mean), *mean(place)[1:]))
