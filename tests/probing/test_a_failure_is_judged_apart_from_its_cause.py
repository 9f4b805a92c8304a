"""A failure that another criterion's fault may explain is judged again without the calls that show that fault."""

from dataclasses import replace

import pytest

from harness.model import Outcome
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.conditions import Condition
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.evidence.root_causes import judge_without_conditions

MANY_ROWS_WRONG = "    total = total ** 2 if len(x) > 2 else total\n"
"""Of three rows and more all are neither right nor linear."""
NEVER_LINEAR = MANY_ROWS_WRONG + "    total = total if len(x) > 2 or scale == 3.0 else total + 1.0\n"


@pytest.fixture
def code(toy):
    """The toy, whose `values` is charged with more than two rows, and whose probes ask for two rows as well."""
    for name, probe in list(toy.probes.items()):
        fewer = tuple({**case, "B": 2} for case in probe.cases)
        toy.probes[name] = probe.__class__(**{**vars(probe), "cases": (*fewer, *probe.cases)})
    many = Condition("there are more than two rows", "values", lambda function, args: len(args[0]) > 2)
    toy.__dict__["conditions"] = (many,)
    return toy


def judged(code, fault):
    """The evidence for `linear` of an answer with a fault."""
    source = code.source().replace("    return total", f"{fault}    return total")
    answer = LocalAnswer(module_of("faulty", source))
    evidence = [probe_criterion(code, c, answer, 3, explain=False) for c in code.challenge.criteria]
    assert [e.outcome for e in evidence] == [Outcome.FAILED, Outcome.FAILED]
    return judge_without_conditions(code, evidence, answer)


def test_what_passes_without_the_condition_depends_on_the_other_fault(code):
    values, linear = judged(code, MANY_ROWS_WRONG)
    assert values.faulty
    assert (linear.outcome, linear.rests_on, linear.title) == (Outcome.NOT_RUN, "values", "")
    assert "more than two rows" in linear.detail and "is not linear" in linear.detail


def test_what_some_probes_have_no_case_without_was_not_tried_only_with_it(code):
    """The law is tried on two rows as well, and holds there: only the other probe always takes more."""
    linear = code.challenge.criterion("linear")
    first = next(iter(code.probes_of(linear)))
    always = replace(first, name="always_many", cases=first.cases[-1:])
    assert always.cases[0]["B"] > 2
    code.probes["always_many"] = always
    both = linear.model_copy(update={"probes": (*linear.probes, "always_many")})
    criteria = tuple(both if c.id == "linear" else c for c in code.challenge.criteria)
    more = replace(code, challenge=code.challenge.model_copy(update={"criteria": criteria}))
    more.probes.update(code.probes)
    more.__dict__["conditions"] = code.conditions
    _, evidence = judged(more, MANY_ROWS_WRONG)
    assert evidence.rests_on == "values"
    assert "in no other case that was tried" in evidence.detail


def test_what_fails_without_the_condition_is_a_fault_of_its_own(code):
    values, linear = judged(code, NEVER_LINEAR)
    assert values.faulty and linear.faulty
    assert linear.counterexample.case["B"] <= 2
