"""Whatever a wrong attention, its cache or its backward returns or does is a finding about it, in bounded time."""

import pytest

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.criteria import probe_criterion
from tests.checkout import WORKSPACE
from tests.shares import share

SECONDS = 1.0
"""Of a call: every good one takes a thousandth."""
GRADIENTS = {
    "nothing": "return None",
    "two gradients": "return dq, dk",
    "a dict": 'return {"dq": dq, "dk": dk, "dv": dv}',
    "nested tuples": "return dq, (dk, dv)",
    "lists of numbers": "return dq.tolist(), dk.tolist(), dv.tolist()",
    "a generator": "return (gradient for gradient in (dq, dk, dv))",
    "generators": "return tuple((row for row in gradient) for gradient in (dq, dk, dv))",
    "another shape": "return dq, dk, dv[..., None]",
    "whole numbers": "return dq, dk, dv.astype(np.int64)",
    "complex numbers": "return dq, dk + 0j, dv",
    "objects": "return dq, dk, dv.astype(object)",
    "NaN": "return dq, dk, np.full_like(dv, np.nan)",
    "infinity": "return np.full_like(dq, np.inf), dk, dv",
    "an enormous output": "return dq, dk, np.broadcast_to(dv.ravel()[:1], (1 << 40,))",
    "an output that fills memory": "return np.ones((1 << 30, 8)), dk, dv",
    "an exception": "raise RuntimeError('no')",
    "an exception in the middle": "CALLS.append(1)\n    assert not CALLS[1:]\n    return dq, dk, dv",
    "an exit": "raise SystemExit(0)",
    "recursion": "return flash_attention_bwd(do, cache, tile_size, causal)",
    "an endless loop": "while True:\n        pass",
    "endless sleep": "__import__('time').sleep(1e6)",
}
CACHES = {
    "nothing": "None",
    "a list": "[o, logsumexp, q, k, v]",
    "a generator": "(array for array in (o, logsumexp, q, k, v))",
    "itself inside": "cache",
    "objects": "dict(cache, L=logsumexp.astype(object))",
    "names that are numbers": "dict(enumerate(cache.values()))",
    "an enormous array": "dict(cache, L=np.broadcast_to(logsumexp.ravel()[:1], (1 << 40,)))",
    "a function": "dict(cache, L=lambda: logsumexp)",
}
RETURN = "    return dq, dk, dv\n"
SAVE = '    return o, {"O": o, "L": logsumexp, "Q": q, "K": k, "V": v}\n'
ONE_IN = 3


@pytest.fixture(scope="module")
def code() -> ChallengeCode:
    """The challenge, whose calls end sooner."""
    whole = WORKSPACE.challenge("flash_attention_backward")
    limits = whole.limits.model_copy(update={"call_seconds": SECONDS})
    return ChallengeCode(WORKSPACE, whole.model_copy(update={"limits": limits}))


def judged(code: ChallengeCode, criterion: str, line: str, instead: str) -> Evidence:
    """What is said of the reference with a line exchanged."""
    assert code.source().count(line) == 1
    source = code.source().replace(line, instead) + "\n\nCALLS = []\n"
    with open_in_sandbox(code, source) as answer:
        return probe_criterion(code, code.challenge.criterion(criterion), answer, 1, explain=False, until_failed=True)


@pytest.mark.parametrize("kind", share(GRADIENTS, ONE_IN))
def test_a_bad_backward_is_a_finding(code: ChallengeCode, kind: str) -> None:
    evidence = judged(code, "gradients", RETURN, f"    {GRADIENTS[kind]}\n")
    assert evidence.outcome is Outcome.FAILED, evidence
    assert evidence.title


@pytest.mark.parametrize("kind", share(CACHES, ONE_IN))
def test_a_bad_cache_is_a_finding(code: ChallengeCode, kind: str) -> None:
    saved = SAVE.replace("return o, ", "cache: Any = ")
    bad = f'{saved}    cache["itself"] = cache if {kind == "itself inside"} else o\n    return o, {CACHES[kind]}\n'
    evidence = judged(code, "cache_arrays", SAVE, bad)
    assert evidence.outcome is Outcome.FAILED, evidence
    assert evidence.title


def test_another_exception_for_wrong_arguments_earns_part(code: ChallengeCode) -> None:
    """ValueError is asked for; an answer that refuses otherwise is told so and keeps half."""
    evidence = judged(code, "argument_errors", "raise ValueError(complaint)", "raise TypeError(complaint)")
    assert (evidence.outcome, evidence.fraction) == (Outcome.PARTIAL, 0.5)
    assert "another exception than ValueError" in evidence.detail
