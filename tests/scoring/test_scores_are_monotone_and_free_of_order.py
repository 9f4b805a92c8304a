"""Passing one more criterion never lowers a score, and the order of evidence or criteria never changes one."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rubrics import evidence, rubric, seen
from rubrics import graded as record

from harness.model import Challenge, Evidence, Outcome, Score, Severity
from harness.probing.evidence.charging import apply_anchor
from harness.scoring import score, standings
from harness.scoring.score import Scored
from tests import shares

QUICK = settings(max_examples=shares.examples(150))

severities = st.sampled_from(list(Severity))
outcomes = st.one_of(
    st.sampled_from([o for o in Outcome if o is not Outcome.PARTIAL]),
    st.floats(0.001, 0.999).map(lambda f: round(f, 3)),
)
weights = st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0])


@st.composite
def graded(draw) -> tuple[Challenge, list[Evidence], bool]:
    names = ["correctness", "speed", "style", "tests"][: draw(st.integers(1, 4))]
    shape = {d: draw(st.lists(severities, min_size=1, max_size=4)) for d in names}
    task = rubric(shape, {d: draw(weights) for d in names})
    found = evidence(task, {c.id: draw(outcomes) for c in task.criteria})
    anchor = task.anchor
    for place, item in enumerate(found[1:], 1):
        if item.outcome is Outcome.FAILED and draw(st.booleans()):
            found[place] = seen(task, item.criterion, Outcome.FAILED, rests_on=anchor)
    return task, found, draw(st.booleans())


def marks(scored: Scored) -> list[Score]:
    return [scored.overall, *scored.dimensions.values()]


def no_lower(before: Scored, after: Scored, *, reopened: bool = False) -> bool:
    """Whether no mark and no end of an interval fell; `reopened` allows a mark to be open again."""
    return all(
        (old.score is None or (reopened if new.score is None else new.score >= old.score))
        and new.low >= old.low and new.high >= old.high
        for old, new in zip(marks(before), marks(after), strict=True)
    )  # fmt: skip


@QUICK
@given(graded(), st.data())
def test_passing_one_more_criterion_never_lowers_a_score(case, data):
    task, found, built = case
    place = data.draw(st.integers(0, len(found) - 1))
    better = [*found]
    better[place] = seen(task, found[place].criterion, Outcome.PASSED)
    before, after = score(task, found, built=built), score(task, better, built=built)
    assert no_lower(before, after)
    assert after.overall.coverage >= before.overall.coverage


@QUICK
@given(graded(), st.data())
def test_meeting_more_of_a_criterion_never_lowers_a_score(case, data):
    task, found, built = case
    place = data.draw(st.integers(0, len(found) - 1))
    low, high = sorted((data.draw(st.floats(0.01, 0.98)), data.draw(st.floats(0.01, 0.98))))
    less, more = [*found], [*found]
    less[place] = seen(task, found[place].criterion, Outcome.PARTIAL, low)
    more[place] = seen(task, found[place].criterion, Outcome.PARTIAL, high)
    lost = [*found]
    lost[place] = seen(task, found[place].criterion, Outcome.FAILED)
    assert no_lower(score(task, less, built=built), score(task, more, built=built))
    assert no_lower(score(task, lost, built=built), score(task, less, built=built))


@QUICK
@given(graded())
def test_building_never_lowers_a_score(case):
    task, found, _ = case
    unbuilt, built = score(task, found, built=False), score(task, found, built=True)
    for old, new in zip(marks(unbuilt), marks(built), strict=True):
        assert new.score is None or old.score is None or new.score >= old.score
        assert new.low >= old.low and new.high >= old.high


@QUICK
@given(graded(), st.randoms(use_true_random=False))
def test_the_order_of_evidence_never_changes_a_score(case, random):
    task, found, built = case
    shuffled = [*found]
    random.shuffle(shuffled)
    assert score(task, shuffled, built=built) == score(task, found, built=built)


@QUICK
@given(graded(), st.data())
def test_passing_one_more_never_lowers_a_score_where_the_anchor_takes_credit(case, data):
    """What probes saw, before the anchor rule: passing the anchor gives all others their credit back."""
    task, found, built = case
    raw = [seen(task, e.criterion, Outcome.FAILED) if e.rests_on else e for e in found]
    # a judge error stays open, and under a failed anchor passing it instead is no gain
    places = [i for i, e in enumerate(raw) if e.outcome.assessed or e.outcome is Outcome.UNSUPPORTED]
    assume(places)
    place = data.draw(st.sampled_from(places))
    better = [*raw]
    better[place] = seen(task, raw[place].criterion, Outcome.PASSED)
    probed = {c.id for c in task.criteria}
    before, after = (score(task, apply_anchor(items, task.anchor, probed), built=built) for items in (raw, better))
    # what was not run counts as failed under a failed anchor, and is open again once that passes
    assert no_lower(before, after, reopened=True)


@QUICK
@given(graded(), st.randoms(use_true_random=False))
def test_the_order_of_a_rubric_never_changes_a_score(case, random):
    task, found, built = case
    parts = {"criteria": [*task.criteria], "dimensions": [*task.dimensions]}
    for part in parts.values():
        random.shuffle(part)
    other = Challenge.model_validate({**task.model_dump(), **parts})
    one, two = score(task, found, built=built), score(other, found, built=built)
    assert (one.overall, one.dimensions) == (two.overall, two.dimensions)
    ceilings = [{(g.dimension, g.ceiling, frozenset(g.criteria)) for g in scored.gates} for scored in (one, two)]
    assert ceilings[0] == ceilings[1]


points = st.none() | st.integers(0, 100).map(float)


@QUICK
@given(st.lists(st.tuples(points, points), min_size=1, max_size=6), st.randoms(use_true_random=False), st.data())
def test_a_better_grade_never_costs_a_rank_and_the_order_of_records_never_moves_one(grades, random, data):
    records = [
        record(f"m{i}", challenge, point) for i, pair in enumerate(grades)
        for challenge, point in zip("ab", pair, strict=True)
    ]  # fmt: skip
    shuffled = [*records]
    random.shuffle(shuffled)
    places = {s.model: s for s in standings(records, "ab")}
    assert standings(shuffled, "ab") == tuple(places.values())
    chosen = data.draw(st.sampled_from(records))
    better = record(chosen.model, chosen.challenge, 100.0)
    raised = {s.model: s for s in standings([better if r is chosen else r for r in records], "ab")}
    old, new = places[chosen.model], raised[chosen.model]
    assert old.rank is None or (new.rank is not None and new.rank <= old.rank)


@QUICK
@given(graded())
def test_a_point_lies_in_its_interval_and_the_interval_closes_at_full_coverage(case):
    task, found, built = case
    for mark in marks(score(task, found, built=built)):
        assert 0 <= mark.low <= mark.high <= 100
        if mark.score is not None:
            assert mark.low <= mark.score <= mark.high
        if mark.coverage == 1:
            assert mark.low == mark.score == mark.high


@QUICK
@given(graded())
def test_the_overall_can_be_worked_out_again_from_the_printed_dimensions(case):
    task, found, built = case
    scored = score(task, found, built=built)
    assessed = [(d.weight, m.score) for d in task.dimensions if (m := scored.dimensions[d.id]).score is not None]
    anchored = built and not next(e for e in found if e.criterion == task.anchor).outcome.assessed
    if not assessed or anchored:
        assert scored.overall.score is None
        return
    mean = math.fsum(w * s for w, s in assessed) / math.fsum(w for w, _ in assessed)
    top = min((g.ceiling - 10 * g.unmet for g in scored.gates if g.dimension is None), default=100)
    # half a point of rounding, and what summing these few doubles can lose
    assert abs(scored.overall.score - min(mean, top)) <= 0.5 + 1e-9
