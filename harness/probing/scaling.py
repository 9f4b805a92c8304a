"""Growth of cost with size, from the worker's processor clock read outside it."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


@contextmanager
def alone() -> Iterator[None]:
    """Keep other timings of this user on this machine out for the length of the block."""
    with FileLock(Path(tempfile.gettempdir()) / f"harness-timing-{os.getuid()}.lock"):
        yield


def timings(measure: Callable[[int], float], sizes: Sequence[int], *, repeats: int = 5) -> dict[int, list[float]]:
    """Repeated costs by size, sizes interleaved so that a slow moment touches all of them.

    Args:
        measure: cost in seconds of one call at that size.
        sizes: what to measure at.
        repeats: rounds after one that is thrown away.
    """
    costs: dict[int, list[float]] = {size: [] for size in sizes}
    with alone():
        for round_ in range(repeats + 1):
            for size in sizes:
                cost = measure(size)
                if round_:
                    costs[size].append(cost)
    return costs
