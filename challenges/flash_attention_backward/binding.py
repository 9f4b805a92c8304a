"""How the probes of `flash_attention_backward` draw inputs, call an answer, and judge what it returns.

Accuracy is judged in the conditioning form: the error of an output divided by how far the long-double oracle moves when
every input moves by half an ulp. Gradients get one addition: where they nearly vanish, their terms cancel, which the
conditioning of the exact function does not see, so their spread is at least half an ulp of the terms. Elsewhere
`bounds` says for each entry what rounding may cost, times what the answer's plain errors are over that: an answer that
loses digits everywhere is told so once, as accuracy. Properties compare an answer with itself.

Every output is compared at every position, and every relation starts from an output that is neither constant nor a copy
of an input.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.numerics import conditioning
from harness.probing import Answer, Array, Draw, FaultElsewhere, InputUse, Keep, Tree, expect
from harness.probing.inputs import ArrayInputs

from . import oracle

Floats = NDArray[Any]
FORWARD, BACKWARD = "flash_attention_fwd", "flash_attention_bwd"
DTYPES = ("float32", "float64")
DIGITS = 5e-2
"""Of the root mean square, the largest error where only digits are lost: more than float16 throughout costs."""


class Results(NamedTuple):
    """What the two passes give, or one figure about each: (B,H,N,D)."""

    o: Any
    dq: Any
    dk: Any
    dv: Any


FIELDS = Results._fields
GRADIENTS = FIELDS[1:]


@dataclass(frozen=True)
class Inputs(ArrayInputs):
    """One forward and its backward: q, k, v, do (B,H,N,D), the tile of each pass, and whether the future is hidden."""

    q: Floats
    k: Floats
    v: Floats
    do: Floats
    tile: int
    back_tile: int
    causal: bool = True

    @property
    def length(self) -> int:
        """Positions of queries or of keys, whichever are more."""
        return max(self.q.shape[2], self.k.shape[2])

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.q, self.k, self.v


def draw_inputs(
    draw: Draw, B: int, H: int, N: int, D: int, tile: int, dtype: str, *, causal: bool = True, times: float = 1.0
) -> Inputs:
    """Normal inputs; q and k are `times` as large. The backward has the tile of the forward."""
    q, k = (draw.normal(B, H, N, D, dtype=dtype, std=times) for _ in range(2))
    v, do = (draw.normal(B, H, N, D, dtype=dtype) for _ in range(2))
    return Inputs(q, k, v, do, tile, tile, causal)


def forward(answer: Answer, given: Inputs, inputs: InputUse = InputUse.FRESH) -> tuple[Floats, Any]:
    """o, and the cache as a handle."""
    plan = (Array(given.q.shape, given.dtype), Keep())
    o, cache = answer.call(FORWARD, *given.arrays, given.tile, given.causal, returns=plan, inputs=inputs)
    return o, cache


def gradient_plan(given: Inputs) -> tuple[Array, Array, Array]:
    """What a backward returns."""
    return (Array(given.q.shape, given.dtype), Array(given.k.shape, given.dtype), Array(given.v.shape, given.dtype))


def backward(
    answer: Answer, given: Inputs, cache: Any, o: Floats | None = None, inputs: InputUse = InputUse.FRESH
) -> Results:
    """The gradients for one do; `o` is passed through."""
    plan = gradient_plan(given)
    return Results(
        o, *answer.call(BACKWARD, given.do, cache, given.back_tile, given.causal, returns=plan, inputs=inputs)
    )


def results(answer: Answer, given: Inputs, inputs: InputUse = InputUse.FRESH) -> Results:
    """All outputs of one forward and its backward."""
    o, cache = forward(answer, given, inputs)
    return backward(answer, given, cache, o, inputs)


def alive(got: Results, given: Inputs) -> Results:
    """`got`, once its parts are seen to be neither constant nor copies of an input: such outputs keep many laws."""
    for name in FIELDS:
        if getattr(got, name) is not None:
            expect.alive(name, getattr(got, name), *given.arrays, given.do)
    return got


def exact_and_spreads(given: Inputs, draw: Draw) -> tuple[Results, Results]:
    """The oracle's outputs, and what half an ulp of the inputs moves each by, of gradients half an ulp of their terms.

    Worked out in long double for float64, in float64 for float32.
    """
    def whole(*arrays: Floats) -> oracle.Exact:
        return oracle.attention(*arrays, given.causal, given.wide)

    right = whole(*given.arrays, given.do)
    moved = conditioning(lambda *arrays: _outputs(whole(*arrays)), (*given.arrays, given.do), draw.rng)
    least = (0.0, *(float(size.max()) * given.unit for size in _terms(given, right)))
    return _outputs(right), Results(*map(max, moved, least))


def terms(given: Inputs) -> tuple[Floats, Floats, Floats]:
    """Size (B,H,N,D) of what is added up in dq, dk and dv."""
    return _terms(given, oracle.attention(*given.arrays, given.do, given.causal))


def _terms(given: Inputs, whole: oracle.Exact) -> tuple[Floats, Floats, Floats]:
    delta = abs(given.do * whole.o).sum(axis=-1, keepdims=True)
    sizes = whole.weights * (abs(whole.slopes) + delta) / np.sqrt(given.q.shape[3])
    turned, flows = sizes.swapaxes(-1, -2), whole.weights.swapaxes(-1, -2)
    return sizes @ abs(given.k), turned @ abs(given.q), flows @ abs(given.do)


def share_off(actual: Floats, wanted: Floats) -> float:
    """Return the largest error over the root mean square of what is right; infinite where it is no number."""
    off = float(np.abs(actual - wanted).max() / np.sqrt(np.mean(wanted * wanted)))
    return off if np.isfinite(off) else np.inf


def identical(got: Results, wanted: Results, title: str, doing: str) -> None:
    """Two results are the same to the last bit; the title names the output."""
    for name in FIELDS:
        if getattr(got, name) is not None:
            expect.same(name, getattr(got, name), getattr(wanted, name), title.format(name), doing)


def require_digits_of_inputs(answer: Answer, given: Inputs) -> None:
    """Leave what follows from a narrower dtype of a result to the criterion of the dtype.

    Raises:
        FaultElsewhere: a result of these inputs has fewer digits than they have.
    """
    room = Tree(16 * given.q.nbytes)
    o, cache = answer.call(FORWARD, *given.arrays, given.tile, given.causal, returns=(room, Keep()))
    gradients = answer.call(BACKWARD, given.do, cache, given.back_tile, given.causal, returns=(room, room, room))
    for name, values in zip(FIELDS, (o, *gradients), strict=True):
        if isinstance(values, np.ndarray) and values.dtype.itemsize < given.q.dtype.itemsize:
            seen = f"{values.dtype.name} for {given.dtype} inputs"
            raise FaultElsewhere(f"{name} has another dtype than the inputs", seen)


def _outputs(whole: oracle.Exact) -> Results:
    return Results(whole.o, whole.dq, whole.dk, whole.dv)
