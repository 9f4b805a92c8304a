"""Inputs drawn from a seed; the same order of draws gives the same inputs on every machine."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Draw:
    """A seeded source of inputs."""

    def __init__(self, seed: int, *names: str) -> None:
        self._turns = 0
        words = [seed >> 32 * i & 0xFFFFFFFF for i in range(max(1, -(-seed.bit_length() // 32)))]
        # same stream as for the list of seed and checksums, which NumPy converts more slowly
        entropy = np.array(words + [zlib.crc32(name.encode()) for name in names], np.uint32)
        self._first_turn = zlib.crc32(entropy.tobytes())
        self.rng = np.random.default_rng(entropy)

    def turn(self) -> int:
        """Return a number determined by the seed and the count of `turn` calls."""
        self._turns += 1
        return self._first_turn + self._turns

    def normal(self, *shape: int, dtype: str = "float64", mean: float = 0.0, std: float = 1.0) -> Array:
        """Draw normal numbers."""
        drawn = self.rng.standard_normal(shape)
        if mean != 0.0 or std != 1.0:
            drawn = mean + std * drawn
        return drawn.astype(dtype, copy=False)

    def uniform(self, *shape: int, dtype: str = "float64", low: float = -1.0, high: float = 1.0) -> Array:
        """Draw uniform numbers from [low, high)."""
        return self.rng.uniform(low, high, shape).astype(dtype)

    def grid(self, *shape: int, dtype: str = "float64", bits: int = 20, span: float = 2.0) -> Array:
        """Draw multiples of 2^-bits in [-span, span], whose sums with small powers of two are exact."""
        steps = int(span * 2**bits)
        return (self.rng.integers(-steps, steps + 1, shape) / 2.0**bits).astype(dtype)

    def signs(self, *shape: int, dtype: str = "float64") -> Array:
        """Draw +1 or -1 for each entry."""
        return (self.rng.integers(0, 2, shape) * 2 - 1).astype(dtype)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Draw a permutation of 0..n-1, never the identity if n > 1."""
        order = self.rng.permutation(n)
        return np.roll(order, 1) if n > 1 and bool((order == np.arange(n)).all()) else order

    def integers(self, *shape: int, low: int, high: int, dtype: str = "int64") -> Array:
        """Draw integers from low..high, both included; booleans from 0..1."""
        return self.rng.integers(low, high, shape, np.dtype(dtype), endpoint=True)

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from low..high, both included."""
        return int(self.rng.integers(low, high + 1))
