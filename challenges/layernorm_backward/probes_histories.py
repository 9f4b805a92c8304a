"""A probe of drawn histories: forwards, backwards and refused calls in any order, in one process."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.probing import (
    Answer,
    ArgumentsRejected,
    Array,
    Axis,
    Draw,
    Drawn,
    InputUse,
    Keep,
    ProbeFailure,
    RemoteObject,
    WorkerLost,
    expect,
    probe,
)
from harness.probing.families import values

from .binding import GRADIENTS, Floats, Inputs, Results, but_for_digits, gradient_plan, results
from .bounds import require_right
from .inputs import CHEAP, DTYPES, DY_USES, EPSILONS, PARAMETERS, elements, inputs_of

LENGTHS = (4, 12)
"""Calls of a history, fewest and most, before its last ones."""
LAST = 2
"""Backwards at the end of the forward that is alive longest: by chance alone few caches see two."""
REFUSED, FORWARD = 0.12, 0.4
"""Shares of the calls; the others are backwards."""
NOTHING = Results(None, None, None, None)


class NotRefused(Exception):
    """The answer took a call that it must refuse: another probe's matter, but nobody knows what it holds now."""


@dataclass(frozen=True)
class Returned:
    """What a call returned: the names and values of its arrays, and the handle and plan by which to see them again."""

    names: tuple[str, ...]
    arrays: tuple[Floats, ...]
    kept: RemoteObject
    plan: tuple[Any, ...]


@dataclass(frozen=True)
class Alive:
    """A forward whose cache may still see a backward: its number, inputs and cache, and whether memory was reused."""

    number: int
    given: Inputs
    cache: RemoteObject
    reused: bool


@dataclass
class History:
    """The calls so far: a line each, the forwards that are alive, and what was returned.

    Which calls come is drawn from `choices`, values from `draw`: other sizes then meet the same calls. Calls that must
    be refused are left out where the answer does not refuse them.
    """

    answer: Answer
    draw: Draw
    choices: Draw
    refuses: bool = True
    program: list[str] = field(default_factory=list)
    alive: list[Alive] = field(default_factory=list)
    returned: list[Returned] = field(default_factory=list)

    def forward(self, given: Inputs) -> None:
        """Call forward and judge y; its arguments may lie where those of a forward lay that is alive no more."""
        number, shape = len(self.program), given.x.shape
        reused = not any(each.reused for each in self.alive) and self._chance(0.5)
        where = ", in the memory of earlier ones" if reused else ""
        self.program.append(
            f"y{number}, cache{number} = forward(x{number}, gamma{number}, beta{number}, {given.eps:g})"
            f"    # {given.dtype} {shape}{where}"
        )
        use = InputUse.REUSED if reused else InputUse.READ_ONLY
        plan = (Array(shape, given.dtype), Keep())
        (y, cache), kept = self.answer.call(
            "forward", given.x, given.gamma, given.beta, given.eps, returns=plan, hold=True, inputs=use
        )
        self.alive.append(Alive(number, given, cache, reused))
        self.returned.append(Returned((f"y{number}",), (y,), kept, plan))
        self._require_right(NOTHING._replace(y=y), given)

    def backward(self, of: Alive) -> None:
        """Call backward for a forward that is alive, with a new dy, and judge the gradients."""
        number, family = len(self.program), CHEAP[self.choices.integer(0, len(CHEAP) - 1)]
        given = of.given.but(dy=values(self.draw, family, *of.given.x.shape))
        names = tuple(f"{name}{number}" for name in GRADIENTS)
        self.program.append(f"{', '.join(names)} = backward(dy{number}, cache{of.number})    # dy: {family}")
        use = DY_USES[self.choices.integer(0, 1)]
        plan = gradient_plan(given.dy)
        gradients, kept = self.answer.call("backward", given.dy, of.cache, returns=plan, hold=True, inputs=use)
        self.returned.append(Returned(names, gradients, kept, plan))
        self._require_right(Results(None, *gradients), given)

    def let_go(self, of: Alive) -> None:
        """Now and then no backward of a forward comes any more; those in reused memory see one."""
        if of.reused or self._chance(0.25):
            self.alive.remove(of)

    def refused(self) -> None:
        """A call with wrong shapes: whether it is refused is judged elsewhere, what it leaves behind is judged here."""
        of, backward = self.any(), self._chance(0.5)
        if not self.refuses:
            return
        given, long = of.given, np.ones(of.given.x.shape[-1] + 1, of.given.dtype)
        try:
            if backward:
                self.program.append(f"backward(dy, cache{of.number})    # dy has one feature more: refused")
                dy = np.ones((*given.x.shape[:2], len(long)), given.dtype)
                self.answer.call("backward", dy, of.cache, returns=(Keep(), Keep(), Keep()))
            else:
                self.program.append(f"forward(x{of.number}, gamma, beta{of.number}, 1e-05)    # longer gamma: refused")
                self.answer.call("forward", given.x, long, given.beta, 1e-5, returns=(Keep(), Keep()))
        except ArgumentsRejected:
            return
        except WorkerLost:
            raise
        except ProbeFailure:
            pass
        raise NotRefused

    def require_unchanged(self) -> None:
        """Everything that was returned is as it was."""
        for each in self.returned:
            now = self.answer.fetch(each.kept, each.plan)
            for name, before, after in zip(each.names, each.arrays, now, strict=False):
                kind = name.rstrip("0123456789")
                expect.same(name, after, before, f"{kind} does not stay as it was returned", self._doing)

    def _require_right(self, got: Results, given: Inputs) -> None:
        """Require results to be right; blame earlier calls only where the same pair is right in a new process."""
        try:
            require_right(got, given, self._doing)
        except ProbeFailure:
            program, self.program = self.program, []
            self.answer.fresh()
            require_right(results(self.answer, given), given)
            self.program = program
            raise

    def any(self) -> Alive:
        """A drawn one of the forwards alive."""
        return self.alive[self.choices.integer(0, len(self.alive) - 1)]

    def _chance(self, share: float) -> bool:
        return bool(self.choices.rng.random() < share)

    @property
    def _doing(self) -> str:
        return f"after {len(self.program)} calls in one process"


