"""Contradictions within a record and with its rubric, found without running code.

A consistent edit shows only in a new grade (`harness audit`) or by the record's signature.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from harness.model import NO_ANSWER, UNBUILT, Challenge, Criterion, Evidence, GradeProfile, Outcome, Record, Status
from harness.model.seeds import SEEDS, seed_of
from harness.numerics.rounding import exact
from harness.scoring.gates import ceilings, compute_critical_mark, compute_unmet_share, highest_overall, lower_ceiling
from harness.scoring.marks import ExactMark
from harness.scoring.reward import reward
from harness.scoring.score import Scored, score

FILES_SEEDS = 1 << 48
"""Exclusive upper bound of seeds derived from files."""
ROUNDING = 0.5
"""Largest difference between a whole mark and the exact one, in points."""


class DoubtKind(StrEnum):
    """Kind of doubt about a record."""

    MARKS = "marks"
    """A mark, gate or reward that contradicts the evidence."""
    CRITERIA = "criteria"
    """Criteria that differ from those of the probe set."""
    OUTCOME = "outcome"
    """An impossible outcome of a criterion."""
    CAUSE = "cause"
    """A failure charged to an impossible cause."""
    SEED = "seed"
    """A seed of a criterion that does not follow from the record's."""
    STATUS = "status"
    """A status that contradicts the evidence."""
    RANKED = "ranked"
    """A rank claimed for a record of an unranked kind."""
    OLDER_RUBRIC = "older_rubric"
    """A grade by another rubric version, which can be read but not checked."""
    UNSIGNED = "unsigned"
    """A missing signature in a workspace that has keys."""

    @property
    def refuses(self) -> bool:
        """True if the record is left out."""
        return self not in (DoubtKind.OLDER_RUBRIC, DoubtKind.UNSIGNED)


