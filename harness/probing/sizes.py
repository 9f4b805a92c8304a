"""Sizes that are drawn: where optimised code goes wrong, and nobody chose them.

A drawn size is log-uniform over its range, or pulled to where code changes its way of working: around powers of two,
primes, what no unrolling divides, and around the integers that the answer's own source names, their multiples included.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from harness.model import Figure

T = TypeVar("T")

Case = Mapping[str, Figure]
DRAW = "draw"
"""The number of a drawn case, among its settings: with the seed it gives the inputs."""
SMALLEST_SHARE = 1 / 256
"""Of the most that a case may cost, the least that its other sizes are held to: most draws are small and quick."""

LITERAL_SHARE = 1 / 3
"""Of the sizes drawn, those near an integer of the answer's source, where it names any of the range."""

COVERED = 16
"""What `Drawn.covered` is where a probe does not say otherwise."""

LARGE_SHARE = 0.1
"""Of the range of a size, on its logarithmic scale, the part that holds the largest."""

FULL = 7
"""Every so many draws one is as large as a case may be."""


@dataclass(frozen=True)
class Axis:
    """A size that is drawn: low..high, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(f"an axis runs from 0 or more up, not {self.low}..{self.high}")

    def clipped(self, size: float) -> int:
        """The size in range that is nearest."""
        return int(min(max(round(size), self.low), self.high))


def _no_cost(**sizes: int) -> float:
    return 0.0


@dataclass(frozen=True)
class Drawn:
    """How the cases of a probe are drawn.

    Attributes:
        axes: sizes by name.
        count: cases of a full grade.
        cost: what a case costs, of its sizes; numbers touched will do.
        most: the most that a case may cost.
        choices: settings drawn evenly, the plainest first.
        brief: the most that a case may cost in brief, where that is less.
        in_large: whether the leading size of the first cases, one for each size, is one of the largest.
        salt: what the settings of such draws are dealt by.
        adjust: changes the sizes drawn so that the answer can bear them, where less than a bound on the cost does.
        covered: values of a setting up to which a brief draw has each of them once.
    """

    axes: Mapping[str, Axis]
    count: int
    cost: Callable[..., float] = _no_cost
    most: float = 0.0
    choices: Mapping[str, tuple[Figure, ...]] = field(default_factory=dict)
    brief: float | None = None
    in_large: bool = False
    salt: int = 0
    adjust: Callable[..., Mapping[str, int]] = dict
    covered: int = COVERED

    def in_brief(self) -> "Drawn":
        """The same with few cases: one for each size, in which that size is one of the largest, and then as many small
        ones as it takes for every setting of a few values to have each of them once."""
        values = (len(given) for given in self.choices.values() if len(given) <= self.covered)
        return replace(self, count=max(len(self.axes), *values, 1), most=self.brief or self.most, in_large=True)

    def case(self, index: int, rng: np.random.Generator, literals: Collection[int], most: float) -> dict[str, Figure]:
        """The case of one draw.

        Each size is the leading one in turn: where a case would cost too much the others shrink, the leading one only
        where it alone would cost too much, so that every size meets its whole range. Settings go through all their
        values before one comes again.

        Args:
            index: of the draw, from 0 on.
            rng: of this draw alone.
            literals: integers in the answer's source.
            most: the most that the case may cost.
        """
        leading = list(self.axes)[index % len(self.axes)]
        places = {name: float(rng.uniform()) for name in self.axes}
        part, parts = self._part(index, leading)
        places[leading] = (part + places[leading]) / parts
        large = self.in_large and index < len(self.axes)
        if large:
            places[leading] = 1 - LARGE_SHARE * (1 - places[leading])
        # where the source names many integers, every draw of the largest sizes may be pulled down to one of them
        free = large or 0 < part == parts - 1
        near = {name: () if free and name == leading else literals for name in self.axes}
        most = most if large or not self.in_large else most * SMALLEST_SHARE
        sizes = {name: _size(axis, places[name], rng, near[name]) for name, axis in self.axes.items()}
        self._fit(sizes, [name for name in rng.permutation(list(sizes)) if name != leading],
                  most * SMALLEST_SHARE ** rng.uniform(0, 1), rng)  # fmt: skip
        self._fit(sizes, [leading], most, rng)
        if index % FULL == FULL - 1:
            self._fill(sizes, leading, most * rng.uniform(0.5, 1), rng)
        dealt = {name: _dealt(values, index, name, self.salt) for name, values in self.choices.items()}
        return {**self.adjust(**sizes), **dealt, DRAW: index}

    def _part(self, index: int, name: str) -> tuple[int, int]:
        """The part of its range that the leading size lies in, and how many parts it has: one for each of its turns,
        which together cover the range evenly."""
        parts = max(1, len(range(list(self.axes).index(name), self.count, len(self.axes))))
        order = np.random.default_rng([*name.encode()]).permutation(parts)
        return int(order[index // len(self.axes) % parts]), parts

    def neighbours(self, case: Case) -> list[Case]:
        """The case with every number one up, and that with half of every size, so far as there are such."""
        further = {name: axis.clipped(int(case[name]) + 1) for name, axis in self.axes.items()}
        for name, values in self.choices.items():
            if isinstance(case[name], int):
                further[name] = int(values[(values.index(case[name]) + 1) % len(values)])
        half = {name: axis.clipped(int(case[name]) // 2) for name, axis in self.axes.items()}
        return [like_it for like_it in ({**case, **further}, {**case, **half}) if like_it != case]

    def cost_of(self, case: Case) -> float:
        """What a case costs."""
        return self.cost(**{name: case[name] for name in self.axes})

    @property
    def least(self) -> float:
        """What the smallest case costs."""
        return self.cost(**{name: axis.low for name, axis in self.axes.items()})

    def _fit(self, sizes: dict[str, int], names: Sequence[str], most: float, rng: np.random.Generator) -> None:
        """Let sizes shrink, one after the other, until the case costs no more."""
        for name in names:
            while self.cost(**sizes) > most and sizes[name] > self.axes[name].low:
                # by no round factor, or the sizes left would be as even as those drawn
                sizes[name] = self.axes[name].clipped(sizes[name] * rng.uniform(0.4, 0.9) - 1)

    def _fill(self, sizes: dict[str, int], leading: str, most: float, rng: np.random.Generator) -> None:
        """Let the other sizes grow, one after the other, as far as the case may cost."""
        for name in rng.permutation([name for name in self.axes if name != leading]):
            while self.cost(**sizes) < most and sizes[name] < self.axes[name].high:
                before = sizes[name]
                sizes[name] = self.axes[name].clipped(before * rng.uniform(1.1, 1.6) + 1)
                if self.cost(**sizes) > most:
                    sizes[name] = before
                    break


def _dealt(values: tuple[Figure, ...], index: int, name: str, salt: int) -> Figure:
    """The value of one draw: every value once in a random order, then in another."""
    round_, place = divmod(index, len(values))
    order = np.random.default_rng([round_, *name.encode(), *([salt] if salt else [])]).permutation(len(values))
    return values[int(order[place])]


def _size(axis: Axis, place: float, rng: np.random.Generator, literals: Collection[int]) -> int:
    """One size: at a place of the range, log-uniformly, or pulled from there to where code changes its way."""
    low, high = np.log(max(axis.low, 1) - 0.5), np.log(axis.high + 0.5)
    anywhere = float(np.exp(low + place * (high - low)))
    near = sorted(n for n in literals if axis.low <= n <= axis.high and n > 1)
    if near and rng.uniform() < LITERAL_SHARE:
        return axis.clipped(_around_literal(near, rng))
    pull = _one((_nowhere, _to_power, _to_prime, _to_uneven), rng)
    return axis.clipped(pull(anywhere, rng))


def _one(items: Sequence[T], rng: np.random.Generator) -> T:
    return items[int(rng.integers(len(items)))]


def _nowhere(size: float, rng: np.random.Generator) -> float:
    return size


def _to_power(size: float, rng: np.random.Generator) -> float:
    return float(2 ** round(np.log2(size)) + rng.integers(-1, 2))


def _to_prime(size: float, rng: np.random.Generator) -> float:
    start = max(round(size), 2)
    return float(next(n for n in range(start, 2 * start + 1) if _is_prime(n)))


def _to_uneven(size: float, rng: np.random.Generator) -> float:
    """A multiple of 4, 8 or 32 with something left over."""
    unit = _one((4, 8, 32), rng)
    return float(round(size) // unit * unit + rng.integers(1, unit))


def _around_literal(near: Sequence[int], rng: np.random.Generator) -> float:
    return float(_one(near, rng) * _one((1, 1, 1, 2, 3), rng) + _one((-1, 0, 1, 1), rng))


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))
