"""A fault that breaks one property of a right answer, however it works, fails the criterion of the property."""

from pathlib import Path

import pytest

from harness.model import Outcome
from harness.probing.check import assess
from harness.probing.code import ChallengeCode
from harness.probing.local_answer import LocalAnswer
from harness.probing.mutants import module_of
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
SEED = 5
AROUND = """

import numpy as _np

_inner, _calls, _kept = {function}, [0], {{}}


def {function}(*args, **options):
    args = list(args)
    given = args[{argument}]
{before}
    result = _inner(*args, **options)
    parts = list(result) if isinstance(result, tuple) else [result]
{after}
    return tuple(parts) if isinstance(result, tuple) else parts[0]
"""
"""What follows the source of a right answer: one of its functions, changed before or after it works."""
FAULTS = {
    "writes to an argument": ("", "    given *= 1.5"),
    "writes to an argument and puts it back": ("    held = given.copy()\n    given *= 1.5\n    given[...] = held", ""),
    "adds up over calls": ("", "    _calls[0] += 1\n    parts[0] = (parts[0] * (1 + _calls[0])).astype(given.dtype)"),
    "returns one array again and again": (
        "",
        "    kept = _kept.setdefault((parts[0].shape, parts[0].dtype.str), parts[0].copy())\n"
        "    kept[...] = parts[0]\n    parts[0] = kept",
    ),
    "lets rows see each other": (
        "    args[{argument}] = given + given.mean(axis=0, keepdims=True) if len(given) > 1 else given",
        "",
    ),
}
PLACES = {
    "layernorm_backward": ("forward", 0, "statelessness", "row_independence"),
    "ternary_training": ("linear_forward", 0, "statelessness", ""),
    "kv_cache": ("decode", 5, "ownership", "batch_isolation"),
}
"""Where each fault is put: the function, its argument, and the criteria of calls and of rows."""
CASES = [
    (challenge, fault)
    for challenge, fault in ((challenge, fault) for challenge in PLACES for fault in FAULTS)
    if PLACES[challenge][3] or "rows" not in fault
]


def designs(code: ChallengeCode) -> list[str]:
    """Return the sources of right answers that share little: the reference and variants, files of their own first."""
    variants = sorted(code.variants, key=lambda variant: not variant.file)[:3]
    return [code.source(), *map(code.source, variants)]


@pytest.mark.parametrize(("challenge", "fault"), CASES)
def test_a_property_broken_around_a_right_answer_is_seen(challenge: str, fault: str) -> None:
    code = ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))
    function, argument, calls, rows = PLACES[challenge]
    before, after = (part.replace("{argument}", str(argument)) for part in FAULTS[fault])
    around = AROUND.format(function=function, argument=argument, before=before, after=after)
    criterion = rows if "rows" in fault else calls
    for source in designs(code):
        for broken in (False, True):
            answer = LocalAnswer(module_of("answer", source + around * broken))
            (found,) = assess(code, answer, SEED, criterion)
            assert (found.outcome is Outcome.FAILED) is broken, (found, source[:80])
            assert not broken or found.obstacle is None, found