_WORDS = {
    DoubtKind.MARKS: "does not follow from the evidence",
    DoubtKind.CRITERIA: "is not as in its probe set",
    DoubtKind.OUTCOME: "cannot be the outcome",
    DoubtKind.CAUSE: "cannot be the cause",
    DoubtKind.SEED: "does not follow from the seed of the record",
    DoubtKind.STATUS: "does not follow from the evidence",
    DoubtKind.RANKED: "cannot be true",
    DoubtKind.OLDER_RUBRIC: "is of another version of the rubric",
    DoubtKind.UNSIGNED: "is not signed, and this workspace has keys",
}


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt a record.

    Attributes:
        field: dotted name; `evidence.<criterion>` for a criterion.
        stated: value of the field, if informative.
        possible: value that it could have.
    """

    kind: DoubtKind
    field: str
    stated: str = ""
    possible: str = ""

    def __str__(self) -> str:
        facts = (self.stated and f"it is {self.stated}", self.possible and f"can be {self.possible}")
        return ": ".join(filter(None, (f"{self.field} {_WORDS[self.kind]}", ", and ".join(filter(None, facts)))))


def find_doubts(record: Record, rubric: Challenge | None, probe_set: Callable[[], str]) -> tuple[Doubt, ...]:
    """Return the doubts about a record, in the order of its fields.

    A record of another rubric version is never refused for reasons that only its own rubric could settle.

    Args:
        rubric: None if unknown.
        probe_set: returns the local probe set, called only if it decides.
    """
    found = [*_find_by_itself(record)]
    if rubric is None:
        return tuple(found)
    if not is_of_rubric(record, rubric):
        by_rubric = [*_find_other_criteria(record, rubric)]
        found += _check_marks_by_any_rubric(record)
    elif _is_of_older_gates(record):
        by_rubric = [Doubt(DoubtKind.OLDER_RUBRIC, "gates")]
        found += _check_marks_by_any_rubric(record)
    else:
        # older records of replies without an answer give the reason of a failed build
        unanswered = record.unanswered and any(gate.reason == NO_ANSWER for gate in record.gates)
        built, answered = record.build is None, not unanswered
        scored = score(rubric, record.evidence, built=built, answered=answered, unmarked=record.unmarked)
        by_rubric = [*_check_marks(record, scored), *_find_by_rubric(record, rubric)]
        if by_rubric:
            found += _check_marks_by_any_rubric(record) or _check_marks_by_equal_weights(record, scored)
    if by_rubric and record.probe_set is not None and record.probe_set == probe_set():
        found = [*by_rubric, *found]
    elif by_rubric and not found:
        found = [Doubt(DoubtKind.OLDER_RUBRIC, by_rubric[0].field)]
    return tuple(dict.fromkeys(found))


def describe_refusal(doubts: Iterable[Doubt]) -> str:
    """Return why a record is refused, or an empty string."""
    reasons = [str(doubt) for doubt in doubts if doubt.kind.refuses]
    further = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0]}{further}; the file was changed by hand or by another program" if reasons else ""


def is_of_rubric(record: Record, rubric: Challenge) -> bool:
    """Return whether a record has evidence for each criterion of a rubric once, with dimension and severity."""
    stated = {(e.criterion, e.dimension, e.severity) for e in record.evidence}
    asked = {(c.id, c.dimension, c.severity) for c in rubric.criteria}
    return stated == asked and len(stated) == len(record.evidence)


def _is_of_older_gates(record: Record) -> bool:
    # such a record predates the order of marks under a ceiling
    return any(gate.dimension is None and gate.unmet is None for gate in record.gates)


def _find_by_itself(record: Record) -> Iterator[Doubt]:
    """Yield doubts that no rubric could explain."""
    given = Counter(e.criterion for e in record.evidence)
    yield from (Doubt(DoubtKind.CRITERIA, f"evidence.{id}", "there twice", "once") for id in given if given[id] > 1)
    if record.status is not Status.JUDGE_ERROR and any(e.outcome is Outcome.JUDGE_ERROR for e in record.evidence):
        yield Doubt(DoubtKind.STATUS, "status", record.status.value, Status.JUDGE_ERROR.value)
    if record.ranked and not record.environment.tier.trusted:
        yield Doubt(DoubtKind.RANKED, "ranked", f"true in tier {record.environment.tier.value}", "false")
    if record.ranked and record.partial:
        yield Doubt(DoubtKind.RANKED, "ranked", "true of a part of the criteria", "false")
    top = highest_overall(record.marked, built=record.build is None)
    if (record.overall.score or 0) > top:
        yield Doubt(DoubtKind.MARKS, "overall", f"{record.overall.score:g}", f"{top:g} at most")
    by_id = {e.criterion: e for e in record.evidence}
    for e in record.evidence:
        if e.rests_on and not _may_be_cause(record, by_id, e):
            yield Doubt(DoubtKind.CAUSE, f"evidence.{e.criterion}.rests_on", e.rests_on)
        if e.outcome is Outcome.PASSED and e.draws is not None and e.draws.failed:
            yield Doubt(DoubtKind.OUTCOME, f"evidence.{e.criterion}.outcome", "passed", "failed: drawn cases did")


def _may_be_cause(record: Record, by_id: dict[str, Evidence], e: Evidence) -> bool:
    if e.rests_on == UNBUILT:
        return record.build is not None
    cause = by_id.get(e.rests_on or "")
    if cause is None or cause.outcome is not Outcome.FAILED or cause is e:
        return False
    end = cause if cause.faulty else by_id.get(cause.rests_on or "")
    return cause.rests_on == UNBUILT or (end is not None and end.faulty)


def _check_marks_by_any_rubric(record: Record) -> list[Doubt]:
    """Return doubts about marks that are wrong under any weights."""
    own: dict[str, list[Evidence]] = {}
    for e in record.marked:
        own.setdefault(e.dimension, []).append(e)
    failed = [e.dimension for e in record.marked if e.gates]
    tops = ceilings(failed, built=record.build is None)
    found = []
    for id in own.keys() | record.dimensions.keys():
        mark = ExactMark.of(own[id]).cap(tops.get(id)).to_score() if id in own else None
        # a dimension whose anchor is unassessed has no point
        if record.dimensions.get(id) not in (mark, mark and mark.model_copy(update={"score": None})):
            found.append(Doubt(DoubtKind.MARKS, f"dimensions.{id}"))
    # a rubric need not have the dimension that a failed build caps
    older = _is_of_older_gates(record)
    share = None if older else compute_unmet_share(record.marked)
    put = {(id, top, None if id else share) for id, top in tops.items() if id is None or id in own}
    if {(gate.dimension, gate.ceiling, gate.unmet) for gate in record.gates} != put:
        found.append(Doubt(DoubtKind.MARKS, "gates"))
    marks, top, met = record.dimensions.values(), tops.get(None), compute_critical_mark(record.marked).to_score()
    for part in ("score", "low", "high", "coverage"):
        stated, parts = getattr(record.overall, part), [v for m in marks if (v := getattr(m, part)) is not None]
        low, high = min(parts, default=0.0), max(parts, default=100.0)
        if top is not None and part != "coverage":
            most = top if older else float(lower_ceiling(top, exact(getattr(met, part) or 0.0)))
            low, high = min(low, most), min(high, most)
        if stated is not None and own and not low - ROUNDING <= stated <= high + ROUNDING:
            found.append(Doubt(DoubtKind.MARKS, "overall", f"{part} {stated:g}", f"from {low:g} to {high:g}"))
    return sorted(found, key=lambda doubt: doubt.field)


def _check_marks_by_equal_weights(record: Record, scored: Scored) -> list[Doubt]:
    """Return doubts about marks under the local weights, if the coverages prove these to be the record's."""
    if len({mark.coverage for mark in scored.dimensions.values()}) < 2:
        return []
    if record.overall.coverage != scored.overall.coverage or record.overall == scored.overall:
        return []
    return [_make_marks_doubt("overall", record, scored)]


