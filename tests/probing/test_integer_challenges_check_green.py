"""Challenges whose results are integers pass `harness check`: right answers are silent, all wrong ones are noticed."""

from collections import Counter

import pytest
from integer_challenges import OPERATIONS, made

from harness.cuda.compilers.host_compiler import host_compiler
from harness.model import Outcome
from harness.mutation.checks.check import assess, check, open_in_sandbox
from harness.mutation.checks.null_answer import NullAnswer, NullValues
from harness.mutation.checks.tampering import TAMPERINGS, TamperedAnswer
from tests import shares

NARROWED = {"float16 inside", "float32 inside float64"}
"""What no integer can lose; the argmax of floats can be that of narrower ones."""
APPLIES = {"argmax": {"float16 inside"}}
NEEDS_COMPILER = pytest.mark.skipif(host_compiler() is None, reason="the emulated device needs a C++ compiler")


def require_green(code, name):
    verdicts = list(check(code, shares.number()))
    assert [v for v in verdicts if not v.right] == []
    kinds = {"reference": 1, "variant": 1, "mutant": 4, "null": len(NullAnswer.KINDS), "tampered": len(TAMPERINGS)}
    assert Counter(v.kind for v in verdicts) == kinds
    assert {v.name for v in verdicts if not v.applies} == NARROWED - APPLIES.get(name, set())


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_challenge_in_python(tmp_path, name):
    require_green(made(tmp_path, name, "python"), name)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_challenge_in_cuda(tmp_path, name):
    require_green(made(tmp_path, name, "cuda"), name)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", OPERATIONS)
def test_worthless_results_of_a_kernel_are_wrong_by_their_values(tmp_path, name):
    code = made(tmp_path, name, "cuda")
    with open_in_sandbox(code, code.source()) as reference:
        for kind in NullAnswer.KINDS:
            null = TamperedAnswer(reference, NullValues(kind))
            (anchor,) = assess(code, null, shares.number(), "values")
            assert anchor.outcome is Outcome.FAILED
            assert anchor.counterexample.where.startswith("out["), anchor
