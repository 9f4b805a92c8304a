"""Two models compared criterion by criterion."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from rich.console import RenderableType, group
from rich.text import Text

from harness.model import Challenge, Criterion, Record, Status
from harness.report import formatting
from harness.report.escape import markdown, plain
from harness.report.tables import csv_text, markdown_table, text_table
from harness.report.views.answers import ModelAnswer, answers
from harness.report.views.attempts import attempts_data, mean_of, passed
from harness.report.views.criterion_sides import ABSENT, AnswerSides, CriterionSide, sides
from harness.report.views.duel_words import duel_sentence
from harness.report.views.notes import notes
from harness.scoring.doubts import DoubtKind
from harness.scoring.duels import Duel, attempts_duel, win_table
from harness.scoring.record_summary import RecordSummary

DRAWN = "where N are right, a fault in about 3 of N such cases would be missed once in 20 times"
"""Confidence of drawn cases; printed once, not per row."""
TALLY = "Tally of all challenges that both answered"
"""Heading of the tally; that of the scoreboard leaves out challenges that count in no rank."""


@dataclass(frozen=True)
class CriterionPair:
    """One criterion of both models."""

    criterion: Criterion
    left: CriterionSide
    right: CriterionSide

    @cached_property
    def measured(self) -> bool:
        """True if either side has a figure."""
        return self.left.measured or self.right.measured

    @property
    def drawn(self) -> bool:
        """True if a side has drawn cases, all of them right."""
        return any(
            side.evidence and side.evidence.draws and not side.evidence.draws.failed for side in (self.left, self.right)
        )

    @cached_property
    def lead(self) -> float | None:
        """Share met on the left less that on the right; None unless both were assessed."""
        if self.left.met is None or self.right.met is None:
            return None
        return self.left.met - self.right.met


@dataclass(frozen=True)
class ChallengeComparison:
    """One challenge that both have answered; rows are in rubric order."""

    challenge: Challenge
    left: ModelAnswer
    right: ModelAnswer
    duel: Duel
    rows: tuple[CriterionPair, ...]

    @property
    def apart(self) -> tuple[CriterionPair, ...]:
        """Criteria that differ, gravest first."""
        return tuple(row for row in self._gravest_first if row.lead)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Criteria that both miss wholly, gravest first."""
        return tuple(row.criterion.id for row in self._gravest_first if row.left.met == row.right.met == 0)

    @property
    def half_met(self) -> tuple[str, ...]:
        """Criteria that both meet in the same part, with that part, gravest first."""
        rows = (row for row in self._gravest_first if row.lead == 0 and row.left.met not in (0, 1))
        return tuple(f"{row.criterion.id} ({_parts_met(row)})" for row in rows)

    @property
    def _gravest_first(self) -> list[CriterionPair]:
        return sorted(self.rows, key=lambda row: -row.criterion.severity.weight)

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Criteria assessed on one side only, which no duel counts."""
        return tuple(r.criterion.id for r in self.rows if (r.left.met is None) != (r.right.met is None))

    @property
    def result(self) -> str:
        """Winner, margin and basis in a sentence."""
        return duel_sentence(self.duel, {a.model: a.marked.overall for a in (self.left, self.right)})


@dataclass(frozen=True)
class ModelComparison:
    """Two models on every challenge they share.

    Attributes:
        challenges: those with a record of both, by id.
        alone: `MODEL/CHALLENGE` with a record of one only.
        tally: duels won by each; a split is half for both.
        notes: warnings about comparing these records.
    """

    left: str
    right: str
    challenges: tuple[ChallengeComparison, ...]
    alone: tuple[str, ...]
    tally: tuple[float, float]
    notes: tuple[str, ...]


def compare(
    challenges: Iterable[Challenge],
    records: Iterable[Record],
    left: str,
    right: str,
    doubts: Mapping[str, tuple[DoubtKind, ...]] = MappingProxyType({}),
) -> ModelComparison:
    """Compare two models; only the duels are scored anew, on criteria assessed on both.

    Args:
        challenges: in any order; records of other challenges are left out, with a note.
        records: records of at least these two models, in any order.
        doubts: doubts about records, by name.
    """
    own = sorted((r for r in records if r.model in (left, right)), key=lambda r: (r.challenge, r.submission_name.order))
    by_name = {(answer.model, answer.challenge): answer for answer in answers(own)}
    rubrics = sorted(challenges, key=lambda c: c.id)
    both = [c for c in rubrics if (left, c.id) in by_name and (right, c.id) in by_name]
    pairs = [(by_name[left, c.id], by_name[right, c.id]) for c in both]
    found = tuple(
        compare_challenge(c, sides(one), sides(other), attempts_duel(c, one.records, other.records))
        for c, (one, other) in zip(both, pairs, strict=True)
    )
    shared = {c.id for c in both}
    wins = win_table([left, right], [one.duel for one in found])
    return ModelComparison(
        left,
        right,
        found,
        alone=tuple(dict.fromkeys(r.submission_name.answer for r in own if r.challenge not in shared)),
        tally=(float(wins[0, 1]), float(wins[1, 0])),
        notes=notes(rubrics, [RecordSummary.of(record, doubts.get(record.name, ())) for record in own]),
    )


def compare_challenge(challenge: Challenge, left: AnswerSides, right: AnswerSides, result: Duel) -> ChallengeComparison:
    """Compare two answers to one challenge criterion by criterion."""
    left_sides, right_sides = left.by_criterion, right.by_criterion
    rows = tuple(
        CriterionPair(c, left_sides.get(c.id, ABSENT), right_sides.get(c.id, ABSENT)) for c in challenge.criteria
    )
    return ChallengeComparison(challenge, left.answer, right.answer, result, rows)


def _parts_met(row: CriterionPair) -> str:
    return " and ".join(dict.fromkeys(side.share for side in (row.left, row.right)))


@group()
def compared_table(compared: ModelComparison) -> Iterator[RenderableType]:
    """Lay the comparison out for a terminal of any width."""
    for shared in compared.challenges:
        yield Text(f"{plain(shared.challenge.title)} ({shared.challenge.id})", style="bold")
        yield text_table(_mark_titles(shared), _marks(shared))
        yield Text(shared.result)
        if shared.apart:
            yield Text("\nWhat tells them apart", style="bold")
            yield text_table(_apart_titles(compared), _apart(shared))
        for label, ids in _lists(shared):
            yield Text(f"{label}: {', '.join(ids)}")
        yield Text()
    yield Text(TALLY, style="bold")
    yield text_table(_tally_titles(compared), _tally(compared))


def _mark_titles(shared: ChallengeComparison) -> list[str]:
    return ["Mark", *(f"{r.model} ({formatting.provenance(r.marked.provenance)})" for r in (shared.left, shared.right))]


def _marks(shared: ChallengeComparison) -> Iterator[list[str]]:
    pair = (shared.left, shared.right)
    yield ["Overall", *(formatting.standing(a.marked.overall) for a in pair)]
    if any(a.attempts for a in pair):
        yield ["Over", *(mean_of(a.attempts) if a.attempts else "a single answer" for a in pair)]
        yield ["Pass", *(_passed(a) for a in pair)]
    for dimension in shared.challenge.dimensions:
        id = dimension.id
        marks = [formatting.dimension(shared.challenge, id, a.shown, a.marked.dimensions.get(id)) for a in pair]
        yield [dimension.title, *marks]
    if any(r.marked.status is not Status.GRADED for r in pair):
        yield ["Status", *(formatting.status(r.marked.status) for r in pair)]


def _passed(answer: ModelAnswer) -> str:
    return passed(answer.attempts) if answer.attempts else ""


def _apart_titles(compared: ModelComparison) -> list[str]:
    return ["Criterion", "Severity", compared.left, compared.right, "Ahead"]


def _apart(shared: ChallengeComparison) -> Iterator[list[str]]:
    seen: tuple[dict[str, str], dict[str, str]] = {}, {}
    for row in shared.apart:
        c = row.criterion
        texts = [_text_once(side, c.id, known) for side, known in zip((row.left, row.right), seen, strict=True)]
        yield [c.id, c.severity.value, *texts, _ahead(shared, row)]


def _text_once(side: CriterionSide, criterion: str, seen: dict[str, str]) -> str:
    """Return the text of a side; a fault known from an earlier row in `seen` is named by that row's criterion."""
    first = seen.setdefault(side.fault, criterion)
    return side.text if first == criterion or not side.fault else side.text_of(f"as {first}")


