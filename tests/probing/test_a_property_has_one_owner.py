"""What breaks the property of another criterion is charged by that one, and a failure of one's own is looked for."""

import pytest

from harness.model import Counterexample, Evidence, Observation, Outcome, Threshold
from harness.probing import ProbeFailure, expect, probe
from harness.probing.evidence.charging import charge_once
from harness.probing.failures import FaultElsewhere, FromUnwritten
from harness.probing.probe import PASSES_FIRST, run
from harness.scoring.doubts import _list_causes

PROBE = "rows_match_the_oracle"


def failed(toy, id, fault_of="", also=(), **fields):
    seen = Counterexample(probe=PROBE, case=fields.pop("case", {}))
    also = tuple(Observation(title=f"of {owner or id}", counterexample=seen, fault_of=owner) for owner in also)
    criterion = toy.challenge.criterion(id)
    title = f"of {fault_of or id}"
    return Evidence.of(
        criterion,
        Outcome.FAILED,
        title=title,
        detail="seen",
        counterexample=seen,
        fault_of=fault_of,
        also=also,
        **fields,
    )


def settled(toy, *found, **options):
    known = {e.criterion for e in found}
    others = (Evidence.of(c, Outcome.PASSED) for c in toy.challenge.criteria if c.id not in known)
    return {e.criterion: e for e in charge_once(toy, [*found, *others], **options)}


def test_a_broken_property_is_charged_by_its_owner(toy):
    found = settled(toy, failed(toy, "values"), failed(toy, "linear", "values"))
    assert (found["linear"].outcome, found["linear"].rests_on) == (Outcome.NOT_RUN, "values")
    assert "of values: seen" in found["linear"].detail
    assert found["values"].faulty


def test_the_owner_shows_what_others_saw_of_its_property(toy):
    other = failed(toy, "linear", "values").model_copy(update={"title": "seen elsewhere"})
    found = settled(toy, failed(toy, "values"), other)
    assert [seen.title for seen in found["values"].also] == ["seen elsewhere"]


def test_what_comes_from_unwritten_memory_is_its_owners_even_where_the_plain_case_passes():
    with pytest.raises(FromUnwritten) as seen, expect.only_beside(lambda: None):
        raise FromUnwritten("an index lies outside its row", fault_of="memory_safety")
    assert seen.value.fault_of == "memory_safety"


def test_where_its_owner_saw_nothing_it_is_charged_where_it_was_seen(toy):
    assert settled(toy, failed(toy, "linear", "values"))["linear"].faulty


def test_the_anchor_stays_failed_whosever_fault_it_is(toy):
    found = settled(toy, failed(toy, "linear"), failed(toy, "values", "linear"))["values"]
    assert (found.outcome, found.rests_on, found.faulty) == (Outcome.FAILED, "linear", False)
    found = settled(toy, failed(toy, "linear"), failed(toy, "values", "linear"), marked=False)["values"]
    assert (found.outcome, found.rests_on) == (Outcome.NOT_RUN, "linear")


def test_of_several_failures_each_is_left_to_its_owner(toy):
    found = settled(toy, failed(toy, "values"), failed(toy, "linear", also=("values", "")))["linear"]
    assert (found.title, [seen.title for seen in found.also]) == ("of linear", ["of linear"])
    found = settled(toy, failed(toy, "values"), failed(toy, "linear", "values", also=("", "values")))["linear"]
    assert (found.faulty, found.title, found.also) == (True, "of linear", ())


def test_what_begins_beyond_the_case_of_its_owner_is_charged_by_itself(toy):
    begins = Threshold(axis="N", right_at=99, wrong_from=100, onward=True)
    for size, own in ((3, True), (200, False)):
        late = failed(toy, "linear", "values", thresholds=(begins,))
        assert settled(toy, failed(toy, "values", case={"N": size}), late)["linear"].faulty is own


def test_no_record_holds_whose_fault_it_may_be(toy):
    assert "fault_of" not in failed(toy, "linear", "values", also=("values",)).model_dump_json()


def test_a_case_that_breaks_anothers_property_ends_no_probe():
    @probe({"n": 1}, {"n": 2}, {"n": 3})
    def fails(answer, draw, *, n):
        if n > 1:
            raise ProbeFailure(f"fails at {n}", fault_of="own")
        raise ProbeFailure("is another's", fault_of="other")

    answer = type("Nothing", (), {"forget": lambda self: None, "fresh": lambda self: None})()
    assert run(fails, answer, 1, shrink=False, own="own").title == "fails at 2"
    assert run(fails, answer, 1, shrink=False, own="other").title == "is another's"


def test_a_smaller_case_is_a_fault_of_the_same_criterion():
    @probe({"n": 9})
    def fails(answer, draw, *, n):
        raise ProbeFailure("is wrong", f"n = {n}", fault_of="own" if n > 4 else "other")

    answer = type("Nothing", (), {"forget": lambda self: None, "fresh": lambda self: None})()
    assert run(fails, answer, 1, own="own").detail == "n = 5"


def test_a_case_that_passes_as_the_first_of_a_process_is_not_called_the_smallest():
    calls = []

    @probe({"n": 1}, {"n": 9})
    def fails(answer, draw, *, n):
        calls.append(n)
        if len(calls) > 1:
            raise ProbeFailure("is wrong", f"n = {n}")

    answer = type("Nothing", (), {"forget": lambda self: None, "fresh": lambda self: calls.clear()})()
    found = run(fails, answer, 1)
    assert found.counterexample is not None
    assert (found.counterexample.case, found.counterexample.after_others) == ({"n": 9}, True)
    assert found.detail == f"n = 9; {PASSES_FIRST}"


@pytest.mark.parametrize("plain", [True, False])
def test_what_is_special_has_the_fault_unless_the_plain_case_shows_it(plain):
    def wrong(title):
        raise ProbeFailure(title, fault_of="selection")

    expected = FaultElsewhere if plain else ProbeFailure
    with pytest.raises(expected) as seen, expect.only_beside(lambda: wrong("plain") if plain else None):
        wrong("special")
    assert (seen.value.title, seen.value.fault_of) == (("plain", "selection") if plain else ("special", ""))


def test_an_anchor_that_rests_on_another_criterion_is_believed(toy):
    found = settled(toy, failed(toy, "linear"), failed(toy, "values", "linear"))["values"]
    rubric = toy.challenge
    assert "linear" in _list_causes(rubric, rubric.criterion("values"), found)
    assert "linear" not in _list_causes(rubric, rubric.criterion("linear"), found)
