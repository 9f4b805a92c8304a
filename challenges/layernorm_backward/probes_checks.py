"""Probes of gradient checking: the answer's pair under our check, and our pairs, right and wrong, under its check."""

import math
from typing import Any

from harness.model import Figure
from harness.numerics import check_gradients
from harness.probing import (
    Answer,
    CallTimedOut,
    Draw,
    Nothing,
    NotRun,
    Partial,
    ProbeFailure,
    RemoteObject,
    Scalar,
    WorkerLost,
    expect,
    probe,
)
from harness.probing.failures import FaultElsewhere

from .binding import Floats, alive, draw_inputs, forward, loses_digits, results
from .questions import ALIKE, FAULTS, STRANGE, Question, mended, questions, real_questions, right_question
from .varied_questions import MISSED, named, right_questions, wrong_questions

CHECK_SECONDS = 1.5
"""Longest wait for one verdict; a check that needs more at these sizes is out of reach at real ones."""
SIZES = (((8, 32, 128), 2.5), ((8, 128, 512), 10.0))
"""(B, T, D) at which a check is timed, and the processor seconds it may take there. One by elements needs half a minute
for the smaller, one by directions a tenth of a second for the larger."""
WAIT = 6
"""Times its processor seconds that a check may take by the wall: on a machine that does other things as well."""
HIDDEN, MOST_HIDDEN = 0.5, 0.25
"""Share of how far off a fault is at the point that is asked about, below which it hardly shows; most such faults."""
SLOW = "the check takes longer than {:g} s at {}"
DEAF = "the check accepts layer norm's gradients for another forward"
REJECTS = "the check rejects a right pair"


class TooSlow(ProbeFailure):
    """A check was stopped, for its time was over."""


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
    if report.faults and loses_digits(answer, dtype):  # differences are as rough then, of a right pair as well
        raise FaultElsewhere("finite differences of the answer's own y tell nothing", report.faults[0].detail)
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
    """The answer's check says no to pairs that are plainly wrong in one argument, at one place or at one kind of point,
    or not finite; the share it rejects, and nothing where it misses all faults of a group.

    Faults without which it rejects the pair as well do not count.
    """
    told = []
    for fault, question in wrong_questions(draw):
        caught = _judged(answer, question, _verdict(answer, question, fresh=False))
        if not caught or _verdict(answer, mended(draw, question), fresh=False):
            told.append((fault, caught))
    rejected = sum(caught for _, caught in told)
    figures = {"plain_faults_caught": rejected, "plain_faults_tried": len(told)}
    expect.that(bool(told), REJECTS, "every plainly wrong pair, and each of them without its fault", **figures)
    detail = f"rejects {rejected} of {len(told)} plainly wrong pairs; accepts {', '.join(named(told))}"
    for group, title in MISSED.items():
        seen = [caught for fault, caught in told if group in fault.groups]
        expect.that(any(seen) or not seen, title, detail, **figures)
    return Partial(rejected / len(told), figures, detail if rejected < len(told) else "")