def _ahead(shared: ChallengeComparison, row: CriterionPair) -> str:
    return "" if not row.lead else shared.left.model if row.lead > 0 else shared.right.model


def _lists(shared: ChallengeComparison) -> Iterator[tuple[str, tuple[str, ...]]]:
    for label, ids in (
        ("Both miss", shared.unmet),
        ("Both meet in part", shared.half_met),
        ("Assessed on one of them only", shared.one_sided),
        ("Drawn cases", (DRAWN,) if any(row.drawn for row in shared.apart) else ()),
    ):
        if ids:
            yield label, ids


def _tally_titles(compared: ModelComparison) -> list[str]:
    return ["Challenge", compared.left, compared.right, "Winner"]


def _tally(compared: ModelComparison) -> Iterator[list[str]]:
    for shared in compared.challenges:
        one = shared.duel
        winner = (one.winner or "split") if one.played else "no duel"
        yield [shared.challenge.id, formatting.mark(one.left_mark), formatting.mark(one.right_mark), winner]
    left, right = compared.tally
    leader = "even" if left == right else compared.left if left > right else compared.right
    yield ["won", formatting.number(left), formatting.number(right), leader]


def compared_markdown(compared: ModelComparison) -> str:
    """Write the comparison as a page of Markdown."""
    parts = [f"# {markdown(compared.left)} against {markdown(compared.right)}"]
    for shared in compared.challenges:
        parts.append(f"## {markdown(shared.challenge.title)}")
        parts.append(markdown_table(_mark_titles(shared), _marks(shared)))
        parts.append(str(markdown(shared.result)))
        if shared.apart:
            parts.append(markdown_table(_apart_titles(compared), _apart(shared)))
        parts.extend(f"{label}: {markdown(', '.join(ids))}." for label, ids in _lists(shared))
    parts += [f"## {TALLY}", markdown_table(_tally_titles(compared), _tally(compared))]
    if compared.alone:
        parts.append(f"Only one of them answered: {markdown(', '.join(compared.alone))}.")
    return "\n\n".join([*parts, *(f"* {markdown(note)}" for note in compared.notes)]) + "\n"


