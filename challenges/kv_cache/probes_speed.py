"""Probe of speed: a decode against the reference's."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.numerics import distinct
from harness.probing import Answer, Draw, Partial, ProbeFailure, probe
from harness.probing.speed import compare_speed

from . import reference
from .binding import HALF, Cache, Floats, Tokens, is_near

OFF = 1e-4
"""Error over the largest exact entry: honest float32 stays a hundred times below, float16 is five times above."""
ROOM = 512
"""Tokens that follow a prompt at most, one a call."""
IDENTITY = """
import numpy as np

def create_cache(**sizes):
    return sizes

def prefill(cache, layer, slots, q, k, v, lengths):
    return None

def decode(cache, layer, slots, q, k, v):
    return v

def release(cache, slot):
    return None
"""


@dataclass(frozen=True)
class Step:
    """One token a sequence, and what its attention comes to in float64."""

    tokens: Tokens
    exact: Floats


class Decode:
    """One prompt in each process, then a decode of a fresh token a sequence in every call, in float32."""

    def __init__(self, draw: Draw, B: int, H: int, n: int, D: int) -> None:
        self.random = draw
        self.prompt = self._tokens(B, H, n, D)
        self.slots = draw.permutation(B).tolist()
        self.length = n
        # as keys and values of all heads of all sequences, with room for what follows
        self.keys, self.values = (np.zeros((B, H, n + ROOM, D)) for _ in range(2))
        self.keys[:, :, :n], self.values[:, :, :n] = self.prompt.k, self.prompt.v

    def prepare(self, answer: Answer) -> Cache:
        cache = Cache(answer, self.prompt, slots=len(self.slots), room=self.length + ROOM)
        cache.store(self.slots, self.prompt)
        return cache

    def draw(self) -> Step:
        B, H, _, D = self.prompt.q.shape
        tokens = self._tokens(B, H, 1, D)
        self.keys[:, :, self.length], self.values[:, :, self.length] = tokens.k[:, :, 0], tokens.v[:, :, 0]
        self.length += 1
        keys, values = self.keys[:, :, : self.length], self.values[:, :, : self.length]
        scores = (keys @ tokens.q.astype(np.float64).swapaxes(-1, -2))[..., 0] / np.sqrt(D)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return Step(tokens, weights[:, :, None] @ values)

    def call(self, answer: Answer, prepared: Cache, given: Step) -> Floats:
        output: Floats = prepared.decode(self.slots, given.tokens)
        return output

    def verify(self, given: Step, output: Floats) -> None:
        off = float(np.abs(output - given.exact).max() / np.abs(given.exact).max())
        if not off <= OFF:
            seen, most = distinct(off, OFF, 3)
            detail = f"off by {seen} of its largest entry, at most {most} passes"
            digits = is_near(output, given.exact, HALF)
            raise ProbeFailure("a decode is wrong while it is timed", detail, fault_of="accuracy" if digits else "")

    def _tokens(self, B: int, H: int, n: int, D: int) -> Tokens:
        return Tokens(*(self.random.uniform(B, H, n, D, dtype="float32", low=-2, high=2) for _ in range(3)))


@probe(B=2, H=4, n=256, D=64, fixed=("B", "H", "n", "D"), traced=False, races=True, measures=True)
def a_decode_keeps_up_with_the_reference(answer: Answer, draw: Draw, *, B: int, H: int, n: int, D: int) -> Partial:
    """Time of a decode over the reference's: full credit up to the same time, then one over the ratio."""
    return compare_speed(answer, lambda: Decode(draw, B, H, n, D), Path(reference.__file__), IDENTITY)
