"""Randomly drawn sizes, concentrated where optimised code goes wrong.

A drawn size is log-uniform over its range, or moved: to powers of two, primes, sizes that no unrolling divides, and
integers in the submission's source and their multiples.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from harness.model import Figure

T = TypeVar("T")

Case = Mapping[str, Figure]
DRAW = "draw"
"""Setting that holds the number of a drawn case; with the seed it determines the inputs."""
SMALLEST_SHARE = 1 / 256
"""Smallest fraction of the cost limit that bounds the other sizes of a case: most draws are small and quick."""

LITERAL_SHARE = 1 / 3
"""Fraction of drawn sizes near an integer of the submission's source, if the range holds any."""

COVERED = 16
"""Default of `Drawn.covered`."""

LARGE_SHARE = 0.1
"""Part of a size's range, on its logarithmic scale, that holds the largest values."""

FULL = 7
"""Period of the draws that are as large as a case may be."""


@dataclass(frozen=True)
class Axis:
    """A drawn size in low..high, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(f"an axis runs from 0 or more up, not {self.low}..{self.high}")

    def clipped(self, size: float) -> int:
        """Return the nearest size in range."""
        return int(min(max(round(size), self.low), self.high))


def _cost_nothing(**sizes: int) -> float:
    return 0.0


@dataclass(frozen=True)
class Drawn:
    """A recipe for drawn cases.

    Attributes:
        count: number of cases in a full grade.
        cost: cost of a case by its sizes, such as the number of elements touched.
        most: largest cost of a case.
        choices: settings drawn evenly, plainest first.
        brief: `most` in brief, if smaller.
        in_large: true to start with a case per size in which that size is one of the largest.
        salt: seed of the order of their settings.
        adjust: changes drawn sizes to ones that the answer can handle.
        covered: most values of a setting for brief draws to take all of them.
        in_turn: first of the sizes that follow one another in every second case, so that each number divides some; or
            0, and all are drawn.
    """

    axes: Mapping[str, Axis]
    count: int
    cost: Callable[..., float] = _cost_nothing
    most: float = 0.0
    choices: Mapping[str, tuple[Figure, ...]] = field(default_factory=dict)
    brief: float | None = None
    in_large: bool = False
    salt: int = 0
    adjust: Callable[..., Mapping[str, int]] = dict
    covered: int = COVERED
    in_turn: int = 0

    def in_brief(self) -> "Drawn":
        """Return a recipe of one large case per size, then small ones until the settings have taken all values."""
        values = (len(given) for given in self.choices.values() if len(given) <= self.covered)
        return replace(self, count=max(len(self.axes), *values, 1), most=self.brief or self.most, in_large=True)

    def case(self, index: int, rng: np.random.Generator, literals: Collection[int], most: float) -> dict[str, Figure]:
        """Draw case `index`, which costs at most `most`.

        Each size leads in turn; the leading size shrinks last in a case that costs too much, and so covers its range.
        Settings take all their values before one repeats.
        """
        leading = list(self.axes)[index % len(self.axes)]
        places = {name: float(rng.uniform()) for name in self.axes}
        part, parts = self._choose_part(index, leading)
        places[leading] = (part + places[leading]) / parts
        large = self.in_large and index < len(self.axes)
        if large:
            places[leading] = 1 - LARGE_SHARE * (1 - places[leading])
        # otherwise a source with many integers could pull every draw of the largest sizes down to one of them
        free = large or 0 < part == parts - 1
        near = {name: () if free and name == leading else literals for name in self.axes}
        most = most if large or not self.in_large else most * SMALLEST_SHARE
        sizes = {name: _draw_size(axis, places[name], rng, near[name]) for name, axis in self.axes.items()}
        self._fit(
            sizes,
            [name for name in rng.permutation(list(sizes)) if name != leading],
            most * SMALLEST_SHARE ** rng.uniform(0, 1),
            rng,
        )
        self._fit(sizes, [leading], most, rng)
        if index % FULL == FULL - 1:
            self._fill(sizes, leading, most * rng.uniform(0.5, 1), rng)
        if self.in_turn and index % 2:
            sizes[leading] = self.axes[leading].clipped(self.in_turn + index // 2)
        dealt = {name: _deal(values, index, name, self.salt) for name, values in self.choices.items()}
        return {**self.adjust(**sizes), **dealt, DRAW: index}

    def _choose_part(self, index: int, name: str) -> tuple[int, int]:
        parts = max(1, len(range(list(self.axes).index(name), self.count, len(self.axes))))
        order = np.random.default_rng([*name.encode()]).permutation(parts)
        return int(order[index // len(self.axes) % parts]), parts

    def neighbours(self, case: Case) -> list[Case]:
        """Return the cases with every number one step up and with every size halved."""
        further = {name: axis.clipped(int(case[name]) + 1) for name, axis in self.axes.items()}
        for name, values in self.choices.items():
            if isinstance(case[name], int):
                further[name] = int(values[(values.index(case[name]) + 1) % len(values)])
        half = {name: axis.clipped(int(case[name]) // 2) for name, axis in self.axes.items()}
        return [like_it for like_it in ({**case, **further}, {**case, **half}) if like_it != case]

    def cost_of(self, case: Case) -> float:
        """Return the cost of a case."""
        return self.cost(**{name: case[name] for name in self.axes})

    @property
    def least(self) -> float:
        """Cost of the smallest case."""
        return self.cost(**{name: axis.low for name, axis in self.axes.items()})

    def _fit(self, sizes: dict[str, int], names: Sequence[str], most: float, rng: np.random.Generator) -> None:
        for name in names:
            while self.cost(**sizes) > most and sizes[name] > self.axes[name].low:
                # a round factor would leave sizes with the divisors of those drawn
                sizes[name] = self.axes[name].clipped(sizes[name] * rng.uniform(0.4, 0.9) - 1)

    def _fill(self, sizes: dict[str, int], leading: str, most: float, rng: np.random.Generator) -> None:
        for name in rng.permutation([name for name in self.axes if name != leading]):
            while self.cost(**sizes) < most and sizes[name] < self.axes[name].high:
                before = sizes[name]
                sizes[name] = self.axes[name].clipped(before * rng.uniform(1.1, 1.6) + 1)
                if self.cost(**sizes) > most:
                    sizes[name] = before
                    break


def _deal(values: tuple[Figure, ...], index: int, name: str, salt: int) -> Figure:
    round_, place = divmod(index, len(values))
    order = np.random.default_rng([round_, *name.encode(), *([salt] if salt else [])]).permutation(len(values))
    return values[int(order[place])]


def _draw_size(axis: Axis, place: float, rng: np.random.Generator, literals: Collection[int]) -> int:
    low, high = np.log(max(axis.low, 1) - 0.5), np.log(axis.high + 0.5)
    anywhere = float(np.exp(low + place * (high - low)))
    near = sorted(n for n in literals if axis.low <= n <= axis.high and n > 1)
    if near and rng.uniform() < LITERAL_SHARE:
        return axis.clipped(_draw_around_literal(near, rng))
    pull = _choose((_keep_size, _move_to_power, _move_to_prime, _move_to_uneven), rng)
    return axis.clipped(pull(anywhere, rng))


def _choose(items: Sequence[T], rng: np.random.Generator) -> T:
    return items[int(rng.integers(len(items)))]


def _keep_size(size: float, rng: np.random.Generator) -> float:
    return size


def _move_to_power(size: float, rng: np.random.Generator) -> float:
    return float(2 ** round(np.log2(size)) + rng.integers(-1, 2))


def _move_to_prime(size: float, rng: np.random.Generator) -> float:
    start = max(round(size), 2)
    return float(next(n for n in range(start, 2 * start + 1) if _is_prime(n)))


def _move_to_uneven(size: float, rng: np.random.Generator) -> float:
    unit = _choose((4, 8, 32), rng)
    return float(round(size) // unit * unit + rng.integers(1, unit))


def _draw_around_literal(near: Sequence[int], rng: np.random.Generator) -> float:
    return float(_choose(near, rng) * _choose((1, 1, 1, 2, 3), rng) + _choose((-1, 0, 1, 1), rng))


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))
