"""How sure a share is that was counted in a sample."""

import math
from typing import NamedTuple

NORMAL_95 = 1.959963984540054
"""The normal distribution holds 95 % within so many deviations."""


class ShareInterval(NamedTuple):
    """A lower and an upper limit."""

    low: float
    high: float


def share_interval(hits: int, count: int) -> ShareInterval:
    """The 95 % interval of a share of which `hits` of `count` were seen: Wilson's score interval.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212. It
    keeps its coverage where nearly all hit (L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial
    proportion, Statistical Science 16 (2001) 101-133).

    Raises:
        ValueError: not 0 <= hits <= count.
    """
    if not 0 <= hits <= count:
        raise ValueError(f"{hits} of {count} is no share")
    if count == 0:
        return ShareInterval(0.0, 1.0)
    z2, share = NORMAL_95**2, hits / count
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = NORMAL_95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return ShareInterval(0.0 if hits == 0 else middle - half, 1.0 if hits == count else middle + half)
