"""A crash is told from a wrong value: it is reported on the case where it happened, and no smaller one is tried."""

from dataclasses import replace

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.failures import OtherRaised
from harness.probing.probe import run

CRASHES = "import os\ndef scaled(x, scale): os._exit(9)\n"
WRONG = "def scaled(x, scale): return x.sum(axis=-1)\n"
PROBE = "rows_match_the_oracle"


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


def test_a_case_that_fails_while_it_is_drawn_again_stays_as_it_is(toy):
    """A cache that cannot be made fails in the shrinker's own calls as well."""

    def fail(*failed):
        raise OtherRaised("`create_cache` raises TypeError")

    answer = LocalAnswer(module_of("submission", WRONG))
    result = run(replace(toy.probes[PROBE], shrinker=fail), answer, seed=5)
    assert (result.passed, result.title) == (False, "out is wrong")
    assert result.counterexample.case == {"B": 6, "D": 40}
