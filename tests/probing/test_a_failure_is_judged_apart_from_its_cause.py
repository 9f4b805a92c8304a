"""A failure that another criterion's fault may explain is judged again where that fault cannot show."""

from dataclasses import replace

import pytest

from harness.model import Outcome
from harness.probing import ProbeFailure
from harness.probing.criteria import probe_criterion
from harness.probing.local_answer import LocalAnswer
from harness.probing.mutants import module_of
from harness.probing.root_causes import judged_apart
from harness.probing.sizes import Axis, Drawn

FIRST_ROW_RIGHT = "    total[1:] = total[1:] ** 2\n"
"""Later rows are neither right nor linear."""
NEVER_LINEAR = FIRST_ROW_RIGHT + "    total = total + 1.0\n"


def never_linear(answer, draw, *, D):
    """Fail at any size."""
    raise ProbeFailure("is not linear")


@pytest.fixture
def code(toy):
    """The toy, whose `values` cannot fail by other rows at B = 1, and whose `linear` rests on it."""
    changes = {"values": {"absent_at": {"B": 1}}, "linear": {"rests_on": ("values",)}}
    criteria = [c.model_copy(update=changes[c.id]) for c in toy.challenge.criteria]
    return replace(toy, challenge=toy.challenge.model_copy(update={"criteria": tuple(criteria)}))


def judged(code, fault):
    """The evidence for `linear` of an answer with a fault."""
    source = code.source().replace("    return total", f"{fault}    return total")
    answer = LocalAnswer(module_of("faulty", source))
    evidence = [probe_criterion(code, c, answer, 3, explain=False) for c in code.challenge.criteria]
    assert [e.outcome for e in evidence] == [Outcome.FAILED, Outcome.FAILED]
    return judged_apart(code, evidence, answer)[1]


def test_what_passes_there_depends_on_the_other_fault(code):
    found = judged(code, FIRST_ROW_RIGHT)
    assert (found.outcome, found.rests_on, found.title) == (Outcome.NOT_RUN, "values", "")
    assert "passes with B = 1" in found.detail and "is not linear" in found.detail


def test_what_fails_there_is_a_fault_of_its_own(code):
    found = judged(code, NEVER_LINEAR)
    assert found.faulty
    assert found.counterexample.case["B"] == 1


def test_a_probe_without_the_setting_keeps_its_failure(code):
    """Its inputs cannot hold what the other fault needs."""
    name = code.challenge.criterion("linear").probes[0]
    code.probes[name] = replace(code.probes[name], cases=({"D": 5},), body=never_linear)
    assert judged(code, FIRST_ROW_RIGHT).faulty


def test_drawn_cases_are_held_to_a_setting():
    drawn = Drawn({"B": Axis(1, 9), "D": Axis(1, 9)}, 4, choices={"kind": ("a", "b")}).at({"B": 1, "kind": "b", "N": 3})
    assert (drawn.axes, drawn.choices) == ({"B": Axis(1, 1), "D": Axis(1, 9)}, {"kind": ("b",)})
