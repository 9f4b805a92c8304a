"""A check for equal results of equal calls in two processes."""

from typing import Any

import numpy as np

from harness.model import Signal, SignalKind
from harness.probing.answers import Answer
from harness.probing.diagnosis import Counts, trace_calls
from harness.probing.probe import Probe
from harness.sandbox import RemoteObject


def nondeterminism(answer: Answer, probe: Probe, seed: int) -> Signal | None:
    """Return a signal if results of a probe's first case differ between two new processes."""
    seen = []
    for _ in range(2):
        answer.fresh()
        try:
            once = trace_calls(probe, answer, seed, probe.cases[0])
        except Exception:  # numbers that the probe itself cannot digest
            return None
        if once.timed_out:  # another try may end in time
            return None
        seen.append([_make_comparable(note) for note in once.notes])
    for number, (one, other) in enumerate(zip(*seen, strict=False), 1):
        if one != other:
            where = f"call {number} of `{probe.name}`"
            detail = f"{where}, made twice on the same inputs, each time in a new process"
            return Signal(kind=SignalKind.NONDETERMINISTIC, detail=detail)
    return None


def _make_comparable(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return tuple(map(_make_comparable, value))
    if isinstance(value, dict):
        return tuple((key, _make_comparable(item)) for key, item in value.items())
    return None if isinstance(value, (RemoteObject, Counts)) else repr(value)
