"""How far published marks and measured ones agree, in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.scoring.agreement import LEAST_MODELS, Order, alpha, least_p, order

Pair = tuple[float, float]
"""A published mark and ours."""


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha over some units."""

    scope: str
    units: int
    alpha: float | None

    @property
    def told(self) -> str:
        """The figure, or why there is none."""
        if self.units == 0:
            return "nothing to compare"
        return "not defined: all marks are equal" if self.alpha is None else _coefficient(self.alpha)


@dataclass(frozen=True)
class Ordered:
    """Kendall's tau-b between the published and the measured order of models."""

    scope: str
    order: Order

    @property
    def tau(self) -> str:
        """The figure, or why there is none."""
        if self.order.tau is not None:
            return _coefficient(self.order.tau)
        few = self.order.models < LEAST_MODELS
        return "too few models" if few else "not defined: one side tells no models apart"

    @property
    def p(self) -> str:
        """The p-value and what it is worth."""
        if self.order.p is None:
            return "–"
        told = f"{self.order.p:.2g}" + ("" if self.order.counted else " (approximated)")
        if self.order.telling:
            return told
        models = self.order.models
        return f"{told}: says nothing, as even a perfect order of {models} models has {least_p(models):.2g}"


def agreement(scope: str, units: Iterable[Sequence[float]]) -> Agreement:
    """The agreement over units of two marks or more."""
    known = list(units)
    return Agreement(scope, len(known), alpha(known))


def ordered(scope: str, pairs: Iterable[Pair]) -> Ordered:
    """The agreement of two orders, from one pair a model."""
    known = list(pairs)
    return Ordered(scope, order([judged for judged, _ in known], [ours for _, ours in known]))


def orders(overalls: Sequence[tuple[str, Mapping[str, Pair]]]) -> tuple[Ordered, ...]:
    """The orders on each challenge and, where there are several, of the means.

    Args:
        overalls: titles of challenges, each with its pairs by model.
    """
    each = [ordered(title, pairs.values()) for title, pairs in overalls]
    if len(each) < 2:
        return tuple(each)
    # means over different challenges would compare challenges, not models
    everywhere = sorted(set.intersection(*(set(pairs) for _, pairs in overalls)))
    both = [[pairs[model] for _, pairs in overalls] for model in everywhere]
    return (*each, ordered("Mean of all", [(fmean(j for j, _ in own), fmean(o for _, o in own)) for own in both]))


def _coefficient(value: float) -> str:
    """Two decimals, with a sign that is no hyphen and never before nought."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
