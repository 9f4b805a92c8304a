"""A crash is told from a wrong value: it is reported on the case where it happened, and no smaller one is tried."""

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.evidence.criteria import probe_criterion

CRASHES = "import os\ndef scaled(x, scale): os._exit(9)\n"
WRONG = "def scaled(x, scale): return x.sum(axis=-1)\n"


def test_an_answer_that_crashed_is_not_called_again(toy):
    with open_in_sandbox(toy, CRASHES) as answer:
        evidence = probe_criterion(toy, toy.challenge.criterion("values"), answer, 5)
        assert answer.calls == 1
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "the process ends inside `scaled`")
    assert evidence.counterexample.case == {"B": 6, "D": 40}
    assert evidence.diagnosis is None


def test_a_wrong_value_is_shrunk(toy):
    with open_in_sandbox(toy, WRONG) as answer:
        evidence = probe_criterion(toy, toy.challenge.criterion("values"), answer, 5)
        assert answer.calls > 2
    assert evidence.counterexample.case == {"B": 1, "D": 1}
