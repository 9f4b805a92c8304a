"""Probes of gradient checking: the answer's pair under our check, and our pairs, right and wrong, under its check."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.numerics import check_gradients
from harness.probing import (
    Answer,
    CallTimedOut,
    Draw,
    Nothing,
    Partial,
    ProbeFailure,
    RemoteObject,
    Scalar,
    expect,
    probe,
    timing_lock,
)

from .binding import Floats, Inputs, alive, draw_inputs, forward, results
from .questions import ALIKE, FAULTS, STRANGE, Question, questions, right_question
from .varied_questions import MISSED, right_questions, wrong_questions

CHECK_SECONDS = 1.5
"""Longest wait for one verdict; a check that needs more at these sizes is out of reach at real ones."""
LADDER = ((2, 4, 8), (2, 8, 32), (4, 16, 64), (8, 32, 128))
TARGET = (8, 128, 512)
ALLOWED = 10.0
"""Processor seconds a check may take at TARGET."""
PATIENCE = 0.6
"""The ladder is left where the next step would take longer."""
LONG = 0.1
"""A check of this length is timed once."""
DEAF = "the check accepts layer norm's gradients for another forward"
TOO_SLOW = f"the check would take longer than {ALLOWED:g} s at {TARGET}"


@probe(B=3, T=4, D=8, dtype="float64", floors={"D": 3})
def the_own_pair_is_consistent(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> dict[str, float]:
    """The answer's gradients are those of the answer's forward, by finite differences along +-1 directions."""
    given = draw_inputs(draw, B, T, D, dtype)
    got = alive(results(answer, given), given)

    def y_of(x: Floats, gamma: Floats, beta: Floats, eps: float) -> Floats:
        return forward(answer, given.but(x=x, gamma=gamma, beta=beta, eps=eps))[0]

    report = check_gradients(
        y_of, (got.dx, got.dgamma, got.dbeta), x=given.x, gamma=given.gamma, beta=given.beta, dy=given.dy,
        eps=given.eps, rng=draw.rng,
    )  # fmt: skip
    figures = {
        "dx_residual": report.total if report.dx is None else report.dx,
        "dgamma_residual": report.dgamma,
        "dbeta_residual": report.dbeta,
    }
    for fault in report.faults:
        where = f"{fault.term}{list(fault.index)}" if fault.index is not None else fault.term
        raise ProbeFailure(
            f"{fault.term} is not the slope of the answer's own y", fault.detail, where=where,
            expected=fault.expected, got=fault.got, measured=figures,
        )  # fmt: skip
    return figures


@probe(B=2, T=8, D=32, dtype="float64", floors={"B": 2, "T": 2, "D": 3})
def right_pairs_are_accepted(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """The answer's check says yes to pairs that are right, and leaves its arguments as they were.

    Pairs whose backward belongs to another forward are asked about in between: a yes to these earns nothing.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    for question in questions(draw, given, (STRANGE,) * ALIKE):
        said = _verdict(answer, question)
        for field, after in zip(("x", "gamma", "beta", "dy"), answer.echo, strict=True):
            expect.same(field, after, getattr(given, field), f"check_gradients changes {field}")
        expect.that(_judged(answer, question, said), DEAF)


@probe(dtype="float64")
def right_pairs_of_every_kind_are_accepted(answer: Answer, draw: Draw, *, dtype: str) -> None:
    """The answer's check says yes to right pairs at exact zeros, dy of any size and odd shapes.

    A yes to every pair earns nothing: `right_pairs_are_accepted` feeds the same criterion.
    """
    for question in right_questions(draw):
        _judged(answer, question, _verdict(answer, question, fresh=False))


@probe(dtype="float64")
def plainly_wrong_pairs_are_rejected(answer: Answer, draw: Draw, *, dtype: str) -> Partial:
    """The answer's check says no to pairs that are plainly wrong in one argument, at one place or at one kind of point;
    the share it rejects, and nothing where it misses all faults of a group."""
    told = [(fault, _judged(answer, q, _verdict(answer, q, fresh=False))) for fault, q in wrong_questions(draw)]
    missed = [f"{fault.name} ({fault.point})" for fault, caught in told if not caught]
    figures = {"plain_faults_caught": len(told) - len(missed), "plain_faults_tried": len(told)}
    detail = f"rejects {len(told) - len(missed)} of {len(told)} plainly wrong pairs; accepts {', '.join(missed)}"
    for group, title in MISSED.items():
        seen = [caught for fault, caught in told if group in fault.groups]
        expect.that(any(seen), title, detail, **figures)
    return Partial(1 - len(missed) / len(told), figures, detail if missed else "")


