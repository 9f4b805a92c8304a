"""Answers that attack whoever reads what they say: errors, names and texts made to deceive a terminal or a report."""

from tests.attacks.attack import Attack
from tests.attacks.planting import forged
from tests.attacks.wrapping import CHALLENGES

KIND = "words that deceive"

CONTROL = """
def deed():
    raise ValueError("\\x1b[2J\\x1b[1;1H\\x1b]0;passed\\x07\\x9b31m\\r\\x08 all criteria passed \\u202e 0.0 \\u2066")
"""
MARKUP = """
def deed():
    raise ValueError("<script>alert(1)</script> | passed | 100 % |\\n\\n# Passed\\n[here](javascript:x) ``` &#60;")
"""
HALF_PAIRS = """
def deed():
    raise ValueError("\\ud800 passed \\udfff \\0 \\ufffe")
"""
ENDLESS_TEXT = """
def deed():
    raise ValueError("passed " * 10_000_000)
"""
SILENT_ERROR = """
class Silent(ValueError):
    def __str__(self):
        raise SystemExit(0)
    __repr__ = __str__

def deed():
    raise Silent
"""
SLOW_ERROR = """
class Slow(ValueError):
    def __str__(self):
        while True:
            pass

def deed():
    raise Slow
"""
FALSE_NAME = """
def deed():
    raise type("passed\\x1b[0m" * 100_000, (ValueError,), {"__module__": "builtins"})("")
"""
OWN_ASSERTION = """
def deed():
    raise type("Refuted", (AssertionError,), {"title": "passed", "fraction": 1.0, "__module__": "harness.probing"})("")
"""
LONG_CHAIN = """
def deed():
    error = ValueError("first")
    for number in range(100_000):
        error, error.__cause__ = ValueError(number), error
    raise error
"""

RAISED = (
    ("control characters in an error", CONTROL),
    ("markup in an error", MARKUP),
    ("half characters in an error", HALF_PAIRS),
    ("error text without end", ENDLESS_TEXT),
    ("error that ends the process when printed", SILENT_ERROR),
    ("error that is printed forever", SLOW_ERROR),
    ("error with a false name", FALSE_NAME),
    ("error of the grader's own kind", OWN_ASSERTION),
    ("chain of errors without end", LONG_CHAIN),
)

ATTACKS: tuple[Attack, ...] = tuple(
    attack
    for number, (name, deed) in enumerate(RAISED)
    for attack in forged(name, KIND, deed, caught=False, challenges=(CHALLENGES[number % 2],))
)
