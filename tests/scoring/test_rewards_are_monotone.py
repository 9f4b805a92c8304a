"""Meeting one more criterion never lowers a reward, which is 0 without the anchor or a build and None where unknown."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rubrics import evidence, rubric, seen

from harness.model import Challenge, Evidence, GradeProfile, Outcome, Severity
from harness.scoring.reward import reward
from tests import shares

QUICK = settings(max_examples=shares.examples(150))
ASSESSED = (Outcome.PASSED, Outcome.FAILED, Outcome.NOT_OFFERED, Outcome.NOT_RUN, Outcome.UNSUPPORTED)
GATING = rubric({"correctness": [Severity.CRITICAL] * 3 + [Severity.MAJOR]}, {"correctness": 1})
PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


@st.composite
def graded(draw) -> tuple[Challenge, list[Evidence], set[str]]:
    shape = {
        d: draw(st.lists(st.sampled_from(list(Severity)), min_size=1, max_size=4)) for d in ("correctness", "style")
    }
    task = rubric(shape, dict.fromkeys(shape, 1.0))
    shares_met = st.floats(0.001, 0.999).map(lambda f: round(f, 3))
    found = evidence(task, {c.id: draw(st.one_of(st.sampled_from(ASSESSED), shares_met)) for c in task.criteria})
    for place, item in enumerate(found[1:], 1):
        if item.outcome is FAILED and draw(st.booleans()):
            found[place] = seen(task, item.criterion, FAILED, rests_on=task.anchor)
    counted = draw(st.sets(st.sampled_from([c.id for c in task.criteria])))
    return task, found, counted | {task.anchor}


@QUICK
@given(graded(), st.data())
def test_meeting_one_more_criterion_never_lowers_it(case, data):
    task, found, counted = case
    place = data.draw(st.integers(0, len(found) - 1))
    better = [*found]
    better[place] = seen(task, found[place].criterion, PASSED)
    before, after = (reward(task, e, counted, built=True) for e in (found, better))
    assert before is None or (after is not None and 0 <= before <= after <= 1)


def of(*outcomes: Outcome, built: bool = True) -> float | None:
    counted = GradeProfile.REWARD.criteria(GATING)
    found = evidence(GATING, {c.id: o for c, o in zip(GATING.criteria, outcomes, strict=True)})
    return reward(GATING, found, counted, built=built)


def test_gates_hold_it_down_as_they_hold_marks():
    anchored = GATING.anchor == GATING.criteria[0].id
    assert anchored
    assert of(PASSED, PASSED, PASSED, FAILED) == 1  # what gates nothing does not count
    assert of(PASSED, PASSED, FAILED, PASSED) == 0.59
    assert of(PASSED, FAILED, FAILED, PASSED) == 5 / 15
    assert of(FAILED, PASSED, PASSED, PASSED) == 0


def test_options_count_where_they_are_claimed_and_gate_where_they_are_wrong():
    offering = GATING.criteria[3].model_copy(update={"capability": "option"})
    task = GATING.model_copy(update={"criteria": (*GATING.criteria[:3], offering)})
    counted, right = GradeProfile.REWARD.criteria(task), evidence(task)[:3]

    def earned(outcome: Outcome, wrong_option: bool = False) -> float | None:
        own = seen(task, offering.id, outcome, wrong_option=wrong_option)
        return reward(task, [*right, own], counted, built=True)

    assert offering.id in counted
    assert earned(PASSED) == earned(Outcome.NOT_OFFERED) == 1
    assert earned(FAILED) == 15 / 18
    assert earned(FAILED, wrong_option=True) == 0.59


def test_a_failed_build_earns_nothing_and_a_failure_of_ours_is_no_reward():
    assert of(FAILED, FAILED, FAILED, FAILED, built=False) == 0
    assert of(PASSED, PASSED, Outcome.JUDGE_ERROR, PASSED) is None
    assert of(Outcome.UNSUPPORTED, PASSED, PASSED, PASSED) is None


def test_what_cannot_be_assessed_is_not_met():
    assert of(PASSED, PASSED, Outcome.NOT_RUN, PASSED) == of(PASSED, PASSED, Outcome.UNSUPPORTED, PASSED) == 10 / 15
