"""Whatever a search returns or does with the model is a finding, in bounded time, and never a fault of ours."""

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import assess, open_in_sandbox
from harness.probing.challenge_code.code import ChallengeCode
from tests.checkout import WORKSPACE, code_of

CODE = code_of("beam_search")
HEAD = "def batched_beam_search(model, prompts, K, steps, alpha, eos):\n"
FORM, OTHER = "the results do not have the form of the contract", "something else than the contract says"
BAD = {
    "None": ("    return None\n", FORM),
    "a number": ("    return 3.5\n", FORM),
    "a generator": ("    return (p for p in prompts)\n", OTHER),
    "generators inside": ("    return [(b for b in p) for p in prompts]\n", OTHER),
    "pairs without a list for each prompt": ("    return [([1], -1.0) for p in prompts]\n", FORM),
    "tokens without scores": ("    return [[[1], [2]] for p in prompts]\n", FORM),
    "tokens as text": ("    return [[('12', -1.0)] for p in prompts]\n", FORM),
    "tokens as floats": ("    return [[([1.0], -1.0)] for p in prompts]\n", FORM),
    "tokens as arrays": ("    import numpy\n    return [[(numpy.array([1]), -1.0)] for p in prompts]\n", FORM),
    "a score as a list": ("    return [[([1], [-1.0])] for p in prompts]\n", FORM),
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
    "floats to the model": ("    model([0.5])\n", "calls `model` with what it does not take"),
    "all prompts to the model": ("    model(prompts)\n", "calls `model` with what it does not take"),
    "nothing to the model": ("    model([])\n", "calls `model` with what it does not take"),
    "a token of another vocabulary": ("    model([10**6])\n", "calls `model` with what it does not take"),
    "rubbish caught": ("    try:\n        model(None)\n    except Exception:\n        return [[] for p in prompts]\n",
                       "calls `model` with what it does not take"),
    "endless calls": ("    while True:\n        model(prompts[0])\n", "calls `model` more often than it is answered"),
}  # fmt: skip
CAUGHT = "    while True:\n        try:\n            model(prompts[0])\n        except Exception:\n            pass\n"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_a_finding(name: str) -> None:
    body, title = BAD[name]
    (evidence,) = anchor(body)
    assert (evidence.outcome, evidence.satisfied) == (Outcome.FAILED, 0), evidence
    assert title in evidence.title, evidence


def test_endless_calls_that_catch_what_is_raised_end() -> None:
    """The time of the call ends them, and what they did is told rather than that they took long."""
    (evidence,) = anchor(CAUGHT, call_seconds=1.0)
    assert evidence.outcome is Outcome.FAILED
    assert "calls `model` more often than it is answered" in evidence.title


def test_rubbish_is_told_with_what_was_passed_and_where() -> None:
    (evidence,) = anchor("    model([0, 1.5])\n")
    assert "call 1: tokens[1] is the float 1.5, not an int" in evidence.detail
    assert [str(place) for place in evidence.locations] == ["answer.py:2"]


def anchor(body: str, **limits: float):
    challenge = CODE.challenge.model_copy(update={"limits": CODE.challenge.limits.model_copy(update=limits)})
    code = ChallengeCode(WORKSPACE, challenge)
    with open_in_sandbox(code, HEAD + body) as answer:
        return assess(code, answer, 3, challenge.anchor)