def compared_csv(compared: ModelComparison) -> str:
    """Write a line per criterion of each challenge; shares met run from 0 to 1, figures are a JSON object."""
    side = ("", "_outcome", "_met", "_fault", "_figures")
    titles = ["challenge", "criterion", "dimension", "severity", *(f"{s}{t}" for s in ("left", "right") for t in side)]
    lines = []
    for shared in compared.challenges:
        for row in shared.rows:
            c = row.criterion
            cells = [*_csv_side(compared.left, row.left), *_csv_side(compared.right, row.right)]
            lines.append([shared.challenge.id, c.id, c.dimension, c.severity.value, *cells, _ahead(shared, row)])
    return csv_text([*titles, "ahead"], lines)


def _csv_side(model: str, side: CriterionSide) -> list[object]:
    evidence = side.evidence
    if evidence is None:
        return [model, None, side.met, side.fault or None, None]
    figures = json.loads(evidence.model_dump_json(include={"measured"}))["measured"]
    return [model, evidence.outcome.value, side.met, side.fault, json.dumps(figures) if figures else None]


def compared_data(compared: ModelComparison) -> dict[str, Any]:
    """Return the comparison as plain data, with both sides' evidence as recorded."""
    return {
        "left": compared.left,
        "right": compared.right,
        "challenges": [_challenge_data(shared) for shared in compared.challenges],
        "alone": compared.alone,
        "tally": dict(zip((compared.left, compared.right), compared.tally, strict=True)),
        "notes": compared.notes,
    }


def _challenge_data(shared: ChallengeComparison) -> dict[str, Any]:
    one = shared.duel
    return {
        "challenge": shared.challenge.id,
        "left": _answer_data(shared.left),
        "right": _answer_data(shared.right),
        "duel": {
            "left": one.left_mark,
            "right": one.right_mark,
            "criteria": one.criteria,
            "noise": one.noise,
            "played": one.played,
            "winner": one.winner,
        },
        "criteria": [
            {
                "criterion": row.criterion.id,
                "ahead": _ahead(shared, row) or None,
                **{name: _side_data(side) for name, side in (("left", row.left), ("right", row.right))},
            }
            for row in shared.rows
        ],
    }


def _answer_data(answer: ModelAnswer) -> dict[str, Any]:
    if answer.attempts:
        return {
            "provenance": answer.attempts.provenance,
            "status": answer.attempts.status,
            "overall": answer.attempts.overall.model_dump(),
            "dimensions": {id: score.model_dump() for id, score in answer.attempts.dimensions.items()},
            **attempts_data(answer.attempts),
        }
    kept = {"provenance", "status", "overall", "dimensions", "gates"}
    data: dict[str, Any] = json.loads(answer.shown.model_dump_json(include=kept))
    return data


def _side_data(side: CriterionSide) -> dict[str, Any] | None:
    if side.attempts:
        attempts = [json.loads(evidence.model_dump_json()) for evidence in side.attempts]
        return {"fault": side.fault or None, "met": side.met, "attempts": attempts}
    if side.evidence is None:
        return None
    return {"fault": side.fault or None, **json.loads(side.evidence.model_dump_json())}
