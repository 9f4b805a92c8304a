"""Whatever a verification returns or does with the model is a finding, in bounded time, and never a fault of ours."""

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import assess, open_in_sandbox
from tests.checkout import code_of

CODE = code_of("tree_verification")
HEAD = """
import numpy as np

def build_tree_mask(prompt_len, parents):
    return np.tri(prompt_len + len(parents), dtype=bool)

def verify_and_accept(model, prompt, tokens, parents):
"""
CHAIN = "    out = model([*prompt, *tokens], build_tree_mask(len(prompt), parents), None)\n"
FORM, OTHER = "the result does not have the form of the contract", "something else than the contract says"
MISUSE = "calls `model` with what it does not take"
BAD = {
    "None": ("    return None\n", FORM),
    "a list": ("    return [1, 2, 3]\n", FORM),
    "a generator": ("    return (t for t in ([], 1))\n", OTHER),
    "a generator inside": ("    return (t for t in tokens), 1\n", OTHER),
    "tokens as text": ("    return '12', 1\n", FORM),
    "tokens as booleans": ("    return [True], 1\n", FORM),
    "NaN": ("    return [], float('nan')\n", FORM),
    "an array": ("    return np.array([1, 2]), 1\n", FORM),
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


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_a_finding(name: str) -> None:
    body, title = BAD[name]
    (evidence,) = judged(body, CODE.challenge.anchor)
    assert (evidence.outcome, evidence.satisfied) == (Outcome.FAILED, 0), evidence
    assert title in evidence.title, evidence


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
    source = HEAD.replace("np.tri(prompt_len + len(parents), dtype=bool)", mask) + "    return [], 1\n"
    with open_in_sandbox(CODE, source) as answer:
        evidence = assess(CODE, answer, 3, "mask")[-1]
    assert evidence.outcome is Outcome.FAILED and title in evidence.title, evidence


def test_rubbish_is_told_with_what_was_passed() -> None:
    (evidence,) = judged("    model(prompt, np.ones((len(prompt),) * 2), None)\n", CODE.challenge.anchor)
    assert "call 1: mask holds 1, and an additive one holds 0 and minus infinity" in evidence.detail


def judged(body: str, criterion: str):
    with open_in_sandbox(CODE, HEAD + body) as answer:
        return assess(CODE, answer, 3, criterion)
