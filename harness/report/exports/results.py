"""What `--format json` and `--format csv` write of records, attempts, comparisons and the board."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from harness.model import Evidence, Record
from harness.report.views.answers import ModelAnswer
from harness.report.views.attempts import attempts_data
from harness.report.views.board.rows import Entry
from harness.report.views.board.scoreboard import Scoreboard
from harness.report.views.comparison import ChallengeComparison, ModelComparison
from harness.report.views.criterion_sides import CriterionSide
from harness.scoring.attempts import Attempts, passes

Rows = tuple[Sequence[str], Iterable[Sequence[object]]]
"""Titles of columns, and lines below them; None is an absent value."""


def record_rows(record: Record) -> Rows:
    """Return a line per criterion; the share met runs from 0 to 1, figures are a JSON object."""
    faults = {f.criterion: f.title for f in record.findings}
    titles = ("criterion", "dimension", "severity", "outcome", "met", "figures", "seed", "fault", "detail", "diagnosis")
    return titles, (
        (
            e.criterion,
            e.dimension,
            e.severity.value,
            e.outcome.value,
            e.satisfied if e.outcome.assessed else None,
            _figures(e),
            e.seed,
            faults.get(e.criterion),
            e.detail or None,
            e.diagnosis.words if e.diagnosis else None,
        )
        for e in record.evidence
    )


def _figures(evidence: Evidence) -> str | None:
    return json.dumps(_json(evidence, {"measured"})["measured"]) if evidence.measured else None


def _json(model: Evidence | Record, include: set[str] | None = None) -> dict[str, Any]:
    # through text, which turns non-finite figures into strings
    return dict(json.loads(model.model_dump_json(include=include)))


def attempts_rows(attempts: Attempts) -> Rows:
    """Return a line per attempt."""
    titles = ("submission", "attempt", "status", "score", "low", "high", "coverage", "passes")
    return titles, (
        (s.name, s.submission_name.attempt, s.status.value, *s.overall.model_dump().values(), passes(s))
        for s in attempts.summaries
    )


def attempts_json(attempts: Attempts) -> dict[str, Any]:
    """Return the figures over all attempts, each attempt and each criterion."""
    return {
        "model": attempts.model,
        "challenge": attempts.challenge,
        "overall": attempts.overall.model_dump(),
        "dimensions": {id: score.model_dump() for id, score in attempts.dimensions.items()},
        **attempts_data(attempts),
        "criteria": {c.criterion: {"met": c.met, "assessed": c.assessed} for c in attempts.criteria},
        "records": [
            {
                "submission": s.name,
                "attempt": s.submission_name.attempt,
                "status": s.status.value,
                "passes": passes(s),
                "overall": s.overall.model_dump(),
            }
            for s in attempts.summaries
        ],
    }


def comparison_rows(compared: ModelComparison) -> Rows:
    """Return a line per criterion of each challenge; shares met run from 0 to 1, figures are a JSON object."""
    side = ("", "_outcome", "_met", "_fault", "_figures")
    titles = ["challenge", "criterion", "dimension", "severity", *(f"{s}{t}" for s in ("left", "right") for t in side)]
    lines = []
    for shared in compared.challenges:
        for row in shared.rows:
            c = row.criterion
            cells = [*_side_cells(compared.left, row.left), *_side_cells(compared.right, row.right)]
            lines.append([shared.challenge.id, c.id, c.dimension, c.severity.value, *cells, shared.ahead(row)])
    return [*titles, "ahead"], lines


def _side_cells(model: str, side: CriterionSide) -> list[object]:
    evidence = side.evidence
    if evidence is None:
        return [model, None, side.met, side.fault or None, None]
    return [model, evidence.outcome.value, side.met, side.fault, _figures(evidence)]


def comparison_json(compared: ModelComparison) -> dict[str, Any]:
    """Return the comparison, with both sides' evidence as recorded."""
    return {
        "left": compared.left,
        "right": compared.right,
        "challenges": [_challenge_json(shared) for shared in compared.challenges],
        "alone": compared.alone,
        "tally": dict(zip((compared.left, compared.right), compared.tally, strict=True)),
        "notes": compared.notes,
    }


def _challenge_json(shared: ChallengeComparison) -> dict[str, Any]:
    one = shared.duel
    marks = {"left": one.left_mark, "right": one.right_mark}
    return {
        "challenge": shared.challenge.id,
        "left": _answer_json(shared.left),
        "right": _answer_json(shared.right),
        "duel": marks | {name: getattr(one, name) for name in ("criteria", "noise", "played", "winner")},
        "criteria": [
            {
                "criterion": row.criterion.id,
                "ahead": shared.ahead(row) or None,
                "left": _side_json(row.left),
                "right": _side_json(row.right),
            }
            for row in shared.rows
        ],
    }


def _answer_json(answer: ModelAnswer) -> dict[str, Any]:
    if answer.attempts:
        return {
            "provenance": answer.attempts.provenance,
            "status": answer.attempts.status,
            "overall": answer.attempts.overall.model_dump(),
            "dimensions": {id: score.model_dump() for id, score in answer.attempts.dimensions.items()},
            **attempts_data(answer.attempts),
        }
    return _json(answer.shown, {"provenance", "status", "overall", "dimensions", "gates"})


def _side_json(side: CriterionSide) -> dict[str, Any] | None:
    if side.attempts:
        return {"fault": side.fault or None, "met": side.met, "attempts": list(map(_json, side.attempts))}
    return None if side.evidence is None else {"fault": side.fault or None, **_json(side.evidence)}


def board_rows(board: Scoreboard) -> Rows:
    """Return a line per model."""
    parts = ("status", "score", "low", "high", "coverage", "integrity", "doubts")
    header = ["rank", "medal", "model", "provenance", "mean", "coverage", "graded", "of", "note"]
    header += ["provisional", "missing", "turns"]
    lines = []
    for row in board.rows:
        lists = {"provenance": "+".join(row.standing.provenance), "missing": " ".join(row.standing.missing)}
        cells = asdict(row.standing) | lists
        lines.append([*(cells[name] for name in header), *(value for e in row.entries for value in _entry_cells(e))])
    return [*header, *(f"{c.id}_{part}" for c in board.challenges for part in parts)], lines


def _entry_cells(entry: Entry) -> Sequence[object]:
    if entry.status is None or entry.overall is None:
        return [None] * 7
    return [entry.status.value, *entry.overall.model_dump().values(), entry.integrity, " ".join(entry.doubts)]


def board_json(board: Scoreboard) -> dict[str, Any]:
    """Return the board's places and marks."""
    rows = [
        {
            **asdict(row.standing),
            "suites": {
                suite.id: {"place": place.place, "medal": place.medal, "mean": place.mean, "coverage": place.coverage}
                for suite in board.beside
                if (place := suite.places.get(row.standing.model)) and place.graded
            },
            "scores": {
                e.challenge: {
                    "status": e.status,
                    **(e.overall.model_dump() if e.overall else {}),
                    "integrity": e.integrity,
                    "doubts": e.doubts,
                    **(attempts_data(e.attempts) if e.attempts else {}),
                }
                for e in row.entries
                if e.status is not None
            },
        }
        for row in board.rows
    ]
    return {
        "challenges": [{"id": c.id, "title": c.title} for c in board.challenges],
        "rows": rows,
        "notes": board.notes,
    }
