"""What a probe expects of an answer. Each function returns a figure or nothing, and raises `ProbeFailure` otherwise."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import PASS, distinct, instead, judge, worst
from harness.probing.failures import (
    ArgumentsRejected,
    CallFailed,
    FaultElsewhere,
    NotRun,
    ProbeFailure,
    Spared,
    TimeUsedUp,
    TrivialOutput,
)

Floats = NDArray[Any]


def close(name: str, actual: Floats, oracle: Floats, spread: float, *, limit: float = PASS) -> float:
    """The error ratio of `actual`, which must not be over `limit`.

    Args:
        name: the output, as the contract calls it.
        actual: what the answer gave.
        oracle: long-double values.
        spread: movement of the oracle under half-ulp changes of its inputs (`harness.numerics.conditioning`).
        limit: largest ratio that passes.
    """
    judged = judge(actual, oracle, spread)
    if judged.ratio <= limit:
        return judged.ratio
    where = _place(name, judged.index)
    ratio, most = distinct(judged.ratio, limit, 3)
    detail = f"{where} is {instead(judged.got, judged.expected)}: error ratio {ratio}, at most {most} passes"
    raise ProbeFailure(
        f"{name} is wrong", detail, where=where, expected=judged.expected, got=judged.got,
        measured={"error_ratio": judged.ratio},
    )  # fmt: skip


def same(name: str, actual: Floats, wanted: Floats, title: str, detail: str = "", *, within: float = 0.0) -> float:
    """The largest difference of two results of the answer, relative to the root mean square of the second.

    Args:
        name: the output, as the contract calls it.
        actual: one result.
        wanted: the other.
        title: the fault in a phrase, if they differ.
        detail: what was done to get the two.
        within: largest relative difference that passes; 0 asks for equal bits, NaN equal to NaN.
    """
    index, expected, got = worst(actual, wanted.astype(np.longdouble))
    if index is None:
        return 0.0
    finite = wanted[np.isfinite(wanted)].astype(np.float64)
    size = float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0
    gap = 0.0 if got == expected or (np.isnan(got) and np.isnan(expected)) else abs(got - expected) / (size or 1.0)
    if gap <= within:
        return gap
    where = _place(name, index)
    seen = f"{where} is {instead(got, expected)}"
    raise ProbeFailure(
        title,
        f"{detail}: {seen}" if detail else seen,
        where=where,
        expected=expected,
        got=got,
        measured={"difference": gap},
    )


def that(condition: bool, title: str, detail: str = "", **measured: float) -> None:
    """`condition` must hold; it decides nothing when a figure behind it is NaN.

    Args:
        condition: what must hold.
        title: the fault in a phrase, if it does not.
        detail: what was seen.
        **measured: figures that the condition rests on, by name.

    Raises:
        NotRun: a figure is NaN.
    """
    if unreal := [name for name, value in measured.items() if math.isnan(value)]:
        raise NotRun(f"the figure `{unreal[0]}` is NaN, which assesses nothing")
    if not condition:
        raise ProbeFailure(title, detail, measured=dict(measured))


def alive(name: str, actual: Floats, *inputs: Floats) -> None:
    """`actual` must not be a constant or a copy of an input: relations that a null answer meets start here."""
    finite = actual[np.isfinite(actual)]
    if actual.size > 1 and finite.size and float(finite.max()) == float(finite.min()):
        raise TrivialOutput(f"{name} is constant", f"every entry is {float(finite.flat[0]):.9g}")
    for given in inputs:
        if given.size > 1 and given.size <= actual.size and np.array_equal(np.resize(given, actual.shape), actual):
            raise TrivialOutput(f"{name} is a copy of an input")


@contextmanager
def works(title: str) -> Iterator[None]:
    """Charge a call that fails inside the block to the property in question: the same call worked without it.

    Args:
        title: the fault in a phrase, if it fails.
    """
    try:
        yield
    except CallFailed as why:
        raise ProbeFailure(title, f"{why.title}: {why.detail}", locations=why.locations) from None


@contextmanager
def renamed(title: str) -> Iterator[None]:
    """Give a comparison that fails inside the block a title; a call that fails keeps its own.

    Args:
        title: the fault in a phrase.
    """
    try:
        yield
    except CallFailed:
        raise
    except ProbeFailure as why:
        raise ProbeFailure(
            title, why.detail, where=why.where, expected=why.expected, got=why.got, measured=why.measured
        ) from None


@contextmanager
def only_beside(plain: Callable[[], object]) -> Iterator[None]:
    """Charge a failure inside the block only where `plain` passes, which does the same without what is asked for."""
    try:
        yield
    except ProbeFailure:
        try:
            plain()
        except ProbeFailure as why:
            raise FaultElsewhere(
                why.title, why.detail, where=why.where, expected=why.expected, got=why.got, locations=why.locations
            ) from None
        raise


@contextmanager
def apart_from(*checks: Callable[[], object]) -> Iterator[None]:
    """Charge what a comparison in the block finds to the first of other faults that is seen by itself.

    Args:
        checks: each raises `ProbeFailure` where one fault alone goes wrong; a call that fails or is spared there, or a
            fault that the check itself leaves to others, explains nothing.
    """
    try:
        yield
    except CallFailed:
        raise
    except ProbeFailure:
        for check in checks:
            try:
                check()
            except (CallFailed, FaultElsewhere, Spared):
                continue
            except ProbeFailure as cause:
                raise FaultElsewhere(cause.title, cause.detail) from None
        raise


def refused(attempt: Callable[[], Any], what: str) -> None:
    """`attempt` must raise ValueError.

    Args:
        attempt: the call.
        what: is wrong with its arguments, in a phrase.
    """
    try:
        attempt()
    except (ArgumentsRejected, TimeUsedUp) as ended:
        if isinstance(ended, TimeUsedUp):
            raise
        return
    except CallFailed as why:  # how the call ended stays, a busy machine may be the cause
        why.title, why.detail = f"does not refuse {what} with ValueError", f"{why.title}: {why.detail}"
        raise
    raise ProbeFailure(f"accepts {what}", f"{what} must raise ValueError")


def _place(name: str, index: tuple[int, ...] | None) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name
