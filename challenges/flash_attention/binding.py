"""How the probes of `flash_attention` draw inputs, call an answer, and judge what it returns.

The plainest inputs are judged in the conditioning form: the error divided by how far the long-double oracle moves when
every input moves by half an ulp. Elsewhere `bounds` says for each entry what rounding may cost, times what the answer's
plain errors are over that: an answer that loses digits everywhere is told so once. Properties compare an answer with
itself.

Every output is compared at every position, at large N at every position of some rows, and every relation starts from an
output that is neither constant nor a copy of an input.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import conditioning
from harness.probing import Answer, Array, Draw, InputUse, ProbeFailure, expect

from . import oracle

Floats = NDArray[Any]
FUNCTION = "flash_attention_fwd"
DTYPES = ("float32", "float64")
DIGITS = 1e-3
"""Of the root mean square, an error up to which only digits are lost."""


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


def exact(given: Inputs, rows: Sequence[int] | None = None) -> NDArray[np.longdouble]:
    """The oracle's output, long double."""
    return oracle.attention(*given.arrays, given.causal, rows)


def spread(given: Inputs, draw: Draw) -> float:
    """What half an ulp of the inputs moves the output by."""
    (moved,) = conditioning(lambda q, k, v: oracle.attention(q, k, v, given.causal), given.arrays, draw.rng)
    return moved


def matches(answer: Answer, given: Inputs, draw: Draw) -> float:
    """Require the answer's output to be the oracle's, digits included; return its error ratio."""
    o, right = attention(answer, given), exact(given)
    try:
        return expect.close("o", o, right, spread(given, draw))
    except ProbeFailure as why:
        if not np.abs(o - right).max() <= DIGITS * np.sqrt(np.mean(right * right)):
            raise
        raise ProbeFailure(
            "o loses digits", why.detail, where=why.where, expected=why.expected, got=why.got, measured=why.measured
        ) from None
