"""How the probes of `flash_attention` draw inputs, call an answer, and judge what it returns.

Accuracy is judged in the conditioning form: the error divided by how far the oracle, in a wider type than the inputs,
moves when every input moves by half an ulp. Elsewhere `bounds` says for each entry what rounding may cost, times what
the answer's plain errors are over that: an answer that loses digits everywhere is told so once, as accuracy. Properties
compare an answer with itself.

Every output is compared at every position, at large N at every position of some rows, and every relation starts from an
output that is neither constant nor a copy of an input.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import conditioning
from harness.probing import Answer, Array, Draw, FaultElsewhere, InputUse, Tree, expect
from harness.probing.inputs import ArrayInputs

from . import oracle

Floats = NDArray[Any]
FUNCTION = "flash_attention_fwd"
DTYPES = ("float32", "float64")
DIGITS = 2e-2
"""Of the root mean square, the largest error where only digits are lost: more than float16 throughout costs."""


@dataclass(frozen=True)
class Inputs(ArrayInputs):
    """One call: q, k, v (B,H,N,D), the tile size, and whether the future is hidden."""

    q: Floats
    k: Floats
    v: Floats
    tile: int
    causal: bool = True

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.q, self.k, self.v


def draw_inputs(
    draw: Draw, B: int, H: int, N: int, D: int, tile: int, dtype: str, *, causal: bool = True, times: float = 1.0
) -> Inputs:
    """Normal inputs; q and k are `times` as large."""
    q, k = (draw.normal(B, H, N, D, dtype=dtype, std=times) for _ in range(2))
    return Inputs(q, k, draw.normal(B, H, N, D, dtype=dtype), tile, causal)


def attention(answer: Answer, given: Inputs, inputs: InputUse = InputUse.FRESH) -> Floats:
    """The answer's output."""
    plan = Array(given.q.shape, given.dtype)
    output: Floats = answer.call(FUNCTION, *given.arrays, given.tile, given.causal, returns=plan, inputs=inputs)
    return output


def alive(o: Floats, given: Inputs) -> Floats:
    """`o`, once it is seen to be neither constant nor a copy of an input: such outputs keep many laws."""
    expect.alive("o", o, *given.arrays)
    return o


def exact(given: Inputs, rows: Sequence[int] | None = None) -> Floats:
    """The oracle's output, in the type `given.wide`."""
    return oracle.attention(*given.arrays, given.causal, rows, given.wide)


def spread(given: Inputs, draw: Draw) -> float:
    """What half an ulp of the inputs moves the output by."""
    right = partial(oracle.attention, causal=given.causal, wide=given.wide)
    (moved,) = conditioning(right, given.arrays, draw.rng)
    return moved


def require_digits_of_inputs(answer: Answer, given: Inputs) -> None:
    """Leave what follows from a narrower dtype of the output to the criterion of the dtype.

    Raises:
        FaultElsewhere: the output of these inputs has fewer digits than they have.
    """
    plan = Tree(16 * given.q.nbytes)
    o = answer.call(FUNCTION, *given.arrays, given.tile, given.causal, returns=plan)
    if isinstance(o, np.ndarray) and o.dtype.itemsize < given.q.dtype.itemsize:
        raise FaultElsewhere("o has another dtype than the inputs", f"{o.dtype.name} for {given.dtype} inputs")
