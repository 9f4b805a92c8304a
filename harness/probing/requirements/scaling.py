"""Growth of cost with size, by the worker's processor clock, read from outside."""

import math
from collections.abc import Callable, Mapping, Sequence

from harness.model import Figure
from harness.numerics import Exponent
from harness.numerics.scaling import QUADRATIC
from harness.probing.failures import NotRun, ProbeFailure
from harness.timing.exclusive import timing_lock


def timings(measure: Callable[[int], float], sizes: Sequence[int], *, repeats: int = 5) -> dict[int, list[float]]:
    """Return repeated costs by size, measured in turns, so that a slow moment affects all sizes.

    Args:
        measure: returns the cost of one call at a size, in seconds.
        repeats: rounds after a discarded one.
    """
    costs: dict[int, list[float]] = {size: [] for size in sizes}
    with timing_lock():
        for round_ in range(repeats + 1):
            for size in sizes:
                cost = measure(size)
                if round_:
                    costs[size].append(cost)
    return costs


def require_subquadratic(fits: Sequence[Exponent], title: str, what: str, figures: Mapping[str, Figure]) -> None:
    """Require a cost to grow less than quadratically.

    Args:
        what: text before the exponent: "... grows as tokens".

    Raises:
        ProbeFailure: the whole interval of every fit is quadratic or above.
        NotRun: the fits decide neither.
    """
    known = [fit for fit in fits if math.isfinite(fit.value)]
    if not known:
        raise NotRun(f"growth cannot be estimated: {fits[0].reason}")
    best = min(known, key=lambda fit: fit.high)
    seen = f"{what}^{best.value:.2f}, between {best.low:.2f} and {best.high:.2f}"
    if best.high < QUADRATIC[0]:
        return
    if all(fit.low >= QUADRATIC[0] for fit in known):
        raise ProbeFailure(title, seen, measured=dict(figures))
    raise NotRun(f"the machine was too busy to tell: {seen}")
