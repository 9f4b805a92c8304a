"""Growth of cost with size, from the worker's processor clock read outside it."""

import math
from collections.abc import Callable, Mapping, Sequence

from harness.model import Figure
from harness.numerics import Exponent
from harness.numerics.scaling import QUADRATIC
from harness.probing.failures import NotRun, ProbeFailure
from harness.timing.exclusive import timing_lock


def timings(measure: Callable[[int], float], sizes: Sequence[int], *, repeats: int = 5) -> dict[int, list[float]]:
    """Repeated costs by size, sizes interleaved so that a slow moment touches all of them.

    Args:
        measure: cost in seconds of one call at that size.
        sizes: what to measure at.
        repeats: rounds after one that is thrown away.
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
    """A cost seen not to grow quadratically passes, one seen to do so in every fit fails.

    Args:
        fits: of the same cost, measured once or several times.
        title: the fault in a phrase, if it grows too fast.
        what: what grows with what, for the message: "... grows as tokens".
        figures: measured.

    Raises:
        ProbeFailure: every fit's whole interval is quadratic or above.
        NotRun: the fits tell neither.
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
