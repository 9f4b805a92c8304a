"""How the probes of `layernorm_backward` draw inputs, call an answer, and judge what it returns.

Numbers are judged in the conditioning form: the error of an output is divided by how far the long-double oracle moves
when every input moves by half an ulp. dx gets one addition. Its three terms cancel (completely at D = 1, nearly at
D = 2), which the conditioning of the exact function does not see, so its spread is at least half an ulp of the terms.

The docstrings of the probes name the relations L01 to L24. Every output is compared at every position, and every
relation starts from an output that is neither constant nor a copy of an input.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.numerics import PASS, conditioning, distinct
from harness.probing import Answer, Array, CallFailed, Draw, InputUse, Keep, ProbeFailure, expect, laws
from harness.probing.inputs import ArrayInputs

from . import oracle

Floats = NDArray[Any]
EPS = 1e-5
PLAIN = 2, 3, 8
"""Shape of a case with nothing special."""


class Results(NamedTuple):
    """The four outputs of the contract, or one figure about each: y (B,T,D), dx (B,T,D), dgamma (D,), dbeta (D,)."""

    y: Any
    dx: Any
    dgamma: Any
    dbeta: Any


FIELDS = Results._fields
GRADIENTS = FIELDS[1:]


@dataclass(frozen=True)
class Inputs(ArrayInputs):
    """One forward and the gradient that comes back to it: x, dy (B,T,D); gamma, beta (D,)."""

    x: Floats
    gamma: Floats
    beta: Floats
    dy: Floats
    eps: float = EPS


def draw_inputs(draw: Draw, B: int, T: int, D: int, dtype: str, *, std: float = 1.0, eps: float = EPS) -> Inputs:
    """Normal inputs; x has mean 0 and deviation `std`."""
    x = draw.normal(B, T, D, dtype=dtype, std=std)
    return Inputs(x, draw.normal(D, dtype=dtype), draw.normal(D, dtype=dtype), draw.normal(B, T, D, dtype=dtype), eps)


def draw_on_grid(draw: Draw, B: int, T: int, D: int, dtype: str, bits: int) -> Inputs:
    """Inputs that are multiples of 2^-bits in [-2, 2]: shifts, sums and products of few of them are exact."""
    x, dy = (draw.grid(B, T, D, dtype=dtype, bits=bits) for _ in range(2))
    gamma, beta = (draw.grid(D, dtype=dtype, bits=bits) for _ in range(2))
    return Inputs(x, gamma, beta, dy)


def cycle(draw: Draw, n: int) -> NDArray[np.int64]:
    """A random order of 0..n-1 that leaves nothing in its place (n > 1)."""
    members, order = draw.permutation(n), np.empty(n, np.int64)
    order[members] = np.roll(members, 1)
    return order


def forward(answer: Answer, given: Inputs) -> tuple[Floats, Any]:
    """y, and the cache as a handle."""
    plan = (Array(given.x.shape, given.dtype), Keep())
    y, cache = answer.call("forward", given.x, given.gamma, given.beta, given.eps, returns=plan)
    return y, cache


def gradient_plan(dy: Floats) -> tuple[Array, Array, Array]:
    """What `backward` returns for this dy."""
    column = Array(dy.shape[-1:], dy.dtype.name)
    return Array(dy.shape, dy.dtype.name), column, column


def backward(answer: Answer, dy: Floats, cache: Any, y: Floats | None = None) -> Results:
    """The gradients for one dy; `y` is passed through."""
    return Results(y, *answer.call("backward", dy, cache, returns=gradient_plan(dy)))


def results(answer: Answer, given: Inputs) -> Results:
    """All outputs of one forward and its backward."""
    y, cache = forward(answer, given)
    return backward(answer, given.dy, cache, y)


def run_of(answer: Answer, given: Inputs) -> laws.ArrayCall:
    """Return a forward and its backward, which leave their arguments alone, as the laws call them."""

    def run(*, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        plan = (Array(given.x.shape, given.dtype), Keep())
        arrays = {"x": given.x, "gamma": given.gamma, "beta": given.beta}
        y, cache = answer.call("forward", *arrays.values(), given.eps, returns=plan, echo=True, inputs=inputs)
        laws.inputs_stay(arrays, answer.echo)
        # a cache may hold the arguments of its forward: dy must not lie in their memory
        inputs = InputUse.FRESH if inputs is InputUse.REUSED else inputs
        plans = gradient_plan(given.dy)
        gradients = answer.call("backward", given.dy, cache, returns=plans, echo=True, inputs=inputs)
        laws.inputs_stay({"dy": given.dy}, answer.echo)
        return alive(Results(y, *gradients), given)._asdict()

    return run


def alive(got: Results, given: Inputs) -> Results:
    """`got`, once y and dx are seen to be neither constant nor copies of an input: such outputs keep many laws."""
    if got.y is not None:
        expect.alive("y", got.y, x=given.x, gamma=given.gamma, beta=given.beta)
    dy = "dy where gamma is 1" if (given.gamma == 1).all() else "dy"
    expect.alive("dx", got.dx, **{dy: given.dy, "x": given.x})
    return got


def exact(given: Inputs) -> Results:
    """The oracle's outputs, long double."""
    return _exact(given.x, given.gamma, given.beta, given.dy, given.eps)


