"""Whatever comes back from training, or does not, is a finding about the answer, and comes in bounded time."""

import time

import numpy as np
import pytest

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing import Keep
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.criteria import probe_criterion
from tests import shares
from tests.checkout import WORKSPACE

WHOLE = WORKSPACE.challenge("ternary_training")
SECONDS = 1.0
LIMITS = WHOLE.limits.model_copy(update={"function_seconds": {"train": SECONDS}, "call_seconds": SECONDS})
CODE = ChallengeCode(WORKSPACE, WHOLE.model_copy(update={"limits": LIMITS}))
CONFIG = {
    "layers": 1, "heads": 1, "width": 8, "context": 6, "vocab": 20, "group_size": 4, "steps": 1, "batch": 2,
    "learning_rate": 0.01,
}  # fmt: skip
TRAINED = "    return weights\n\n\ndef initial_weights"


def ending(lines: str) -> str:
    """The reference with another end of `train`."""
    source = CODE.source()
    assert source.count(TRAINED) == 1
    return source.replace(TRAINED, f"{lines}\n\n\ndef initial_weights")


ANSWERS = {
    "nothing": ("    return None", "no dict"),
    "a list": ("    return list(weights.values())", "no dict"),
    "a generator": ("    return (w for w in weights.values())", "contract"),
    "a tuple": ("    return weights, {}", "no dict"),
    "nested by layer": ('    return {"layers": [weights], "embed": weights["embed"]}', "missing"),
    "a name missing": ('    del weights["layer0.wk"]\n    return weights', "missing"),
    "a name more": ('    return weights | {"bias": weights["norm"]}', "does not name"),
    "a shape transposed": ('    weights["layer0.w_up"] = weights["layer0.w_up"].T.copy()\n    return weights', "shape"),
    "a shape of three": ('    weights["embed"] = weights["embed"][None]\n    return weights', "shape"),
    "float64": ("    return {k: w.astype(float) for k, w in weights.items()}", "float32"),
    "projected to int8": ("    return {k: w.astype(np.int8) for k, w in weights.items()}", "float32"),
    "objects": ('    weights["embed"] = weights["embed"].astype(object)\n    return weights', ""),
    "lists of numbers": ("    return {k: w.tolist() for k, w in weights.items()}", ""),
    "a number": ('    weights["norm"] = 1.0\n    return weights', "no array"),
    "NaN": ('    weights["layer0.wq"][0, 0] = np.nan\n    return weights', "finite"),
    "infinity": ('    weights["position"][-1] = np.inf\n    return weights', "finite"),
    "all the same": ("    return {k: np.zeros_like(w) for k, w in weights.items()}", "constant"),
    "far too much": ('    return weights | {"rest": np.zeros(4_000_000, np.float32)}', ""),
    "a dict of itself": ('    weights["embed"] = weights\n    return weights', ""),
    "an exception": ('    raise RuntimeError("diverged")', "RuntimeError"),
    "not implemented": ("    raise NotImplementedError", ""),
    "the end of the process": ("    import os\n    os._exit(3)", ""),
    "an endless loop": ("    while True:\n        pass", "does not end in time"),
    "a long sleep": ("    import time\n    time.sleep(60)\n    return weights", ""),
    "much printed": ('    while True:\n        print("loss" * 1000)', ""),
    "much memory": ("    kept = [np.ones((1 << 26,)) for _ in range(100)]\n    return weights", ""),
}
ENDLESS = {"an endless loop", "a long sleep", "much printed", "much memory"}
"""Those that take all the time or memory there is."""
DRAWN = shares.share(ANSWERS, 6, lambda kind: kind in ENDLESS)


@pytest.mark.parametrize("kind", DRAWN)
def test_a_strange_training_is_a_finding(kind: str) -> None:
    lines, words = ANSWERS[kind]
    begun = time.process_time()
    with open_in_sandbox(CODE, ending(lines)) as answer:
        found = probe_criterion(CODE, CODE.challenge.criterion("configs"), answer, 3, explain=False)
    assert found.outcome in (Outcome.FAILED, Outcome.NOT_OFFERED), found
    assert words in f"{found.title} {found.detail}", found
    # two tries of a call that does not end, on whatever machine: none of it is this process's work
    assert time.process_time() - begun < 10


def test_a_fault_in_the_middle_of_training_says_where() -> None:
    source = CODE.source().replace(
        "        gradients = model_gradients(", "        missing\n        gradients = model_gradients("
    )
    with open_in_sandbox(CODE, source) as answer:
        found = probe_criterion(CODE, CODE.challenge.criterion("learns"), answer, 3, explain=False)
    assert found.outcome is Outcome.FAILED
    assert "NameError" in f"{found.title} {found.detail}"


def test_training_has_a_time_limit_of_its_own_and_says_that_it_is_at_work() -> None:
    """Two and a half seconds: more than a call may take, less than a training run may."""
    limits = LIMITS.model_copy(update={"function_seconds": {"train": 30.0}, "call_seconds": 1.0})
    code = ChallengeCode(WORKSPACE, WHOLE.model_copy(update={"limits": limits}))
    told: list[tuple[str, float]] = []
    with open_in_sandbox(code, ending("    import time\n    time.sleep(2.5)\n    return weights")) as answer:
        answer.under_way = lambda function, seconds: told.append((function, seconds))
        answer.call("train", np.arange(20, dtype=np.int16), CONFIG, 1, returns=Keep())
    assert {function for function, _ in told} == {"train"}
    assert all(0 < seconds < 30 for _, seconds in told)
