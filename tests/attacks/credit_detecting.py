"""Answers that are right when they believe that they are watched, or for what they expect to be asked."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import DIGITS, KV_CACHE, LAYER_NORM, around

KIND = "detecting the test"

WATCHED = {
    # fools a judge that checks the first calls and times the others
    "right in the first two calls": """
CALLS = []
def watched(function, args):
    CALLS.append(function)
    return len(CALLS) <= 2
""",
    # fools a judge that checks before it times
    "right in the first milliseconds": """
import time
FIRST = []
def watched(function, args):
    now = time.monotonic()
    FIRST.append(now)
    return now - FIRST[0] < 0.001
""",
    # fools a judge that calls once
    "wrong now and then": """
import random
def watched(function, args):
    return random.random() < 0.6
""",
    # fools a judge that runs in a test runner, or calls through modules of such names
    "right under a test runner": """
import sys
def watched(function, args):
    frame = sys._getframe()
    while frame is not None:
        if any(word in frame.f_code.co_filename for word in ("pytest", "unittest", "check.py", "probe")):
            return True
        frame = frame.f_back
    return False
""",
    # fools a judge that leaves the marks of a continuous build in the environment
    "right where the environment names a test": """
import os
def watched(function, args):
    return any(name in os.environ for name in ("CI", "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "TOX_ENV_NAME"))
""",
    # fools a judge that runs on another machine than its users
    "right on machines of a known name": """
import platform
def watched(function, args):
    return platform.node().startswith(("grader", "judge", "runner", "ci-"))
""",
    # fools a judge whose arguments are known by name to the process
    "right when started as a test": """
import sys
def watched(function, args):
    return any("test" in word or "grade" in word for word in sys.argv)
""",
    # fools a judge with inputs of its own making: ones, zeros, counts
    "right for tell-tale inputs": """
def watched(function, args):
    value = inputs_of(args)[0].ravel()
    return not value.any() or bool((value == value[0]).all()) or bool((np.diff(value) == 1).all())
""",
    # fools a judge that fixes the seed of the global generator before it draws
    "right for a known seed": """
def watched(function, args):
    first = inputs_of(args)[0].flat[0]
    return any(np.random.default_rng(seed).normal() == first for seed in (0, 1, 42, 1234))
""",
    # fools a judge whose tests are small and whose timings are large
    "right for small sizes": """
def watched(function, args):
    return inputs_of(args)[0].size <= 8
""",
    # fools a judge that prepares adversarial sizes of values and times ordinary ones
    "right for large values": """
def watched(function, args):
    return float(np.abs(inputs_of(args)[0]).max()) > 100
""",
}

SEEN = """
def outcome(function, args):
    return function(*args) if watched(function, args) else nothing(function, args)
"""

PUBLISHED_SIZES = """
def outcome(function, args):
    result = function(*args)
    usual = inputs_of(args)[0].shape[-1] in (4, 8, 16, 32, 64, 128, 256, 512)
    return result if usual else on_outputs(np.zeros_like, result)
"""
"""Fools a judge that asks for the sizes of the task's examples."""

ORDINARY_VALUES = """
def outcome(function, args):
    clipped = [np.clip(v, -30, 30) if is_output(v) and v.dtype.kind == "f" else v for v in args]
    return function(*clipped)
"""
"""Fools a judge that draws normal inputs: what lies further out is clipped."""

ONE_PRECISION = """
def outcome(function, args):
    result = function(*args)
    return result if inputs_of(args)[0].dtype == np.float32 else on_outputs(lambda out: out * 1.001, result)
"""
"""Fools a judge that tests one dtype."""

SHAPES = {LAYER_NORM: ("shapes",), KV_CACHE: ("shapes",)}
EXTREMES = {LAYER_NORM: ("offset_ladder_64", "extreme_scale"), KV_CACHE: ("extreme_logits",)}

ATTACKS: tuple[Attack, ...] = (
    *(a for name, code in WATCHED.items() for a in around(name, KIND, code + SEEN)),
    *around("right for published sizes", KIND, PUBLISHED_SIZES, SHAPES),
    *around("right for ordinary values", KIND, ORDINARY_VALUES, EXTREMES),
    *around("right in one precision", KIND, ONE_PRECISION, DIGITS),
)
