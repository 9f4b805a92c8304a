"""A property fails where it was seen broken, and is not judged where the fault of another criterion hid it."""

from dataclasses import replace

import pytest

from harness.model import Counterexample, Evidence, Location, Obstacle, Outcome
from harness.probing import expect
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import _drop_adapter_locations
from harness.probing.failures import CallFailed, NotOffered, ProbeFailure
from harness.probing.probe import ProbeResult

RAISES = "`rows` raises ValueError"


@pytest.fixture
def code(toy):
    """The toy, whose criterion `linear` judges a property."""
    criteria = [c.model_copy(update={"judges": "property"}) if c.id == "linear" else c for c in toy.challenge.criteria]
    return replace(toy, challenge=toy.challenge.model_copy(update={"criteria": tuple(criteria)}))


def settled(code, **failed):
    """The evidence for `linear`, where criteria failed with a title and for an obstacle."""

    def evidence(c):
        if c.id not in failed:
            return Evidence.of(c, Outcome.PASSED)
        title, obstacle = failed[c.id]
        seen = Counterexample(probe="rows_match_the_oracle")
        return Evidence.of(c, Outcome.FAILED, title=title, detail="seen", counterexample=seen, obstacle=obstacle)

    return {e.criterion: e for e in charge_once(code, map(evidence, code.challenge.criteria))}["linear"]


def test_a_call_that_fails_is_charged_where_it_is_judged(code):
    found = settled(code, values=(RAISES, Obstacle.CALL), linear=(RAISES, Obstacle.CALL))
    assert (found.outcome, found.rests_on, found.faulty) == (Outcome.NOT_RUN, "values", False)
    assert "values" in found.detail and RAISES in found.detail


def test_an_output_that_says_nothing_is_charged_where_it_is_judged(code):
    found = settled(code, values=("y is wrong", None), linear=("y is constant", Obstacle.OUTPUT))
    assert (found.outcome, found.rests_on) == (Outcome.NOT_RUN, "values")


def test_a_property_that_was_seen_broken_fails_whatever_else_does(code):
    assert settled(code, values=("y is wrong", None), linear=("y is not linear", None)).faulty


@pytest.mark.parametrize(
    "values", [None, ("y is wrong", None), ("`rows` raises TypeError", Obstacle.CALL)], ids=["passes", "wrong", "other"]
)
def test_a_call_that_fails_for_the_property_alone_is_charged_to_it(code, values):
    others = {} if values is None else {"values": values}
    assert settled(code, **others, linear=(RAISES, Obstacle.CALL)).faulty


def test_a_value_that_another_criterions_fault_explains_is_charged_there(code):
    evidence = {e.criterion: e for e in charge_once(code, explained(code, "y is wrong"))}
    assert (evidence["values"].outcome, evidence["values"].rests_on) == (Outcome.NOT_RUN, "linear")
    assert evidence["linear"].faulty


def test_a_fault_that_no_other_criterion_shows_stays_where_it_was_seen(code):
    evidence = {e.criterion: e for e in charge_once(code, explained(code, "y is something else"))}
    assert evidence["values"].faulty and evidence["linear"].faulty


def explained(code, title):
    """The evidence where `values` was traced to a fault of that title, and `linear` fails with "y is wrong"."""
    seen = {"detail": "seen", "counterexample": Counterexample(probe="rows_match_the_oracle")}
    for c in code.challenge.criteria:
        if c.id == "values":
            yield Evidence.of(c, Outcome.FAILED, title=title, obstacle=Obstacle.FAULT, **seen)
        elif c.id == "linear":
            yield Evidence.of(c, Outcome.FAILED, title="y is wrong", **seen)
        else:
            yield Evidence.of(c, Outcome.PASSED)


@pytest.mark.parametrize("kind", [CallFailed, NotOffered])
def test_arguments_that_are_not_refused_are_named(kind):
    """Another exception is no refusal, and no acceptance either."""

    def attempt():
        raise kind("`rows` raises AssertionError", "parents come first")

    with pytest.raises(CallFailed) as seen:
        expect.refused(attempt, "a node that is its own parent")
    assert seen.value.title == "does not refuse a node that is its own parent with ValueError"
    assert seen.value.detail == "`rows` raises AssertionError: parents come first"


def test_a_call_that_works_otherwise_is_evidence_of_the_property():
    with pytest.raises(ProbeFailure) as seen, expect.works("fails on read-only inputs"):
        raise CallFailed(RAISES, "output array is read-only")
    assert (seen.value.title, seen.value.obstacle) == ("fails on read-only inputs", None)
    assert RAISES in seen.value.detail


def test_a_place_in_our_adapter_is_never_shown_as_the_answers():
    ours, theirs = (Location(file=file, line=3, function="rows") for file in ("adapter.py", "rows.py"))
    seen = ProbeResult("rows_match_the_oracle", 0.0, {}, title=RAISES, locations=(ours, theirs))
    assert _drop_adapter_locations(seen, {"adapter.py"}).locations == (theirs,)
