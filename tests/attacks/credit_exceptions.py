"""Exceptions in place of answers, for a judge that takes some kinds of ending for success."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import KV_CACHE, LAYER_NORM, VALUES, around, one_of

KIND = "exceptions as verdicts"

RAISED = {
    # fools a judge that reads an exit status
    "SystemExit of success": "raise SystemExit(0)",
    # fools a judge that catches Exception only
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    # fools a judge that runs in a test runner
    "a skipped test": "import unittest\n    raise unittest.SkipTest('not here')",
    # fools a judge whose own skips are of this name
    "an exception called Skipped": "raise type('Skipped', (BaseException,), {'__module__': 'builtins'})('passed')",
    # fools a judge that marks what is not offered as not applicable
    "NotImplementedError": "raise NotImplementedError('not on this machine')",
    # fools a judge that ends a loop over inputs by it
    "StopIteration": "raise StopIteration(function)",
    # fools a judge that blames itself for it
    "MemoryError": "raise MemoryError",
    # fools a judge that takes its own exceptions for its own
    "an exception called JudgeError": "raise type('JudgeError', (Exception,), {'__module__': 'harness'})('ours')",
    # fools a judge that prints an exception, or compares it
    "an exception that cannot be printed": """
    class Mute(Exception):
        def __str__(self):
            raise SystemExit(0)
        __repr__ = __str__
        def __eq__(self, other):
            return True
    raise Mute""",
}

REFUSING = """
def outcome(function, args):
    raise ValueError("shapes do not fit")
"""
"""Fools a judge that gives credit for refusing wrong arguments."""

REFUSALS = {LAYER_NORM: ("gradients", "argument_errors"), KV_CACHE: ("first_token", "argument_errors", "capacity")}

ATTACKS: tuple[Attack, ...] = (
    *(
        attack
        for index, (name, code) in enumerate(RAISED.items())
        for attack in around(name, KIND, f"def outcome(function, args):\n    {code.lstrip()}\n", one_of(index, VALUES))
    ),
    *around("ValueError whatever is asked", KIND, REFUSING, REFUSALS),
)