@probe(B=2, T=3, D=8, dtype="float64", fixed=("B", "T", "D"))
def wrong_pairs_are_rejected(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> Partial:
    """The answer's check says no to pairs with one fault each; the share it rejects.

    Nothing is earned by a check that rejects a right pair as well, or accepts layer norm's backward for any forward:
    its verdict does not follow the pair.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    wanted = (*FAULTS, *(STRANGE,) * ALIKE)
    missed = [q.name for q in questions(draw, given, wanted) if not _judged(answer, q, _verdict(answer, q))]
    caught, tried = sum(fault not in missed for fault in FAULTS), len(FAULTS)
    figures = {"planted_caught": caught, "planted_tried": tried}
    detail = f"rejects {caught} of {tried} wrong pairs; accepts {', '.join(missed)}" if missed else ""
    if not caught or STRANGE in missed:
        raise ProbeFailure(DEAF if caught else "the check accepts every wrong pair", detail, measured=figures)
    return Partial(caught / tried, figures, detail)


@probe(dtype="float64", traced=False)
def the_check_is_of_use_at_real_sizes(answer: Answer, draw: Draw, *, dtype: str) -> dict[str, float]:
    """Processor time of one check at (8,128,512), extrapolated from small sizes.

    A check runs forward passes, so its time is counted in passes of the same size. Their number is taken to go on
    growing with the elements as over the last step (a loop over elements: in proportion; all rows at once: not at
    all), and a pass is timed at (8,128,512) itself.
    """
    steps: list[Step] = []
    with timing_lock():
        for step in _ladder(answer, draw, dtype):
            steps.append(step)
            if step.seconds * _times_to_target(step.elements) ** 1.5 < ALLOWED or _next_seconds(steps) > PATIENCE:
                break
        given = draw_inputs(draw, *TARGET, dtype)
        one_pass = _pass_seconds(answer, _layer_norm(answer, draw, given), given, repeats=10)
    last = steps[-1]
    growth = min(1.0, _exponent([s.passes for s in steps], steps))  # no check needs more passes than elements
    passes = last.passes * _times_to_target(last.elements) ** growth
    figures = {"check_extrapolated_seconds": passes * one_pass}
    detail = (
        f"{last.seconds:.2g} s for {last.elements:,} elements, as long as {_rounded(last.passes)} forward passes; "
        f"growing on as from step to step it would take {_rounded(passes)} at {TARGET}, {_rounded(passes * one_pass)} s"
    )
    expect.that(passes * one_pass <= ALLOWED, TOO_SLOW, detail, **figures)
    return figures


@dataclass(frozen=True)
class Step:
    """One check at one size: elements of x, processor seconds, and those in forward passes of that size."""

    elements: int
    seconds: float
    passes: float


def _ladder(answer: Answer, draw: Draw, dtype: str) -> Iterator[Step]:
    """One check at size after size; where it is short, the better of two."""
    for shape in LADDER:
        given, elements, seconds = draw_inputs(draw, *shape, dtype), math.prod(shape), []
        pair = _layer_norm(answer, draw, given)
        try:
            while len(seconds) < 2 and sum(seconds) < LONG:
                expect.that(_said(answer, pair, given), "the check rejects a right pair", f"at {shape}")
                seconds.append(max(answer.cost.processor, 1e-6))
        except CallTimedOut as late:
            least = CHECK_SECONDS * _times_to_target(elements)
            detail = f"{late.detail} at {shape}; in proportion to the elements: {_rounded(least)} s at {TARGET}"
            raise CallTimedOut(TOO_SLOW, detail, measured={"check_extrapolated_seconds": least}) from None
        yield Step(elements, min(seconds), min(seconds) / _pass_seconds(answer, pair, given, repeats=20))


def _pass_seconds(answer: Answer, pair: tuple[RemoteObject, RemoteObject], given: Inputs, repeats: int) -> float:
    """Processor seconds of one forward pass of a planted pair over x; repeats make carrying x across cheap."""
    inputs = (given.x, given.gamma, given.beta, given.eps)
    answer.call("run_forward", repeats, pair[0], *inputs, returns=Nothing(), module="planted")
    return max(answer.cost.processor, 1e-6) / repeats


def _layer_norm(answer: Answer, draw: Draw, given: Inputs) -> tuple[RemoteObject, RemoteObject]:
    return right_question(draw, given, "layer_norm").pair(answer)


def _next_seconds(steps: Sequence[Step]) -> float:
    """Time of the next check on the ladder, eight times the elements, if time grows on as it did."""
    return steps[-1].seconds * 8 ** max(1.0, _exponent([s.seconds for s in steps], steps))


def _exponent(costs: Sequence[float], steps: Sequence[Step]) -> float:
    """Growth of a cost with the elements over the last step, not below 0."""
    if len(steps) < 2:
        return 0.0
    return max(0.0, math.log(costs[-1] / costs[-2]) / math.log(steps[-1].elements / steps[-2].elements))


def _rounded(value: float) -> str:
    """Two digits, without an exponent where it is large."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def _times_to_target(elements: int) -> float:
    return math.prod(TARGET) / elements


def _verdict(answer: Answer, question: Question, *, fresh: bool = True) -> bool:
    """What the answer's check says of a pair, whose functions stay in the worker."""
    return _said(answer, question.pair(answer, fresh=fresh), question.given)


def _said(answer: Answer, pair: tuple[RemoteObject, RemoteObject], given: Inputs) -> bool:
    arrays: tuple[Any, ...] = (given.x, given.gamma, given.beta, given.dy)
    options = {"returns": Scalar(bool), "seconds": CHECK_SECONDS, "echo": True}
    return bool(answer.call("check_gradients", *pair, *arrays, given.eps, **options))


def _judged(answer: Answer, question: Question, said: bool) -> bool:
    """Whether the verdict on a pair is right.

    Raises:
        ProbeFailure: the pair is right and was rejected, or there was no finite difference to tell by.
    """
    moved = answer.call("moved", returns=Scalar(bool), module="planted")
    expect.that(moved, "the check answers without finite differences", "it calls the forward it is given at one point")
    expect.that(said or not question.right, "the check rejects a right pair", f"the pair: {question.name}")
    return said == question.right
