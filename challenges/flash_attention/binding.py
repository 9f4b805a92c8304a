"""How the probes of `flash_attention` draw inputs, call an answer, and judge what it returns.

Accuracy is judged in the conditioning form: the error divided by how far the oracle, in a wider type than the inputs,
moves when every input moves by half an ulp. Elsewhere `bounds` says for each entry what rounding may cost, times what
the answer's plain errors are over that: an answer that loses digits everywhere is told so once, as accuracy. Properties
compare an answer with itself.

Every output is compared at every position, at large N at every position of some rows, and every relation starts from an
output that is neither constant nor a copy of an input.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import conditioning
from harness.probing import Answer, Array, Draw, FaultElsewhere, InputUse, Tree, expect

from . import oracle

Floats = NDArray[Any]
FUNCTION = "flash_attention_fwd"
DTYPES = ("float32", "float64")
DIGITS = 2e-2
"""Of the root mean square, the largest error where only digits are lost: more than float16 throughout costs."""
EVEN = 1e3
"""Times the median error that the largest one may be where digits are lost everywhere, and not in some entries."""


@dataclass(frozen=True)
class Inputs:
    """One call: q, k, v (B,H,N,D), the tile size, and whether the future is hidden."""

    q: Floats
    k: Floats
    v: Floats
    tile: int
    causal: bool = True

    @property
    def dtype(self) -> str:
        return str(self.q.dtype.name)

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.q, self.k, self.v

    def but(self, **changes: Any) -> "Inputs":
        """The same with other values in some places, in this dtype."""
        cast = {
            name: np.ascontiguousarray(value, self.q.dtype) if name in ("q", "k", "v") else value
            for name, value in changes.items()
        }
        return replace(self, **cast)


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


def wider(dtype: str) -> type:
    """Return the type of exact results of a dtype: long double for float64, float64 for float32."""
    return np.longdouble if dtype == "float64" else np.float64


def exact(given: Inputs, rows: Sequence[int] | None = None) -> Floats:
    """The oracle's output, in the type that `wider` names."""
    return oracle.attention(*given.arrays, given.causal, rows, wider(given.dtype))


def spread(given: Inputs, draw: Draw) -> float:
    """What half an ulp of the inputs moves the output by."""
    right = partial(oracle.attention, causal=given.causal, wide=wider(given.dtype))
    (moved,) = conditioning(right, given.arrays, draw.rng)
    return moved


def only_digits(off: Floats, right: Floats) -> bool:
    """Return whether errors `off` of an output are digits lost everywhere: small, and about as large in all entries."""
    largest = float(off.max())
    return bool(largest <= DIGITS * np.sqrt(np.mean(right * right)) and largest <= EVEN * np.median(off))


def require_digits_of_inputs(answer: Answer, given: Inputs) -> None:
    """Leave what follows from a narrower dtype of the output to the criterion of the dtype.

    Raises:
        FaultElsewhere: the output of these inputs has fewer digits than they have.
    """
    plan = Tree(16 * given.q.nbytes)
    o = answer.call(FUNCTION, *given.arrays, given.tile, given.causal, returns=plan)
    if isinstance(o, np.ndarray) and o.dtype.itemsize < given.q.dtype.itemsize:
        raise FaultElsewhere("o has another dtype than the inputs", f"{o.dtype.name} for {given.dtype} inputs")
