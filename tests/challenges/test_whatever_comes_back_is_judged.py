"""Whatever a wrong answer returns, keeps or does with the model is a finding about it, in bounded time."""

from dataclasses import replace

import pytest

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.evidence.criteria import probe_criterion
from tests.checkout import code_of

SEARCH, TREE, FORWARD, BOTH = "beam_search", "tree_verification", "flash_attention", "flash_attention_backward"
SECONDS = 1.0
"""Of a call of attention: every good one takes a thousandth."""
SEARCH_HEAD = "def batched_beam_search(model, prompts, K, steps, alpha, eos):\n"
TREE_HEAD = """
import numpy as np

def build_tree_mask(prompt_len, parents):
    return np.tri(prompt_len + len(parents), dtype=bool)

def verify_and_accept(model, prompt, tokens, parents):
"""
CHAIN = "    out = model([*prompt, *tokens], build_tree_mask(len(prompt), parents), None)\n"
RESULTS, RESULT = (f"the {words} have the form of the contract" for words in ("results do not", "result does not"))
OTHER, MISUSE = "something else than the contract says", "calls `model` with what it does not take"
SEARCHES = {
    "None": ("    return None\n", RESULTS),
    "a number": ("    return 3.5\n", RESULTS),
    "a generator": ("    return (p for p in prompts)\n", OTHER),
    "generators inside": ("    return [(b for b in p) for p in prompts]\n", OTHER),
    "pairs without a list for each prompt": ("    return [([1], -1.0) for p in prompts]\n", RESULTS),
    "tokens without scores": ("    return [[[1], [2]] for p in prompts]\n", RESULTS),
    "tokens as text": ("    return [[('12', -1.0)] for p in prompts]\n", RESULTS),
    "tokens as floats": ("    return [[([1.0], -1.0)] for p in prompts]\n", RESULTS),
    "tokens as arrays": ("    import numpy\n    return [[(numpy.array([1]), -1.0)] for p in prompts]\n", RESULTS),
    "a score as a list": ("    return [[([1], [-1.0])] for p in prompts]\n", RESULTS),
    "a result too many": ("    return [[([1], -1.0)] for p in prompts] * 2\n", "not one result for each prompt"),
    "no results": ("    return [[] for p in prompts]\n", "there are too few results"),
    "NaN": ("    t = int(model(prompts[0]).argmax())\n    return [[([t], float('nan'))] for p in prompts]\n",
            "a score is wrong"),
    "endless tokens": ("    return [[([1] * 10**7, -1.0)] for p in prompts]\n", OTHER),
    "endless beams": ("    return [[([1], -1.0)] * 10**5 for p in prompts]\n", OTHER),
    "deep nesting": ("    x = []\n    for _ in range(10**5):\n        x = [x]\n    return x\n", OTHER),
    "an exception in the middle": ("    model(prompts[0])\n    raise KeyError('beam')\n", "raises KeyError"),
    "an exit": ("    model(prompts[0])\n    raise SystemExit(0)\n", "raises SystemExit"),
    "a crash": ("    import os\n    model(prompts[0])\n    os._exit(1)\n", "the process ends inside"),
    "floats to the model": ("    model([0.5])\n", MISUSE),
    "all prompts to the model": ("    model(prompts)\n", MISUSE),
    "nothing to the model": ("    model([])\n", MISUSE),
    "a token of another vocabulary": ("    model([10**6])\n", MISUSE),
    "rubbish caught": ("    try:\n        model(None)\n    except Exception:\n        return [[] for p in prompts]\n",
                       MISUSE),
    "endless calls": ("    while True:\n        model(prompts[0])\n", "calls `model` more often than it is answered"),
}  # fmt: skip
VERIFICATIONS = {
    "None": ("    return None\n", RESULT),
    "a list": ("    return [1, 2, 3]\n", RESULT),
    "a generator": ("    return (t for t in ([], 1))\n", OTHER),
    "a generator inside": ("    return (t for t in tokens), 1\n", OTHER),
    "tokens as text": ("    return '12', 1\n", RESULT),
    "tokens as booleans": ("    return [True], 1\n", RESULT),
    "NaN": ("    return [], float('nan')\n", RESULT),
    "an array": ("    return np.array([1, 2]), 1\n", RESULT),
    "nothing": ("    return [], None\n", "nothing is emitted"),
    "endless tokens": ("    return [1] * 1000, 1\n", "more is emitted than the tree holds"),
    "enormous": ("    return [1] * 10**7, 1\n", OTHER),
    "a token of 100 digits": ("    return [], 10**100\n", OTHER),
    "an exception in the middle": (CHAIN + "    raise IndexError(out.shape)\n", "raises IndexError"),
    "a crash": (CHAIN + "    import os\n    os._exit(0)\n", "the process ends inside"),
    "no mask": ("    model(prompt, None, None)\n", MISUSE),
    "a mask of ones": ("    model(prompt, np.ones((len(prompt),) * 2), None)\n", MISUSE),
    "a mask of another size": ("    model(prompt, np.tri(2 + len(prompt), dtype=bool), None)\n", MISUSE),
    "positions too few": ("    model(prompt, np.tri(len(prompt), dtype=bool), [0])\n", MISUSE),
    "tokens as floats": ("    model(np.array(prompt) / 2, np.tri(len(prompt), dtype=bool), None)\n", MISUSE),
    "one argument": ("    model(prompt)\n", MISUSE),
    "rubbish caught": ("    try:\n        model()\n    except Exception:\n        return [], 1\n", MISUSE),
    "endless calls": ("    while True:\n    " + CHAIN, "calls `model` more often than it is answered"),
}
ATTENTIONS = {
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


def judged(challenge: str, source: str, criterion: str = "", seconds: float | None = None) -> Evidence:
    """Judge an answer in the sandbox by one criterion, the anchor unless another is named."""
    code = code_of(challenge)
    if seconds:
        limits = code.challenge.limits.model_copy(update={"call_seconds": seconds})
        code = replace(code, challenge=code.challenge.model_copy(update={"limits": limits}))
    asked = code.challenge.criterion(criterion or code.challenge.anchor)
    with open_in_sandbox(code, source) as answer:
        return probe_criterion(code, asked, answer, 3, explain=False, until_failed=True)


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_bad_search_is_a_finding(kind: str) -> None:
    body, title = SEARCHES[kind]
    evidence = judged(SEARCH, SEARCH_HEAD + body)
    assert (evidence.outcome, evidence.satisfied) == (Outcome.FAILED, 0), evidence
    assert title in evidence.title, evidence


@pytest.mark.parametrize("kind", VERIFICATIONS)
def test_a_bad_verification_is_a_finding(kind: str) -> None:
    body, title = VERIFICATIONS[kind]
    evidence = judged(TREE, TREE_HEAD + body)
    assert (evidence.outcome, evidence.satisfied) == (Outcome.FAILED, 0), evidence
    assert title in evidence.title, evidence


def test_endless_calls_that_catch_what_is_raised_end() -> None:
    """The time of the call ends them, and what they did is told rather than that they took long."""
    caught = (
        "    while True:\n        try:\n            model(prompts[0])\n        except Exception:\n            pass\n"
    )
    evidence = judged(SEARCH, SEARCH_HEAD + caught, seconds=1.0)
    assert evidence.outcome is Outcome.FAILED
    assert "calls `model` more often than it is answered" in evidence.title


def test_rubbish_is_told_with_what_was_passed_and_where() -> None:
    evidence = judged(SEARCH, f"{SEARCH_HEAD}    model([0, 1.5])\n")
    assert "call 1: tokens[1] is the float 1.5, not an int" in evidence.detail
    assert [str(place) for place in evidence.locations] == ["answer.py:2"]
    evidence = judged(TREE, f"{TREE_HEAD}    model(prompt, np.ones((len(prompt),) * 2), None)\n")
    assert "call 1: mask holds 1, and an additive one holds 0 and minus infinity" in evidence.detail


@pytest.mark.parametrize(
    ("mask", "title"),
    [
        ("None", "the result does not have the form"),
        ("np.tri(3)", "the mask does not have the form"),
        ("np.ones((prompt_len + len(parents),) * 2)", "the mask does not have the form"),
        ("np.full((prompt_len + len(parents),) * 2, np.nan)", "the mask does not have the form"),
        ("np.zeros((9000, 9000), dtype=bool)", "something else than the contract says"),
        ("[[True]]", "the result does not have the form"),
        ("np.ones((prompt_len + len(parents),) * 2, dtype=bool)", "the mask is wrong"),
    ],
)
def test_a_bad_mask_is_a_finding(mask: str, title: str) -> None:
    source = TREE_HEAD.replace("np.tri(prompt_len + len(parents), dtype=bool)", mask) + "    return [], 1\n"
    evidence = judged(TREE, source, "mask")
    assert evidence.outcome is Outcome.FAILED and title in evidence.title, evidence


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_a_bad_attention_is_a_finding(kind: str) -> None:
    head = "import numpy as np\n\nCALLS = []\n\n\ndef flash_attention_fwd(q, k, v, tile_size, causal=True):\n"
    evidence = judged(FORWARD, f"{head}    {ATTENTIONS[kind]}\n", seconds=SECONDS)
    assert evidence.outcome is Outcome.FAILED and evidence.title, evidence


def exchanged(line: str, instead: str) -> str:
    """Return the reference of both passes with a line exchanged."""
    source = code_of(BOTH).source()
    assert source.count(line) == 1
    return source.replace(line, instead) + "\n\nCALLS = []\n"


@pytest.mark.parametrize("kind", GRADIENTS)
def test_a_bad_backward_is_a_finding(kind: str) -> None:
    evidence = judged(BOTH, exchanged(RETURN, f"    {GRADIENTS[kind]}\n"), "gradients", SECONDS)
    assert evidence.outcome is Outcome.FAILED and evidence.title, evidence


@pytest.mark.parametrize("kind", CACHES)
def test_a_bad_cache_is_a_finding(kind: str) -> None:
    saved = SAVE.replace("return o, ", "cache: Any = ")
    bad = f'{saved}    cache["itself"] = cache if {kind == "itself inside"} else o\n    return o, {CACHES[kind]}\n'
    evidence = judged(BOTH, exchanged(SAVE, bad), "cache_arrays", SECONDS)
    assert evidence.outcome is Outcome.FAILED and evidence.title, evidence


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_another_exception_for_wrong_arguments_earns_part(challenge: str) -> None:
    """ValueError is asked for; an answer that refuses otherwise is told so and keeps half."""
    source = code_of(challenge).source().replace("raise ValueError(complaint)", "raise TypeError(complaint)")
    evidence = judged(challenge, source, "argument_errors", SECONDS)
    assert (evidence.outcome, evidence.fraction) == (Outcome.PARTIAL, 0.5)
    assert "another exception than ValueError" in evidence.detail


def test_memory_that_is_given_back_before_the_call_ends_is_seen() -> None:
    """An array of all scores that lives for a moment counts, and what was held before the call does not hide it."""
    hoard = "q = q.copy()\n    scores = np.ones((q.shape[2], q.shape[2]), np.float32)\n    del scores\n"
    source = code_of(FORWARD).source().replace("    length = q.shape[2]\n", f"    {hoard}    length = q.shape[2]\n")
    evidence = judged(FORWARD, f"{source}\nWARM = np.ones((5000, 5000))\nWARM = None\n", "no_score_matrix")
    assert evidence.outcome is Outcome.FAILED, evidence
    assert evidence.measured["memory_share"] >= 1.0