def spreads(given: Inputs, draw: Draw) -> Results:
    """What half an ulp of the inputs, and for dx half an ulp of its terms, moves each output by."""
    inputs = (given.x, given.gamma, given.beta, given.dy, given.eps)
    y, dx, dgamma, dbeta = conditioning(partial(_exact, wide=given.wide), inputs, draw.rng)
    return Results(y, max(dx, float(terms(given).max()) * given.unit), dgamma, dbeta)


def spread_of_y(given: Inputs, draw: Draw) -> float:
    """The first of `spreads` without the work of the others."""
    inputs = (given.x, given.gamma, given.beta, given.eps)
    return conditioning(partial(oracle.forward, wide=given.wide), inputs, draw.rng)[0]


def terms(given: Inputs) -> NDArray[np.longdouble]:
    """Size (B,T,D) of what is added up in dx: rstd (|dxhat| + mean|dxhat| + |xhat| mean|dxhat xhat|)."""
    xhat, rstd = oracle.statistics(given.x, given.eps)
    dxhat, xhat = abs(given.dy.astype(np.longdouble) * given.gamma), abs(xhat)
    along = (dxhat * xhat).mean(axis=-1, keepdims=True)
    sizes: NDArray[np.longdouble] = rstd * (dxhat + dxhat.mean(axis=-1, keepdims=True) + xhat * along)
    return sizes


def match_oracle(got: Results, given: Inputs, draw: Draw) -> dict[str, float]:
    """Error ratio of every output against the oracle; none may be over the limit."""
    right, spread = exact(given), spreads(given, draw)
    return {name: expect.close(name, *each) for name, *each in zip(FIELDS, got, right, spread, strict=True)}


@contextmanager
def where_special(answer: Answer, draw: Draw, dtype: str) -> Iterator[None]:
    """Charge what is wrong inside the block where a plain case is right: digits as `but_for_digits`."""
    with expect.only_beside(lambda: _right_where_plain(answer, draw, dtype)), but_for_digits(answer, dtype):
        yield


@contextmanager
def but_for_digits(answer: Answer, dtype: str, *, anew: bool = False) -> Iterator[None]:
    """Charge lost digits inside the block only where a plain case keeps them: else they are charged as digits there.

    Args:
        answer: that is judged.
        dtype: of the plain case.
        anew: whether a new process makes the plain case, which no earlier call can have changed.
    """
    try:
        yield
    except CallFailed:
        raise
    except ProbeFailure as why:
        size = 1.0 if why.expected is None else 1.0 + abs(why.expected)
        off = float(why.measured.get("difference", np.inf)) if why.expected is None else abs(why.got - why.expected)
        if not off <= laws.DIGITS[dtype] * size:
            raise
        if anew:
            answer.fresh()
        if not loses_digits(answer, dtype):
            raise


@contextmanager
def but_for_range(answer: Answer, dtype: str) -> Iterator[None]:
    """Leave to `extreme_scale` what fails inside the block of an answer whose plain case loses digits.

    A narrower type that loses digits has less range as well.
    """
    try:
        yield
    except ProbeFailure as why:
        if loses_digits(answer, dtype):
            why.fault_of = "extreme_scale"
        raise


def loses_digits(answer: Answer, dtype: str) -> bool:
    """Return whether the results of a plain case are right but for lost digits."""
    draw = Draw(0, "plain")
    given = draw_inputs(draw, *PLAIN, dtype)
    got = results(answer, given)
    if not all(map(laws.only_digits_apart, got, exact(given))):
        return False
    try:
        match_oracle(got, given, draw)
    except ProbeFailure:
        return True
    return False


