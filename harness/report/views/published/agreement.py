"""Agreement of published and measured marks: the rows of two tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.scoring.agreement import LEAST_MODELS, Order, alpha, least_p, order

Pair = tuple[float, float]
"""A published and a measured mark."""


@dataclass(frozen=True)
class AlphaRow:
    """Krippendorff's alpha over some units."""

    scope: str
    units: int
    alpha: float | None

    @property
    def value(self) -> str:
        """Coefficient, or why it is missing."""
        if self.units == 0:
            return "nothing to compare"
        return "not defined: all marks are equal" if self.alpha is None else _coefficient(self.alpha)


@dataclass(frozen=True)
class TauRow:
    """Kendall's tau-b between the published and the measured order."""

    scope: str
    order: Order

    @property
    def tau(self) -> str:
        """Coefficient, or why it is missing."""
        if self.order.tau is not None:
            return _coefficient(self.order.tau)
        few = self.order.models < LEAST_MODELS
        return "too few models" if few else "not defined: one side tells no models apart"

    @property
    def p(self) -> str:
        """P-value, with a warning if it cannot be small."""
        if self.order.p is None:
            return "–"
        text = f"{self.order.p:.2g}" + ("" if self.order.counted else " (approximated)")
        if self.order.telling:
            return text
        models = self.order.models
        return f"{text}: says nothing, as even a perfect order of {models} models has {least_p(models):.2g}"


def alpha_row(scope: str, units: Iterable[Sequence[float]]) -> AlphaRow:
    """Compute the agreement over units of two marks or more."""
    known = list(units)
    return AlphaRow(scope, len(known), alpha(known))


def tau_row(scope: str, pairs: Iterable[Pair]) -> TauRow:
    """Compute the agreement of two orders, from a pair per model."""
    known = list(pairs)
    return TauRow(scope, order([judged for judged, _ in known], [measured for _, measured in known]))


def tau_rows(overalls: Sequence[tuple[str, Mapping[str, Pair]]]) -> tuple[TauRow, ...]:
    """Compute the agreement of orders on each challenge and, with several, of the means.

    Args:
        overalls: titles of challenges, each with pairs by model.
    """
    each = [tau_row(title, pairs.values()) for title, pairs in overalls]
    if len(each) < 2:
        return tuple(each)
    # means over different challenges would compare challenges, not models
    everywhere = sorted(set.intersection(*(set(pairs) for _, pairs in overalls)))
    both = [[pairs[model] for _, pairs in overalls] for model in everywhere]
    return (*each, tau_row("Mean of all", [(fmean(j for j, _ in own), fmean(o for _, o in own)) for own in both]))


def _coefficient(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
