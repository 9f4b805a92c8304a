"""A fault that shows at plain sizes is charged by the criterion that sees it there, and by no drawn one again."""

from dataclasses import replace

import pytest

from harness.model import Counterexample, Evidence, Location, Observation, Obstacle, Outcome, Severity, Threshold
from harness.probing.evidence.charging import charge_once
from harness.probing.sizes import Axis, Drawn

DRAWN, FIXED = "any_row_is_right", "rows_match_the_oracle"


@pytest.fixture
def code(toy):
    """The toy with `any_size`, which rests on its two criteria, and `paged`, which rests on that."""
    values = toy.challenge.criterion("values")
    further = (
        values.model_copy(update={"id": "any_size", "probes": (DRAWN,), "rests_on": ("linear", "values")}),
        values.model_copy(
            update={"id": "paged", "probes": (DRAWN,), "severity": Severity.MINOR, "rests_on": ("any_size",)}
        ),
    )
    challenge = toy.challenge.model_copy(update={"criteria": (*toy.challenge.criteria, *further)})
    made = replace(toy, challenge=challenge)
    made.probes[DRAWN] = replace(made.probes[FIXED], name=DRAWN, drawn=Drawn({"D": Axis(1, 9)}, 4))
    return made


RAISED = {
    "title": "`decode` raises ValueError", "detail": "ValueError: no block of 4 is free (pool.py:53)",
    "locations": Location.within("pool.py", 53), "obstacle": Obstacle.CALL,
}  # fmt: skip
WRONG = {"title": "y is wrong", "detail": "y[0] is 2 instead of 1"}


def charged(code, **seen):
    """Those charged of the criteria that failed: each with the probe that saw it, and what that saw."""

    def evidence(c):
        if c.id not in seen:
            return Evidence.of(c, Outcome.PASSED)
        probe, first, *also = seen[c.id]
        more = tuple(Observation(**{key: one[key] for key in one if key != "obstacle"}) for one in also)
        return Evidence.of(c, Outcome.FAILED, counterexample=Counterexample(probe=probe), also=more, **first)

    found = {e.criterion: e for e in charge_once(code, map(evidence, code.challenge.criteria))}
    assert all(found[id].outcome is Outcome.NOT_RUN for id in seen if not found[id].faulty)
    return {id for id, e in found.items() if e.faulty}


def test_the_very_exception_of_a_heavier_drawn_criterion_is_charged_there(code):
    """`linear` is major, and `any_size` critical."""
    sized = RAISED | {"detail": RAISED["detail"].replace("4", "16")}
    elsewhere = RAISED | {"locations": Location.within("pool.py", 54)}
    worded = RAISED | {"detail": "ValueError: the slot is full (pool.py:53)"}
    assert charged(code, any_size=(DRAWN, RAISED), linear=(FIXED, sized)) == {"any_size"}
    assert charged(code, any_size=(DRAWN, WRONG, RAISED), linear=(FIXED, sized)) == {"any_size"}
    for other in (elsewhere, worded, WRONG, RAISED | {"obstacle": None}):
        assert charged(code, any_size=(DRAWN, RAISED), linear=(FIXED, other)) == {"any_size", "linear"}
    assert charged(code, any_size=(DRAWN, RAISED), linear=(FIXED, WRONG, RAISED)) == {"any_size", "linear"}


def test_what_every_call_of_a_function_raises_is_charged_wherever_fixed_cases_ask_for_it(code):
    """Else an answer would gain by raising instead of trying."""
    seen = {"values": (FIXED, RAISED), "any_size": (DRAWN, RAISED), "linear": (FIXED, RAISED)}
    assert charged(code, **seen) == {"values", "linear"}


@pytest.mark.parametrize(("heavier", "own", "excused"), [
    ((RAISED,), (RAISED,), True), ((WRONG,), (WRONG,), True), ((WRONG, RAISED), (WRONG,), True),
    ((RAISED,), (WRONG,), False), ((RAISED,), (WRONG, RAISED), False), ((WRONG,), (RAISED,), False),
])  # fmt: skip
def test_drawn_cases_of_an_option_are_excused_only_where_they_fail_as_the_other_criterion_s_do(
    code, heavier, own, excused
):
    paged = code.challenge.criteria[-1].model_copy(update={"probes": (FIXED, DRAWN)})
    mixed = replace(code, challenge=code.challenge.model_copy(
        update={"criteria": (*code.challenge.criteria[:-1], paged)}
    ))  # fmt: skip
    mixed.probes[DRAWN] = code.probes[DRAWN]
    found = charged(mixed, any_size=(DRAWN, *heavier), paged=(DRAWN, *own))
    assert found == ({"any_size"} if excused else {"any_size", "paged"})


def test_what_an_option_was_seen_to_break_itself_is_charged_whatever_else_fails_in_the_same_way(code):
    own = WRONG | {"fault_of": "paged"}
    assert charged(code, any_size=(DRAWN, WRONG), paged=(DRAWN, own)) == {"any_size", "paged"}
    assert charged(code, any_size=(DRAWN, WRONG), paged=(DRAWN, WRONG)) == {"any_size"}