@probe(
    drawn=Drawn(
        {"B": Axis(1, 64), "T": Axis(1, 64), "D": Axis(1, 1024)}, 20, elements, 6e3,
        {"dtype": DTYPES, "family": CHEAP},
    ),
)  # fmt: skip
def any_history_is_right(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, family: str) -> None:
    """Several forwards alive at once, their backwards in any order and repeatedly, other shapes, contents and dtypes in
    turn, refused calls between: every result is right, and stays as it was.

    Arguments of forward stay until the last backward of its cache; then others lie in their memory.
    """
    seed, base = draw.integer(0, 2**31), {"sizes": (B, T, D), "dtype": dtype, "family": family}
    with but_for_digits(answer, "float32", anew=True), but_for_digits(answer, "float64", anew=True):
        try:
            _judge(History(answer, draw, Draw(seed, "calls")), **base)
        except NotRefused:
            _judge(History(answer, draw, Draw(seed, "calls"), refuses=False), **base)


def _judge(history: History, **base: Any) -> None:
    """Make the calls of a history in a new process, and judge what each brings."""
    history.answer.fresh()
    choices = history.choices
    try:
        history.forward(_next(history, **base))
        history.forward(_in_the_other_dtype(history))
        for _ in range(choices.integer(*LENGTHS) - 2):
            step = choices.rng.random()
            if not history.alive or step < FORWARD:
                history.forward(_next(history, **base))
            elif step < FORWARD + REFUSED:
                history.refused()
            else:
                of = history.any()
                history.backward(of)
                history.let_go(of)
        for of in history.alive[:1] * LAST:
            history.backward(of)
        history.require_unchanged()
    except ProbeFailure as failure:
        failure.program = tuple(history.program)
        raise


def _in_the_other_dtype(history: History) -> Inputs:
    """Normal inputs of the first forward's shape: what is remembered by the shape alone has the wrong dtype."""
    given = history.alive[0].given
    x = history.draw.normal(*given.x.shape)
    arrays = {name: getattr(given, name) for name in ("gamma", "beta", "dy")} | {"x": x}
    dtype = DTYPES[1 - DTYPES.index(given.dtype)]
    return Inputs(**{name: values.astype(dtype) for name, values in arrays.items()}, eps=given.eps)


def _next(history: History, sizes: tuple[int, int, int], dtype: str, family: str) -> Inputs:
    """The inputs of the next forward: of the same or another shape and dtype, now and then an earlier x again."""
    (B, T, D), choices, first = sizes, history.choices, not history.program
    shapes = (sizes, sizes, sizes, (T, B, D), (B, T, D + 1), (B + 1, T, D), (1, 1, D), (B, T, max(D // 2, 1)))
    shape, other = shapes[choices.integer(0, len(shapes) - 1)], choices.integer(0, 1) == 0
    if other and choices.integer(0, 1):
        shape = sizes  # what is remembered by the shape alone has the wrong dtype then
    gamma = PARAMETERS[choices.integer(0, len(PARAMETERS) - 1)]
    eps, again = EPSILONS[choices.integer(0, len(EPSILONS) - 1)], choices.integer(0, 2) == 0
    if choices.integer(0, 1) and not first:
        family = CHEAP[choices.integer(0, len(CHEAP) - 1)]
    if other and not first:
        dtype = DTYPES[1 - DTYPES.index(dtype)]
    given = inputs_of(
        history.draw, *(sizes if first else shape), dtype, x=family, dy="normal", gamma=gamma, beta="normal",
        scale="plain", eps=eps,
    )  # fmt: skip
    earlier = history.alive[-1].given if again and history.alive else given
    same = (earlier.x.shape, earlier.dtype) == (given.x.shape, given.dtype)
    return given.but(x=earlier.x) if same else given
