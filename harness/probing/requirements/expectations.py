"""Expectations of a probe: each function returns a figure or None, and raises `ProbeFailure` otherwise.

`name` is an output's name in the contract; `title` and `detail` are those of the failure.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.model import Figure
from harness.numerics import PASS, comparable, distinct, instead, judge, plain, rms, unequal, worst
from harness.probing.failures import (
    ArgumentsRejected,
    CallFailed,
    FaultElsewhere,
    FromUnwritten,
    NotOffered,
    NotRun,
    ProbeFailure,
    Spared,
    TimeUsedUp,
    TrivialOutput,
)

Values = NDArray[Any]


def close(name: str, actual: Values, oracle: Values, spread: float = 0.0, *, limit: float = PASS) -> float:
    """Require an output to equal the oracle, integers and booleans exactly, and return its error ratio.

    Args:
        oracle: long-double values; integers or booleans of any width if the submission returns such.
        spread: movement of the oracle under half-ulp changes of its inputs (`harness.numerics.conditioning`).
    """
    title = f"{name} is wrong"
    _require_shape(name, actual, oracle, title)
    if not comparable(actual.dtype, oracle.dtype):
        raise ProbeFailure(title, f"{name} has dtype {actual.dtype}, and what is right {oracle.dtype}", where=name)
    judged = judge(actual, oracle, spread)
    if judged.ratio <= limit:
        return judged.ratio
    where = _format_place(name, judged.index)
    seen, measured = instead(judged.got, judged.expected), dict[str, Figure]()
    if actual.dtype.kind == "f":
        ratio, most = distinct(judged.ratio, limit, 3)
        seen, measured = f"{seen}: error ratio {ratio}, at most {most} passes", {"error_ratio": judged.ratio}
    raise ProbeFailure(
        title, f"{where} is {seen}", where=where, expected=judged.expected, got=judged.got, measured=measured
    )


def same(name: str, actual: Values, wanted: Values, title: str, detail: str = "", *, within: float = 0.0) -> float:
    """Require two results to be equal, with one shape and dtype, and return their largest difference.

    The difference is relative to the root mean square of the finite entries of `wanted`, if that is not 0. NaN and
    infinities must match; zeros of both signs are equal.

    Args:
        within: largest passing difference of floats.
    """
    doing = f"{detail}: " if detail else ""
    _require_shape(name, actual, wanted, title, doing)
    if actual.dtype != wanted.dtype:
        raise ProbeFailure(title, f"{doing}{name} has dtype {actual.dtype} instead of {wanted.dtype}", where=name)
    index = worst(actual, wanted)
    if index is None:
        return 0.0
    got, expected, measured = actual[index], wanted[index], dict[str, Figure]()
    if actual.dtype.kind == "f":
        gap = _measure_gap(got, expected, wanted)
        if within > 0.0 and gap <= within:
            return float(gap)
        measured = {"difference": float(gap)}
    where = _format_place(name, index)
    detail = f"{doing}{where} is {instead(got, expected)}"
    raise ProbeFailure(title, detail, where=where, expected=plain(expected), got=plain(got), measured=measured)


def _require_shape(name: str, actual: Values, wanted: Values, title: str, doing: str = "") -> None:
    if actual.shape != wanted.shape:
        raise ProbeFailure(title, f"{doing}{name} has shape {actual.shape} instead of {wanted.shape}", where=name)


def _measure_gap(got: Any, expected: Any, wanted: Values) -> np.longdouble:
    if not (np.isfinite(got) and np.isfinite(expected)):
        return np.longdouble(np.inf)
    size = rms(wanted[np.isfinite(wanted)])
    with np.errstate(over="ignore"):
        return abs(np.longdouble(got) - np.longdouble(expected)) / (size if size > 0 else np.longdouble(1))


def that(condition: bool, title: str, detail: str = "", **measured: float) -> None:
    """Require `condition`, based on the figures `measured`.

    Raises:
        NotRun: a figure is NaN, so the condition decides nothing.
    """
    if unreal := [name for name, value in measured.items() if math.isnan(value)]:
        raise NotRun(f"the figure `{unreal[0]}` is NaN, which assesses nothing")
    if not condition:
        raise ProbeFailure(title, detail, measured=dict(measured))


def alive(name: str, actual: Values, *inputs: Values, **named: Values) -> None:
    """Require an output to be neither constant nor a copy of an input; `named` inputs have a name in findings."""
    if actual.size > 1 and not unequal(actual, actual.flat[:1]).any():
        entry = plain(actual.flat[0])
        shown = f"{entry:.9g}" if actual.dtype.kind == "f" else entry
        raise TrivialOutput(f"{name} is constant", f"every entry is {shown}")
    for called, given in (*(("", given) for given in inputs), *named.items()):
        if 1 < given.size <= actual.size and not unequal(np.resize(given, actual.shape), actual).any():
            same = "equals" if given.shape == actual.shape else "repeats"
            raise TrivialOutput(f"{name} {same} {called}" if called else f"{name} has the values of an input")


@contextmanager
def works(title: str) -> Iterator[None]:
    """Charge a failed call in the block to the tested property, without which it works."""
    try:
        yield
    except CallFailed as why:
        raise ProbeFailure(title, f"{why.title}: {why.detail}", locations=why.locations) from None


@contextmanager
def renamed(title: str) -> Iterator[None]:
    """Give a failed comparison in the block another title."""
    try:
        yield
    except ProbeFailure as why:
        if why.obstacle is None:
            why.title = title
        raise


@contextmanager
def only_beside(plain: Callable[[], object]) -> Iterator[None]:
    """Charge a failure in the block to the tested feature if `plain`, the same call without it, passes or is spared.

    Otherwise raise `FaultElsewhere`.
    """
    try:
        yield
    except FromUnwritten:
        raise
    except ProbeFailure as failure:
        try:
            with suppress(Spared):
                plain()
        except ProbeFailure as why:
            raise FaultElsewhere(
                why.title,
                why.detail,
                where=why.where,
                expected=why.expected,
                got=why.got,
                locations=why.locations,
                fault_of=why.fault_of,
            ) from None
        # the feature is at fault, whichever property shows it
        failure.fault_of = ""
        raise


@contextmanager
def apart_from(*checks: Callable[[], object]) -> Iterator[None]:
    """Charge a failed comparison in the block to the first other fault for which a check raises `ProbeFailure`.

    Failed or spared calls and `FaultElsewhere` explain nothing.
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
    """Require `attempt` to raise ValueError, for arguments of which `what` names the invalid part.

    NotImplementedError is no refusal.
    """
    try:
        attempt()
    except TimeUsedUp:
        raise
    except CallFailed as why:
        if isinstance(why, ArgumentsRejected) and not isinstance(why, NotOffered):
            return
        # keep the kind of failure, because a timeout on a busy machine is tried again
        why.title, why.detail = f"does not refuse {what} with ValueError", f"{why.title}: {why.detail}"
        raise
    raise ProbeFailure(f"accepts {what}", f"{what} must raise ValueError")


def _format_place(name: str, index: tuple[int, ...] | None) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name
