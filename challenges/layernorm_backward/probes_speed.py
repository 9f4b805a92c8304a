"""Probe of speed: backward against the reference's."""

from pathlib import Path
from typing import Any

import numpy as np

from harness.numerics import distinct
from harness.probing import Answer, Draw, Partial, ProbeFailure, probe
from harness.probing.speed import compare_speed

from . import oracle, reference
from .binding import GRADIENTS, Floats, Results, backward, draw_inputs, forward

OFF = 1e-4
"""Error over the largest entry of the reference's: two honest float32 results stay thirty times below, float16 is five
times above."""
IDENTITY = """
import numpy as np

def forward(x, gamma, beta, eps):
    return x, gamma

def backward(dy, gamma):
    return dy, gamma, gamma

def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    return False
"""


class Backward:
    """One forward in each process, then a backward with a fresh dy in every call, in float32."""

    def __init__(self, draw: Draw, B: int, T: int, D: int) -> None:
        self.random = draw
        self.given = draw_inputs(draw, B, T, D, "float32")
        xhat, rstd = oracle.statistics(self.given.x, self.given.eps)
        self.cache = {"xhat": xhat, "rstd": rstd, "gamma": self.given.gamma}
        self.cache = {name: values.astype(np.float32) for name, values in self.cache.items()}
        self.differences = np.empty(self.given.x.size, np.float32)  # new pages for each output would cost more than it

    def prepare(self, answer: Answer) -> Any:
        return forward(answer, self.given)[1]

    def draw(self) -> tuple[Floats, tuple[Floats, ...]]:
        """dy, and the gradients that the reference gives for it, in float32: both are drawn anew for every call."""
        dy = self.random.rng.random(self.given.x.shape, np.float32) - np.float32(0.5)
        return dy, reference.backward(dy, self.cache)

    def call(self, answer: Answer, prepared: Any, given: tuple[Floats, tuple[Floats, ...]]) -> Results:
        return backward(answer, given[0], prepared)

    def verify(self, given: tuple[Floats, tuple[Floats, ...]], output: Results) -> None:
        for name, got, exact in zip(GRADIENTS, output[1:], given[1], strict=True):
            differences = self.differences[: exact.size].reshape(exact.shape)
            np.abs(np.subtract(got, exact, out=differences), out=differences)
            off = float(differences.max() / max(exact.max(), -exact.min()))
            if not off <= OFF:
                seen, most = distinct(off, OFF, 3)
                detail = f"off by {seen} of its largest entry, at most {most} passes"
                raise ProbeFailure(f"{name} is wrong while it is timed", detail)


@probe(B=4, T=512, D=256, fixed=("B", "T", "D"), traced=False, races=True, measures=True)
def backward_keeps_up_with_the_reference(answer: Answer, draw: Draw, *, B: int, T: int, D: int) -> Partial:
    """Time of backward over the reference's: full credit up to the same time, then one over the ratio."""
    return compare_speed(answer, lambda: Backward(draw, B, T, D), Path(reference.__file__), IDENTITY)
