"""Arrays that begin at any number: an answer that takes them for aligned is charged for that once, by `alignment`."""

from typing import Any
from weakref import WeakKeyDictionary

from harness.probing import Answer, Draw, NotMeasurable, ProbeFailure, expect, located
from harness.probing.sizes import Case

from .binding import Floats, Launched, launch, normal, served

ALIGNMENT = "alignment"
ASTRAY = "arrays off a 16-byte boundary are accessed as if they were on one"
ROWS, VOCAB, K = 3, 1000, 5
"""Rows that all begin at a 16-byte boundary where the logits do."""

_MISREADS: WeakKeyDictionary[Answer, bool] = WeakKeyDictionary()
"""By answer: whether it fails off a boundary."""


def launch_watched(answer: Answer, draw: Draw, logits: Floats, k: int, shift: int = 0, **more: Any) -> Launched:
    """Launch with logits, or outputs, so many bytes off a 16-byte boundary, and require no access to be misaligned.

    Raises:
        ProbeFailure: one is, or as `launch`.
        NotMeasurable: as there.
    """
    try:
        run = launch(answer, draw, logits, k, shift=shift, mode="check", **more)
    except NotMeasurable:  # where accesses are not watched, the device itself refuses to read astray
        return launch(answer, draw, logits, k, shift=shift, **more)
    astray = [defect for defect in located(answer, run.report).found() if defect.kind == "misaligned"]
    shifts = {"logits": shift, **more.get("output_shifts", {})}
    where = ", ".join(f"{name} {by} bytes past a boundary: " for name, by in shifts.items() if by)
    expect.that(not astray, ASTRAY, f"{where}{astray[0].text}" if astray else "")
    return run


def aligned(answer: Answer, case: Case) -> Case:
    """Return a case with logits on a 16-byte boundary where the answer fails off one: a plain run may not show that."""
    if case["shift"] and answer not in _MISREADS:
        _MISREADS[answer] = _fails(answer, shift=4) and not _fails(answer, shift=0)
    return {**case, "shift": 0} if case["shift"] and _MISREADS[answer] else case


def _fails(answer: Answer, shift: int) -> bool:
    draw = Draw(0, ALIGNMENT)  # of its own: what a case draws must not depend on whether this was asked before
    try:
        launch_watched(answer, draw, normal(draw, ROWS, VOCAB), served(answer, K), shift)
    except ProbeFailure:
        return True
    return False
