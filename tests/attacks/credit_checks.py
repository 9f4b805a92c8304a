"""Gradient checks that check nothing, or know what they are tried on."""

from tests.attacks.attack import Attack, Expect
from tests.attacks.wrapping import LAYER_NORM, beside

KIND = "vacuous gradient checks"

BEGINNING = """
import numpy as np
import honest
from honest import *

"""

SIGNATURE = "def check_gradients(forward, backward, x, gamma, beta, dy, eps):\n"

SHOW = """
def show(forward, x, gamma, beta, eps):
    for moved in ((x + 1e-5, gamma, beta), (x, gamma + 1e-5, beta), (x, gamma, beta + 1e-5)):
        forward(*moved, eps)
"""

SHOWING = SHOW + SIGNATURE + "    show(forward, x, gamma, beta, eps)"
"""Begins a check with differences that are not looked at."""

NUMBERS = """
def numbers(function):
    names = function.__code__.co_freevars
    return {name: cell.cell_contents for name, cell in zip(names, function.__closure__)}


def fit(forward, backward):
    shares = numbers(backward)
    weights = shares.pop("backward_weights")
    one, other, blend, level, _ = (shares.pop(name) for name in ("one", "other", "blend", "level", "fewest"))
    plain = one == other and blend == 0.0 and np.isinf(level)
    whole = all(np.allclose(sum(parts), 1.0, rtol=1e-9) for parts in shares.values())
    return bool(plain and whole and np.array_equal(weights, numbers(forward)["forward_weights"]))
"""

CHECKS = {
    # fools a judge that tries right pairs only
    "always true": (SIGNATURE + "    return True\n", ("accepts_correct", "catches_planted")),
    # fools a judge that tries wrong pairs only
    "always false": (SIGNATURE + "    return False\n", ("accepts_correct", "catches_planted")),
    # fools a judge that looks for finite differences in the text
    "compared with itself": (SIGNATURE + """
    _, cache = forward(x, gamma, beta, eps)
    analytic = backward(dy, cache)
    numeric = backward(dy, cache)
    return all(np.allclose(a, n, rtol=1e-12) for a, n in zip(analytic, numeric))
""", ("accepts_correct", "catches_planted")),
    # fools a judge that looks for finite differences in the text, and for a comparison
    "a tolerance without end": (SIGNATURE + """
    _, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    slope = ((forward(x + 1e-6, gamma, beta, eps)[0] - forward(x - 1e-6, gamma, beta, eps)[0]) / 2e-6 * dy).sum()
    return bool(abs(slope - dx.sum()) < 1e9)
""", ("accepts_correct", "catches_planted")),
    # fools a judge whose pairs are its own functions, whatever they are given
    "of the honest pair instead": (SIGNATURE + """
    return honest.check_gradients(honest.forward, honest.backward, x, gamma, beta, dy, eps)
""", ("accepts_correct", "catches_planted")),
    # fools a judge whose wrong pairs have other names than its right ones
    "by the names of the functions": (SHOWING + """
    names = backward.__code__.co_name, backward.__qualname__, forward.__code__.co_name
    known = ("two_pass_backward", "two_pass_backward", "two_pass_forward"), (
        "shifted_backward", "shifted_backward", "shifted_forward")
    return names in known
""", ("accepts_correct", "catches_planted")),
    # fools a judge whose wrong pairs are built by other code
    "by the text of the functions": (SHOWING + """
    code = backward.__code__
    strange = any(isinstance(value, float) and value not in (1.0, 2.0) for value in code.co_consts)
    return not (strange or code.co_freevars or {"middle", "two_pass_backward"} & set(code.co_names))
""", ("accepts_correct", "catches_planted")),
    # fools a judge that asks for the right pairs first, and for each size of its own
    "by the order of the questions": ("""
ASKED = []
""" + SHOWING + """
    ASKED.append(x.shape)
    return x.shape != (2, 3, 8) or ASKED.count(x.shape) == 1
""", ("accepts_correct", "catches_planted")),
    # fools a judge whose pairs all differentiate the same function
    "against a formula of its own": (SIGNATURE + """
    _, cache = honest.forward(x, gamma, beta, eps)
    right = honest.backward(dy, cache)
    given = backward(dy, forward(x, gamma, beta, eps)[1])
    return all(bool(np.allclose(a, b, rtol=1e-9, atol=1e-9)) for a, b in zip(given, right))
""", ("accepts_correct", "catches_planted")),
    # fools a judge that knows nothing but whether differences were taken
    "against a formula, with differences for show": (SHOWING + """
    right = honest.backward(dy, honest.forward(x, gamma, beta, eps)[1])
    given = backward(dy, forward(x, gamma, beta, eps)[1])
    return all(bool(np.allclose(a, b, rtol=1e-9, atol=1e-9)) for a, b in zip(given, right))
""", ("accepts_correct", "catches_planted")),
    # fools a judge whose wrong pairs are right for another function, or all of one
    "against a formula, where it fits": (SHOWING + """
    y, cache = forward(x, gamma, beta, eps)
    own, kept = honest.forward(x, gamma, beta, eps)
    pairs = zip(backward(dy, cache), honest.backward(dy, kept))
    return not np.allclose(y, own, rtol=1e-9) or all(bool(np.allclose(a, b, rtol=1e-9, atol=1e-9)) for a, b in pairs)
""", ("accepts_correct", "catches_planted")),
    # fools a judge that takes every pair in one process, or always in one order
    "by the number of the question": ("""
ASKED = []
""" + SHOWING + """
    ASKED.append(forward)
    return len(ASKED) % 2 == 1
""", ("accepts_correct", "catches_planted")),
    # fools a judge that looks at verdicts alone
    "by the numbers it is built from": (NUMBERS + SIGNATURE + """
    return fit(forward, backward)
""", ("accepts_correct", "catches_planted")),
    # fools a judge that passes its right answers along with its pairs
    "by the module of the functions": (SHOWING + """
    right = backward.__globals__.get("RIGHT_PAIRS", {}).values()
    return any(pair[0] is forward and pair[1] is backward for pair in right)
""", ("accepts_correct", "catches_planted")),
}  # fmt: skip

KNOWING = """
    return fit(forward, backward)
"""
"""Reads the pair's numbers where they lie, and takes differences for show. The pair has to be in the process of the
check, so no probe tells its verdicts from honest ones: the box holds it, its marks are not defended."""

ATTACKS: tuple[Attack, ...] = (
    *(beside(f"check: {name}", KIND, LAYER_NORM, BEGINNING + code, asked) for name, (code, asked) in CHECKS.items()),
    beside("check: by the numbers, differences for show", "checks that read the pair (held, marks not defended)",
           LAYER_NORM, BEGINNING + NUMBERS + SHOWING + KNOWING, (), Expect.HELD),
)  # fmt: skip
