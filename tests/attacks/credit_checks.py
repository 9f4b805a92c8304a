"""Gradient checks that check nothing, or know what they are tried on."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import LAYER_NORM, beside

KIND = "hollow gradient checks"

BEGINNING = """
import numpy as np
import honest
from honest import *

"""

SIGNATURE = "def check_gradients(forward, backward, x, gamma, beta, dy, eps):\n"

CHECKS = {
    # fools a judge that tries right pairs only
    "always true": (SIGNATURE + "    return True\n", ("catches_planted",)),
    # fools a judge that tries wrong pairs only
    "always false": (SIGNATURE + "    return False\n", ("accepts_correct", "catches_planted")),
    # fools a judge that looks for finite differences in the text
    "compared with itself": (SIGNATURE + """
    _, cache = forward(x, gamma, beta, eps)
    analytic = backward(dy, cache)
    numeric = backward(dy, cache)
    return all(np.allclose(a, n, rtol=1e-12) for a, n in zip(analytic, numeric))
""", ("catches_planted",)),
    # fools a judge that looks for finite differences in the text, and for a comparison
    "a tolerance without end": (SIGNATURE + """
    _, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)
    slope = ((forward(x + 1e-6, gamma, beta, eps)[0] - forward(x - 1e-6, gamma, beta, eps)[0]) / 2e-6 * dy).sum()
    return bool(abs(slope - dx.sum()) < 1e9)
""", ("catches_planted",)),
    # fools a judge whose pairs are its own functions, whatever they are given
    "of the honest pair instead": (SIGNATURE + """
    return honest.check_gradients(honest.forward, honest.backward, x, gamma, beta, dy, eps)
""", ("catches_planted",)),
    # fools a judge whose wrong pairs have other names than its right ones
    "by the names of the functions": (SIGNATURE + """
    names = backward.__code__.co_name, backward.__qualname__, forward.__code__.co_name
    known = ("two_pass_backward", "two_pass_backward", "two_pass_forward"), (
        "shifted_backward", "shifted_backward", "shifted_forward")
    return names in known
""", ("accepts_correct", "catches_planted")),
    # fools a judge whose wrong pairs are built by other code
    "by the text of the functions": (SIGNATURE + """
    code = backward.__code__
    strange = any(isinstance(value, float) and value not in (1.0, 2.0) for value in code.co_consts)
    return not (strange or code.co_freevars or {"middle", "two_pass_backward"} & set(code.co_names))
""", ("accepts_correct", "catches_planted")),
    # fools a judge that asks for the right pairs first, and for each size of its own
    "by the order of the questions": ("""
ASKED = []
""" + SIGNATURE + """
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
    # fools a judge that passes its right answers along with its pairs
    "by the module of the functions": (SIGNATURE + """
    right = backward.__globals__.get("RIGHT_PAIRS", {}).values()
    return any(pair[0] is forward and pair[1] is backward for pair in right)
""", ("accepts_correct", "catches_planted")),
}  # fmt: skip

ATTACKS: tuple[Attack, ...] = tuple(
    beside(f"check: {name}", KIND, LAYER_NORM, BEGINNING + code, criteria) for name, (code, criteria) in CHECKS.items()
)
