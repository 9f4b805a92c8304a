"""Whether an answer says the same to the same questions: a probe's calls made twice, each time in a new process."""

from typing import Any

import numpy as np

from harness.model import Signal, SignalKind
from harness.probing.answers import Answer
from harness.probing.diagnosis import Counts, traced
from harness.probing.probe import Probe
from harness.sandbox import RemoteObject


def nondeterminism(answer: Answer, probe: Probe, seed: int) -> Signal | None:
    """What differed between two runs of a probe's first case on the same inputs; None when nothing did.

    Args:
        answer: to call.
        probe: whose calls to make; what it finds does not matter here.
        seed: of the inputs.
    """
    seen = []
    for _ in range(2):
        answer.fresh()
        try:
            once = traced(probe, answer, seed, probe.cases[0])
        except Exception:  # numbers that the probe itself cannot digest
            return None
        if once.timed_out:  # another try may end in time
            return None
        seen.append([_plain(note) for note in once.notes])
    for number, (one, other) in enumerate(zip(*seen, strict=False), 1):
        if one != other:
            where = f"call {number} of `{probe.name}`"
            detail = f"{where}, made twice on the same inputs, each time in a new process"
            return Signal(kind=SignalKind.NONDETERMINISTIC, detail=detail)
    return None


def _plain(value: Any) -> object:
    """A value that compares by content, every bit of an array included; counts and what the worker keeps are equal."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return tuple((key, _plain(item)) for key, item in value.items())
    return None if isinstance(value, (RemoteObject, Counts)) else repr(value)
