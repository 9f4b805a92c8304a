"""Composes answers around the honest one: what passes between it and its caller can be changed, kept or given again."""

from collections.abc import Mapping
from pathlib import Path

from tests.attacks.attack import Attack, Expect

LAYER_NORM, KV_CACHE = "layernorm_backward", "kv_cache"
CHALLENGES = (LAYER_NORM, KV_CACHE)
_REFERENCES = Path(__file__).parents[2] / "references"
HONEST = {id: (_REFERENCES / id / "reference.py").read_text(encoding="utf-8") for id in CHALLENGES}
"""The reference of each challenge, which goes into the submission as `honest.py`."""
VALUES = {LAYER_NORM: ("gradients", "forward"), KV_CACHE: ("first_token", "prefill_stored", "decode_history")}
"""The criteria that judge the values themselves."""
DIGITS = dict.fromkeys(CHALLENGES, ("accuracy",))
"""Those that judge the digits of values."""

_COMPUTING = {LAYER_NORM: ("forward", "backward"), KV_CACHE: ("prefill", "decode")}

_AROUND = '''
import functools

import numpy as np

import honest
from honest import *


def is_output(value):
    return isinstance(value, np.ndarray)


def on_outputs(change, result):
    """The result with every output changed; a cache goes by as it is."""
    if is_output(result):
        return change(result)
    return tuple(change(part) if is_output(part) else part for part in result)


def inputs_of(args):
    return [value for value in args if is_output(value) and value.dtype.kind == "f"]


def nothing(function, args, blank=np.zeros_like):
    """A result of the right form without any work."""
    like = inputs_of(args)[0]
    if function.__name__ == "forward":
        return blank(like), {{"x": like}}
    return blank(like) if function.__name__ != "backward" else (blank(like), blank(like[0, 0]), blank(like[0, 0]))

{code}

def _around(function):
    @functools.wraps(function)
    def call(*args):
        return outcome(function, args)
    return call


for _name in {functions}:
    globals()[_name] = _around(getattr(honest, _name))
'''


def one_of(index: int, criteria: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """The criteria of one challenge, another for the next index: where both would show the same, one is enough."""
    challenge = CHALLENGES[index % len(CHALLENGES)]
    return {challenge: criteria[challenge]}


def around(
    name: str, kind: str, code: str, criteria: Mapping[str, tuple[str, ...]] = VALUES, expect: Expect = Expect.NO_CREDIT
) -> tuple[Attack, ...]:
    """An attack on each challenge that `criteria` names, around the functions that compute.

    Args:
        name: of the mechanism.
        kind: the class it is counted under.
        code: source with `outcome(function, args)`, called in place of each honest function that computes; it may use
            `on_outputs(change, result)`, `inputs_of(args)` and `nothing(function, args)`.
        criteria: those that decide, by challenge.
        expect: what must become of it.
    """
    return tuple(
        beside(name, kind, challenge, _AROUND.format(code=code, functions=_COMPUTING[challenge]), deciding, expect)
        for challenge, deciding in criteria.items()
    )


def beside(
    name: str, kind: str, challenge: str, source: str, criteria: tuple[str, ...], expect: Expect = Expect.NO_CREDIT
) -> Attack:
    """An attack on one challenge, in its own words; the honest answer can be imported from `honest`."""
    files = {"answer.py": source, "honest.py": HONEST[challenge]}
    return Attack(name, kind, challenge, files, criteria=criteria, expect=expect)


def changing(name: str, kind: str, code: str, criteria: Mapping[str, tuple[str, ...]] = VALUES) -> tuple[Attack, ...]:
    """An attack on each challenge that changes every output.

    Args:
        name: of the mechanism.
        kind: the class it is counted under.
        code: source with `change(output)`.
        criteria: those that decide, by challenge.
    """
    return around(name, kind, f"{code}\ndef outcome(function, args):\n    return on_outputs(change, function(*args))\n",
                  criteria)  # fmt: skip