def _check_marks(record: Record, scored: Scored) -> Iterator[Doubt]:
    for field in ("overall", "dimensions", "gates"):
        if getattr(record, field) != getattr(scored, field):
            yield _make_marks_doubt(field, record, scored)


def _make_marks_doubt(field: str, record: Record, scored: Scored) -> Doubt:
    if field == "overall" and record.overall.score is not None and scored.overall.score is not None:
        return Doubt(DoubtKind.MARKS, field, f"{record.overall.score:g}", f"{scored.overall.score:g}")
    return Doubt(DoubtKind.MARKS, field)


def _find_other_criteria(record: Record, rubric: Challenge) -> Iterator[Doubt]:
    stated = {e.criterion: f"{e.severity.value} of {e.dimension}" for e in record.evidence}
    asked = {c.id: f"{c.severity.value} of {c.dimension}" for c in rubric.criteria}
    for id in sorted(stated.keys() | asked.keys()):
        if stated.get(id) != asked.get(id):
            yield Doubt(DoubtKind.CRITERIA, f"evidence.{id}", stated.get(id, "left out"), asked.get(id, "left out"))


def _find_by_rubric(record: Record, rubric: Challenge) -> Iterator[Doubt]:
    criteria, files_seeds = {c.id: c for c in rubric.criteria}, set()
    for e in record.evidence:
        criterion, field = criteria[e.criterion], f"evidence.{e.criterion}"
        if possible := _find_possible_outcome(record, criterion, e):
            yield Doubt(DoubtKind.OUTCOME, f"{field}.outcome", e.outcome.value, possible)
        if e.rests_on and e.rests_on not in _list_causes(rubric, criterion, e):
            yield Doubt(DoubtKind.CAUSE, f"{field}.rests_on", e.rests_on)
        # any failure, whoever is charged, may come from a seed that failed these files before
        failed = e.rests_on is not None or (e.draws is not None and e.draws.failed > 0)
        if criterion.probes and (e.seed is not None or e.satisfied) and not (failed and not e.satisfied):
            if criterion.seeded_by == "run" and e.seed != seed_of(record.seed, e.criterion):
                yield Doubt(DoubtKind.SEED, f"{field}.seed", str(e.seed), str(seed_of(record.seed, e.criterion)))
            elif criterion.seeded_by == "files":
                files_seeds.add(SEEDS if e.seed is None else seed_of(e.seed, e.criterion))
    if len(files_seeds) > 1 or any(seed >= FILES_SEEDS for seed in files_seeds):
        yield Doubt(DoubtKind.SEED, "evidence", "of several submissions", "of one")
    asked = GradeProfile.REWARD.criteria(rubric, record.only) - record.unmarked.keys()
    earned = (
        None
        if record.status is Status.JUDGE_ERROR or record.cut_off
        else (reward(rubric, record.evidence, asked, built=record.build is None))
    )
    if record.reward not in (None, earned):
        yield Doubt(DoubtKind.MARKS, "reward", f"{record.reward:g}", "none" if earned is None else f"{earned:g}")


def _find_possible_outcome(record: Record, criterion: Criterion, e: Evidence) -> str:
    nothing_to_review = record.unanswered and e.outcome is Outcome.FAILED
    if criterion.review and e.outcome is not Outcome.NOT_RUN and not nothing_to_review:
        return "not_run: it is a question to a reviewer"
    if e.outcome is Outcome.NOT_OFFERED and not criterion.capability:
        return "any other: it is no optional feature"
    if record.build is None or not e.satisfied:
        return ""
    if criterion.probes or (criterion.compiler and record.build.stage == "compiler"):
        return "failed: the submission does not build"
    return ""


def _list_causes(rubric: Challenge, criterion: Criterion, e: Evidence) -> set[str]:
    # a cause may take a criterion's credit, or keep it from being judged
    if e.outcome is Outcome.NOT_RUN:
        return {c.id for c in rubric.criteria} if criterion.probes else set()
    if criterion.id == rubric.anchor:
        return {UNBUILT, *(c.id for c in rubric.criteria)}
    return {UNBUILT, rubric.anchor} if criterion.executed else {UNBUILT}
