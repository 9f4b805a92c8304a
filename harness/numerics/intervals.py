"""Confidence intervals of shares."""

import math
from typing import NamedTuple

NORMAL_95 = 1.959963984540054
"""Standard deviations around the mean that contain 95 % of a normal distribution."""


class ShareInterval(NamedTuple):
    """Limits of a share."""

    low: float
    high: float


def share_interval(hits: int, count: int) -> ShareInterval:
    """Return Wilson's 95 % score interval for `hits` of `count`.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212. It keeps
    its coverage near 1 (L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion, Statistical
    Science 16 (2001) 101-133).

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