def test_what_rests_on_a_criterion_that_rests_on_another_rests_on_that(code):
    """Else a record names a cause that does not fail, and cannot be read back."""
    seen = {"values": (FIXED, WRONG), "any_size": (DRAWN, WRONG), "paged": (DRAWN, WRONG | {"fault_of": "any_size"})}

    def evidence(c):
        if c.id not in seen:
            return Evidence.of(c, Outcome.PASSED)
        probe, first = seen[c.id]
        return Evidence.of(c, Outcome.FAILED, counterexample=Counterexample(probe=probe), **first)

    found = {e.criterion: e for e in charge_once(code, map(evidence, code.challenge.criteria))}
    assert {id: e.rests_on for id, e in found.items() if e.rests_on} == {"any_size": "values", "paged": "values"}
    assert found["paged"].detail.startswith("could not be told apart from `values`, which fails: ")


@pytest.fixture
def options(code):
    """`any_size`, and two options that rest on it, one on the other as well; each has fixed cases and drawn ones."""
    made = {"severity": Severity.MINOR, "probes": (FIXED, DRAWN)}
    int8 = code.challenge.criteria[-1].model_copy(update={"id": "int8", "capability": "int8", **made})
    paged = int8.model_copy(update={"id": "paged", "capability": "paged", "rests_on": ("any_size", "int8")})
    criteria = (*code.challenge.criteria[:-1], paged, int8)
    mixed = replace(code, challenge=code.challenge.model_copy(update={"criteria": criteria}))
    mixed.probes[DRAWN] = code.probes[DRAWN]
    return mixed


def asking(*options, case=(("draw", 0),), probe=DRAWN, **seen):
    """What a program showed that asks for some options."""
    return {"counterexample": Counterexample(probe=probe, case=dict(case), asks_for=options), **(seen or WRONG)}


def judged(code, **seen):
    """The evidence of all criteria where some saw failures, the first of which leads."""

    def evidence(c):
        if c.id not in seen:
            return Evidence.of(c, Outcome.PASSED)
        first, *also = seen[c.id]
        more = tuple(Observation(**{key: one[key] for key in one if key != "obstacle"}) for one in also)
        return Evidence.of(c, Outcome.FAILED, also=more, **first)

    return {e.criterion: e for e in charge_once(code, map(evidence, code.challenge.criteria))}


@pytest.mark.parametrize(("programs", "excused"), [
    ([("paged",)], False), ([("paged", "int8")], True), ([("paged", "int8"), ("paged",)], False), ([()], False),
])  # fmt: skip
def test_an_option_is_the_cause_only_of_programs_that_ask_for_it(options, programs, excused):
    found = judged(options, int8=[asking("int8")], paged=[asking(*program) for program in programs])
    assert found["int8"].faulty
    assert found["paged"].faulty is not excused


def test_each_of_several_programs_may_have_its_own_cause(options):
    seen = [asking("paged", "int8"), asking("paged")]
    found = judged(options, any_size=[asking()], int8=[asking("int8")], paged=seen)
    assert not found["paged"].faulty and "`any_size`" in found["paged"].detail


def test_a_program_that_makes_no_use_of_its_option_is_anothers_whatever_raises_beside_it(options):
    raised = asking("paged", **RAISED)
    found = judged(options, any_size=[asking()], paged=[asking(), raised])["paged"]
    own = "its fixed cases show no fault of its own"
    plain = f"{own}; a drawn case that makes no use of it fails, too, while `any_size` does"
    assert (found.outcome, found.detail) == (Outcome.NOT_RUN, plain)
    assert judged(options, any_size=[asking()], paged=[asking("paged"), raised])["paged"].faulty


def test_what_an_option_is_left_with_beside_a_broken_property_may_still_be_anothers(options):
    changed = asking("paged", **WRONG, fault_of="linear")
    own = {"counterexample": Counterexample(probe=FIXED), **WRONG}
    found = judged(options, linear=[own], any_size=[asking()], paged=[asking("paged"), changed])
    assert {id for id, e in found.items() if e.faulty} == {"linear", "any_size"}


def test_a_broken_property_is_a_way_of_its_own(options):
    changed = asking("paged", **WRONG, fault_of="linear")
    assert judged(options, any_size=[asking()], paged=[changed])["paged"].faulty
    assert not judged(options, any_size=[asking(**WRONG, fault_of="linear")], paged=[changed])["paged"].faulty


def test_fixed_cases_are_said_to_pass_only_where_none_failed(options):
    """A probe that draws cases may have fixed ones as well."""
    fixed = asking("paged", case=())
    found = judged(options, any_size=[asking()], paged=[fixed])["paged"]
    assert (found.outcome, found.rests_on) == (Outcome.NOT_RUN, "any_size")
    assert found.detail == "could not be told apart from `any_size`, which fails: y is wrong: y[0] is 2 instead of 1"