def is_right(name: str, got: Floats, right: Floats, spread: float) -> None:
    """Require the oracle's values of an output but for digits, which are a criterion of their own."""
    if not laws.only_digits_apart(got, right):
        expect.close(name, got, right, spread)


def agree(
    name: str, got: Floats, wanted: Floats, spread: float, title: str, doing: str, *, digits: bool = False
) -> float:
    """Half the error ratio of two results that are equal but for rounding: each may be off by the limit.

    Args:
        name: the output.
        got: one result of the answer.
        wanted: the other, or what follows from it.
        spread: of the output, as `spreads` gives it.
        title: the fault in a phrase, if they differ.
        doing: what was done to get the two.
        digits: whether the last digits count; else they are a criterion of their own.
    """
    if not digits and laws.only_digits_apart(got, wanted):
        return 0.0
    try:
        return expect.close(name, got, wanted.astype(np.longdouble), 2 * spread)
    except ProbeFailure as why:
        raise ProbeFailure(
            title, f"{doing}: {why.detail}", where=why.where, expected=why.expected, got=why.got, measured=why.measured
        ) from None


def follow_scale(
    answer: Answer, draw: Draw, given: Inputs, plain: Results, power: int, title: Callable[[str], str], *,
    upstream: int = 0, digits: bool = False,
) -> None:  # fmt: skip
    """Require of (2^p x, 4^p eps) the same y, dgamma and dbeta, and dx / 2^p, and of 2^q dy gradients times 2^q: exact.

    Args:
        answer: to call.
        draw: for the spreads.
        given: the inputs at scale 1.
        plain: what the answer gives for them.
        power: p.
        title: the fault in a phrase, if an output of this name does not follow.
        upstream: q.
        digits: as of `agree`.
    """
    changed = given.but(x=given.x * 2.0**power, eps=given.eps * 4.0**power, dy=given.dy * 2.0**upstream)
    two, doing = np.longdouble(2), [f"x times 2^{power}, eps times 2^{2 * power}"] if power else []
    sizes = Results(1, two ** (upstream - power), two**upstream, two**upstream)
    wanted, spread = (Results(*map(np.multiply, each, sizes)) for each in (plain, spreads(given, draw)))
    doing += [f"dy times 2^{upstream}"] if upstream else []
    all_agree(results(answer, changed), wanted, spread, title, ", ".join(doing), digits=digits)


def all_agree(
    got: Results, wanted: Results, spread: Results, title: Callable[[str], str], doing: str,
    names: Iterable[str] = FIELDS, *, digits: bool = False,
) -> float:  # fmt: skip
    """`agree` for each of the outputs named; the largest ratio."""
    return max(agree(n, *(getattr(r, n) for r in (got, wanted, spread)), title(n), doing, digits=digits) for n in names)


def within_rounding(
    got: Floats, wanted: Floats | int, scale: Floats, given: Inputs, title: str, doing: str = ""
) -> None:
    """Every entry of `got` is `wanted` but for rounding: the limit times the unit of each term summed in it.

    Args:
        got: what follows from the answer's outputs.
        wanted: what it must be.
        scale: sum of the sizes of the terms that make up each entry.
        given: whose dtype rounds.
        title: the fault in a phrase.
        doing: what was done to get there.
    """
    gap = abs(got - wanted) / scale
    worst, limit = float(gap.max()) if np.isfinite(gap).all() else np.inf, 2 * PASS * given.unit
    off, allowed = distinct(worst, limit, 2)
    seen = f"off by {off} of the size of the terms; rounding may cost {allowed}"
    expect.that(worst <= limit, title, f"{doing}: {seen}" if doing else seen, difference=worst)


def _right_where_plain(answer: Answer, draw: Draw, dtype: str) -> None:
    """Require all outputs of a plain case, but for digits."""
    given = draw_inputs(draw, *PLAIN, dtype)
    title, doing = "{} is wrong".format, f"shape {PLAIN}"
    all_agree(results(answer, given), exact(given), spreads(given, draw), title, doing)


def _exact(x: Floats, gamma: Floats, beta: Floats, dy: Floats, eps: float, wide: type = np.longdouble) -> Results:
    return Results(oracle.forward(x, gamma, beta, eps, wide), *oracle.backward(x, gamma, dy, eps, wide))
