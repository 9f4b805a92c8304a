"""Whatever a wrong attention returns or does is a finding about it, in bounded time, and never a failure of ours."""

from dataclasses import replace

import pytest

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.criteria import probe_criterion
from tests.checkout import WORKSPACE

SECONDS = 1.0
"""Of a call: every good one takes a thousandth."""
BAD = {
    "nothing": "return None",
    "a number": "return 1.5",
    "text": "return 'attention'",
    "a list of lists": "return q.tolist()",
    "a tuple with the output": "return (np.zeros_like(q),)",
    "a generator": "return (row for row in np.zeros_like(q))",
    "another shape": "return np.zeros((*q.shape, 1), q.dtype)",
    "whole numbers": "return np.zeros(q.shape, np.int64)",
    "complex numbers": "return np.zeros(q.shape, complex)",
    "objects": "return np.full(q.shape, None)",
    "NaN": "return np.full_like(q, np.nan)",
    "infinity": "return np.full_like(q, np.inf)",
    "an enormous output": "return np.broadcast_to(q.ravel()[:1], (1 << 40,))",
    "an output that fills memory": "return np.ones((1 << 30, 8))",
    "an exception": "raise RuntimeError('no')",
    "an exception in the middle": "CALLS.append(1)\n    if CALLS[1:]:\n        raise KeyError('no')\n    return q + v",
    "an exit": "raise SystemExit(0)",
    "recursion": "return flash_attention_fwd(q, k, v, tile_size, causal)",
    "an endless loop": "while True:\n        pass",
    "endless sleep": "import time\n    time.sleep(1e6)",
}


@pytest.fixture(scope="module")
def code() -> ChallengeCode:
    """The challenge, whose calls end sooner."""
    whole = WORKSPACE.challenge("flash_attention")
    limits = whole.limits.model_copy(update={"call_seconds": SECONDS})
    return ChallengeCode(WORKSPACE, whole.model_copy(update={"limits": limits}))


def judged(code: ChallengeCode, body: str, criterion: str) -> Evidence:
    source = (
        f"import numpy as np\n\nCALLS = []\n\n\ndef flash_attention_fwd(q, k, v, tile_size, causal=True):\n    {body}\n"
    )
    with open_in_sandbox(code, source) as answer:
        return probe_criterion(code, code.challenge.criterion(criterion), answer, 1, explain=False, until_failed=True)


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_is_a_finding(code: ChallengeCode, kind: str) -> None:
    evidence = judged(code, BAD[kind], code.challenge.anchor)
    assert evidence.outcome is Outcome.FAILED, evidence
    assert evidence.title


def test_another_exception_for_wrong_arguments_earns_part(code: ChallengeCode) -> None:
    """ValueError is asked for; an answer that refuses otherwise is told so and keeps half."""
    reference = code.source().replace("raise ValueError(complaint)", "raise TypeError(complaint)")
    with open_in_sandbox(code, reference) as answer:
        evidence = probe_criterion(code, code.challenge.criterion("argument_errors"), answer, 1)
    assert (evidence.outcome, evidence.fraction) == (Outcome.PARTIAL, 0.5)
    assert "another exception than ValueError" in evidence.detail


def test_memory_that_is_given_back_before_the_call_ends_is_seen(code: ChallengeCode) -> None:
    """An array of all scores that lives for a moment counts, and what was held before the call does not hide it."""
    hoard = "q = q.copy()\n    scores = np.ones((q.shape[2], q.shape[2]), np.float32)\n    del scores\n"
    reference = code.source().replace("    length = q.shape[2]\n", f"    {hoard}    length = q.shape[2]\n")
    before = "\nWARM = np.ones((5000, 5000))\nWARM = None\n"
    limits = replace(code, challenge=WORKSPACE.challenge("flash_attention"))
    with open_in_sandbox(limits, reference + before) as answer:
        evidence = probe_criterion(limits, limits.challenge.criterion("no_score_matrix"), answer, 1, explain=False)
    assert evidence.outcome is Outcome.FAILED, evidence
    assert evidence.measured["memory_share"] >= 1.0
