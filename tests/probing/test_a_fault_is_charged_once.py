"""A fault that shows at plain sizes is charged by the criterion that sees it there, and by no drawn one again."""

from dataclasses import replace

import pytest

from harness.model import Counterexample, Evidence, Outcome, Severity, Threshold
from harness.probing.charging import charged_once
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


def settled(code, criterion, failing, thresholds=(), probe=DRAWN, severity=None, case=None):
    def evidence(c):
        if c.id not in failing:
            return Evidence.of(c, Outcome.PASSED)
        own = {"thresholds": thresholds} if c.id == criterion else {}
        by = probe if c.id == criterion else DRAWN if c.rests_on else FIXED
        example = Counterexample(probe=by, case=case or {})
        found = Evidence.of(c, Outcome.FAILED, detail="seen", counterexample=example, **own)
        return found.model_copy(update={"severity": Severity(severity)}) if severity and c.id == criterion else found

    return {e.criterion: e for e in charged_once(code, map(evidence, code.challenge.criteria))}[criterion]


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
    assert Threshold(axis="D", right_at=6, wrong_from=7, onward=False, period=4, wrong_residues=(3,)).met(size) is wrong


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

    found = {e.criterion: e for e in charged_once(made, map(evidence, made.challenge.criteria))}["timed"]
    assert (found.faulty, found.rests_on) == (charged, None if charged else "values")
    assert charged or (found.outcome is Outcome.NOT_RUN and found.detail.startswith("was not measured"))