@probe(B=2, T=3, D=8, dtype="float64", fixed=("B", "T", "D"))
def wrong_pairs_are_rejected(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> Partial:
    """The answer's check says no to pairs with one fault each; the share it rejects.

    Nothing is earned by a check that rejects a right pair as well, or accepts layer norm's backward for any forward:
    its verdict does not follow the pair. A check may draw inputs of its own: a few faults that hardly show there do not
    count, and `planted_hidden` says how many.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    missed, hidden = [], []
    for question in questions(draw, given, (*FAULTS, *(STRANGE,) * ALIKE)):
        said = _verdict(answer, question)
        if question.right and not said:  # by a bound of its own that few right pairs exceed, `accepts_correct`'s matter
            question = right_question(draw, draw_inputs(draw, B, T, D, dtype), question.name)
            said = _verdict(answer, question)
        if not _judged(answer, question, said):
            (hidden if _hardly_shows(answer, question) else missed).append(question.name)
    if len(hidden) > MOST_HIDDEN * len(FAULTS):
        missed, hidden = [*missed, *hidden], []
    caught, tried = sum(fault not in (*missed, *hidden) for fault in FAULTS), len(FAULTS) - len(hidden)
    figures = {"planted_caught": caught, "planted_tried": tried, "planted_hidden": len(hidden)}
    detail = f"rejects {caught} of {tried} wrong pairs; accepts {', '.join(missed)}" if missed else ""
    if not caught or STRANGE in missed:
        raise ProbeFailure(DEAF if caught else "the check accepts every wrong pair", detail, measured=figures)
    return Partial(caught / tried, figures, detail)


@probe(dtype="float64")
def wrong_pairs_of_a_real_size_are_rejected(answer: Answer, draw: Draw, *, dtype: str) -> Partial:
    """The answer's check says no to pairs that are wrong at the smaller of `SIZES` and right at fewer elements; the
    share it rejects.

    A check that is too slow there is `check_speed`'s to charge, and judged by small pairs alone, as is one that asks
    for no gradients of this size. Faults that hardly show at inputs of its own do not count, nor those without which it
    rejects the pair as well.
    """
    (shape, allowed), told = SIZES[0], dict[str, bool]()
    try:
        for question in real_questions(draw, draw_inputs(draw, *shape, dtype)):
            caught = _judged(answer, question, _timed(answer, question, allowed))
            if _tells(answer, draw, question, allowed, caught=caught):
                told[question.name] = caught
    except (NotRun, TooSlow):
        told.clear()
    if not told:
        return Partial(1.0, {"real_size_faults_tried": 0})
    missed = [name for name, caught in told.items() if not caught]
    share = 1 - len(missed) / len(told)
    figures = {"real_size_faults_caught": len(told) - len(missed), "real_size_faults_tried": len(told)}
    detail = f"rejects {len(told) - len(missed)} of {len(told)} wrong pairs at {shape}; accepts {', '.join(missed)}"
    expect.that(share > 0, f"the check accepts every wrong pair at {shape}", detail, **figures)
    return Partial(share, figures, detail if missed else "")


@probe(dtype="float64", traced=False, times=True, measures=True)
def the_check_is_of_use_at_real_sizes(answer: Answer, draw: Draw, *, dtype: str) -> dict[str, float]:
    """Processor seconds of one check at each of `SIZES`: measured there, extrapolated from nowhere.

    The pair serves a check no longer than it may take, by the processor's clock: no other load makes a check slow. One
    that never calls forward on as many elements differences something smaller, whose time says nothing here.
    """
    figures: dict[str, float] = {}
    for shape, allowed in SIZES:
        elements = math.prod(shape)
        question = right_question(draw, draw_inputs(draw, *shape, dtype), "layer_norm")
        said = _timed(answer, question, allowed)
        figures[f"check_seconds_{elements}_elements"] = seconds = answer.cost.processor
        expect.that(seconds <= allowed, SLOW.format(allowed, shape), f"{seconds:.3g} s of processor time", **figures)
        most = answer.call("most_elements", returns=Scalar(int), module="planted")
        if most < elements:
            raise NotRun(f"no call of forward within the check has {elements:,} elements; the largest has {most:,}")
        _judged(answer, question, said)
    return figures


def _timed(answer: Answer, question: Question, allowed: float) -> bool:
    """What the answer's check says of a pair that serves it for so many processor seconds.

    Raises:
        TooSlow: the check was stopped.
        NotRun: it waited, or was kept waiting, for most of the time.
    """
    pair, shape = question.pair(answer, fresh=False), question.given.x.shape
    answer.call("stop_after", allowed, returns=Nothing(), module="planted")
    try:
        return _said(answer, question, pair, WAIT * allowed)
    except CallTimedOut as late:
        worked = f"of which its process worked {answer.cost.processor:.2g} s"
        raise NotRun(f"the check at {shape}: {late.detail}, {worked}") from None
    except WorkerLost:
        raise
    except ProbeFailure:
        cost = answer.cost.processor
        passes, stopped = answer.call("passes", returns=(Scalar(int), Scalar(bool)), module="planted")
        if not stopped:
            raise
        seen = f"stopped after {allowed:g} s of processor time, in which it ran {passes:,} forward passes"
        figures: dict[str, Figure] = {f"check_seconds_{math.prod(shape)}_elements": cost}
        raise TooSlow(SLOW.format(allowed, shape), seen, measured=figures) from None


def _verdict(answer: Answer, question: Question, *, fresh: bool = True) -> bool:
    """What the answer's check says of a pair, whose functions stay in the worker."""
    return _said(answer, question, question.pair(answer, fresh=fresh), CHECK_SECONDS)


def _said(answer: Answer, question: Question, pair: tuple[RemoteObject, RemoteObject], seconds: float) -> bool:
    """What the answer's check says of a pair within so many seconds of wall time."""
    given = question.given
    arrays: tuple[Any, ...] = (given.x, given.gamma, given.beta, given.dy)
    options = {"returns": Scalar(bool), "seconds": seconds, "echo": True}
    return bool(answer.call("check_gradients", *pair, *arrays, given.eps, **options))


def _tells(answer: Answer, draw: Draw, question: Question, allowed: float, *, caught: bool) -> bool:
    """Return whether the latest fault decides the verdict: it shows, and the pair without it is accepted."""
    if caught:
        return _most_off(answer) > 0 and _timed(answer, mended(draw, question), allowed)
    return not _hardly_shows(answer, question)


def _hardly_shows(answer: Answer, question: Question) -> bool:
    """Return whether the latest fault is much smaller at the check's own inputs than at those it was given."""
    return _most_off(answer) < HIDDEN * question.off


def _most_off(answer: Answer) -> float:
    """Return the error of the latest pair's gradients, over the largest entry of each."""
    return float(answer.call("most_off", returns=Scalar(float), module="planted"))


def _judged(answer: Answer, question: Question, said: bool) -> bool:
    """Whether the verdict on a pair is right.

    Raises:
        ProbeFailure: the pair is right and was rejected, or it was accepted with no finite difference to tell by.
    """
    expect.that(said or not question.right, REJECTS, f"the pair: {question.name}")
    moved = answer.call("moved", returns=Scalar(bool), module="planted")
    title = "the check accepts a pair without finite differences"
    seen = "it calls the forward it is given at fewer than two points"
    expect.that(moved or not said, title, f"{seen}; the pair: {question.name}")
    return said == question.right