def settled(code, criterion, failing, thresholds=(), probe=DRAWN, severity=None, case=None):
    def evidence(c):
        if c.id not in failing:
            return Evidence.of(c, Outcome.PASSED)
        own = {"thresholds": thresholds} if c.id == criterion else {}
        by = probe if c.id == criterion else DRAWN if c.rests_on else FIXED
        example = Counterexample(probe=by, case=case or {})
        found = Evidence.of(c, Outcome.FAILED, detail="seen", counterexample=example, **own)
        return found.model_copy(update={"severity": Severity(severity)}) if severity and c.id == criterion else found

    return {e.criterion: e for e in charge_once(code, map(evidence, code.challenge.criteria))}[criterion]


def test_what_another_criterion_sees_is_not_charged_again(code):
    evidence = settled(code, "any_size", {"values", "any_size"})
    assert (evidence.outcome, evidence.rests_on, evidence.faulty) == (Outcome.NOT_RUN, "values", False)
    assert "could not be told apart" in evidence.detail


def test_alone_it_is_charged(code):
    assert settled(code, "any_size", {"any_size"}).faulty


def test_what_rests_on_a_criterion_that_rests_on_another_names_the_last(code):
    assert settled(code, "paged", {"values", "any_size", "paged"}).rests_on == "values"
    assert settled(code, "paged", {"any_size", "paged"}).rests_on == "any_size"


def test_an_option_whose_fixed_cases_pass_is_not_assessed(code):
    paged = code.challenge.criteria[-1].model_copy(update={"probes": (FIXED, DRAWN)})
    mixed = replace(code, challenge=code.challenge.model_copy(
        update={"criteria": (*code.challenge.criteria[:-1], paged)}
    ))  # fmt: skip
    mixed.probes[DRAWN] = code.probes[DRAWN]
    evidence = settled(mixed, "paged", {"values", "any_size", "paged"})
    assert (evidence.outcome, evidence.title, evidence.measured) == (Outcome.NOT_RUN, "", {})


def test_a_fault_that_begins_at_a_size_is_charged_beside_others(code):
    from_on = Threshold(axis="D", right_at=64, wrong_from=65, onward=True)
    assert settled(code, "any_size", {"values", "any_size"}, thresholds=(from_on,)).faulty


@pytest.mark.parametrize(("size", "charged"), [(64, True), (65, False)])
def test_a_fault_that_begins_below_another_criterion_s_case_is_not_charged_beside_it(code, size, charged):
    from_on = Threshold(axis="D", right_at=64, wrong_from=65, onward=True)
    evidence = settled(code, "any_size", {"values", "any_size"}, thresholds=(from_on,), case={"D": size})
    assert evidence.faulty is charged


@pytest.mark.parametrize(("size", "wrong"), [(6, False), (7, True), (8, False), (11, True), (3, False)])
def test_a_threshold_with_a_period_is_met_by_its_residues(size, wrong):
    assert (
        Threshold(axis="D", right_at=6, wrong_from=7, onward=False, period=4, wrong_residues=(3,)).goes_wrong_at(size)
        is wrong
    )


def test_what_a_probe_of_fixed_cases_saw_is_charged_beside_others(code):
    assert settled(code, "paged", {"values", "any_size", "paged"}, probe=FIXED).faulty


@pytest.mark.parametrize(("severity", "charged"), [("critical", True), ("major", False), ("minor", False)])
def test_a_lighter_criterion_takes_no_heavier_one_out(code, severity, charged):
    """`linear` is major: a critical failure must not rest on it."""
    assert settled(code, "any_size", {"linear", "any_size"}, severity=severity).faulty is charged


@pytest.mark.parametrize(("figures", "charged"), [({}, False), ({"seconds": 3.0}, True)])
def test_a_measurement_that_a_fault_stood_in_the_way_of_is_not_charged(code, figures, charged):
    """A call that raised or a wrong value left nothing to measure; a figure is charged whatever else fails."""
    timed = code.challenge.criterion("any_size").model_copy(update={"id": "timed", "probes": ("timed",)})
    made = replace(code, challenge=code.challenge.model_copy(update={"criteria": (*code.challenge.criteria, timed)}))
    made.probes.update(code.probes)
    made.probes["timed"] = replace(code.probes[FIXED], name="timed", measures=True)

    def evidence(c):
        if c.id not in {"values", "timed"}:
            return Evidence.of(c, Outcome.PASSED)
        example = Counterexample(probe=c.probes[0], measured=figures if c.id == "timed" else {})
        return Evidence.of(c, Outcome.FAILED, title="it raises", counterexample=example)

    found = {e.criterion: e for e in charge_once(made, map(evidence, made.challenge.criteria))}["timed"]
    assert (found.faulty, found.rests_on) == (charged, None if charged else "values")
    assert charged or (found.outcome is Outcome.NOT_RUN and found.detail.startswith("was not measured"))
