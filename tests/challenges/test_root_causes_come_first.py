"""A wrong value that changes with the order of threads is listed under the race in its calls, and no other is."""

from typing import Any

import pytest
from softmax_topk_answers import CODE

from harness.model import Evidence, Finding, Outcome
from harness.model.evidence.finding import criterion_findings
from harness.mutation.checks.check import assess, open_in_sandbox
from harness.probing.evidence.root_causes import OtherwiseCalledAnswer, link_to_races
from harness.probing.failures import CallTimedOut

AFTER_LEADERS = CODE.module("mutants").AFTER_LEADERS
SEED = 7
RACE, WRONG = "synchronisation", "values"


def judged(mutant: str, *before: Evidence, added: str = "") -> list[Evidence]:
    """Evidence of the wrong values of a mutant, behind what was found `before` or the race that it has itself."""
    source = CODE.source(next(m for m in CODE.mutants if m.name == mutant))
    source = source.replace(AFTER_LEADERS, added + AFTER_LEADERS)
    with open_in_sandbox(CODE, source) as answer:
        found = list(before) or assess(CODE, answer, SEED, RACE)
        return link_to_races(CODE, [*assess(CODE, answer, SEED, WRONG), *found], answer)


def listed(evidence: list[Evidence]) -> list[Finding]:
    critical, others = criterion_findings(evidence)
    return [*critical, *others]


def test_values_that_change_with_the_order_of_threads_are_linked_to_the_race() -> None:
    values, race = judged("barrier missing in the sort")
    assert (race.defect, race.linked_to) == ("shared_race", None)
    assert (values.outcome, values.linked_to) == (Outcome.FAILED, RACE)
    assert [(f.criterion, f.linked_to) for f in listed([values, race])] == [(RACE, None), (WRONG, RACE)]
    # of an answer without a race, whatever race another criterion was said to have found
    alone, _ = judged("renormalised over k", race)
    assert (alone.outcome, alone.linked_to) == (Outcome.FAILED, None)
    assert [f.criterion for f in listed([race, alone])] == [WRONG, RACE]


def test_values_that_are_wrong_in_every_order_are_not() -> None:
    """A race in the same calls does not make it the cause."""
    values, race = judged("renormalised over k", added="    __shared__ volatile int last;\n    last = threadIdx.x;\n")
    assert (race.defect, values.outcome, values.linked_to) == ("shared_race", Outcome.FAILED, None)


def test_a_call_that_a_busy_machine_ended_is_no_other_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three orders one times out: nothing is said of the order of threads."""
    source = CODE.source(next(m for m in CODE.mutants if m.name == "barrier missing in the sort"))
    launch = OtherwiseCalledAnswer.call

    def late(answer: OtherwiseCalledAnswer, function: str, *args: Any, **options: Any) -> Any:
        if answer.options.get("seed") == 2:
            raise CallTimedOut("`launch` does not end in time")
        return launch(answer, function, *args, **options)

    monkeypatch.setattr(OtherwiseCalledAnswer, "call", late)
    with open_in_sandbox(CODE, source) as answer:
        found = [*assess(CODE, answer, SEED, WRONG), *assess(CODE, answer, SEED, RACE)]
        values, _ = link_to_races(CODE, found, answer)
    assert (values.outcome, values.linked_to) == (Outcome.FAILED, None)
