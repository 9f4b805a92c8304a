"""The tiers that tests run in; one that does not work on this machine is skipped with its reason.

`python -m tests.tiers_here` prints those that work.
"""

from collections.abc import Iterable

import pytest

from harness.model import Tier
from harness.sandbox.session.tiers import why_not
from tests import shares


def _param(tier: Tier) -> object:
    reason = why_not(tier)
    missing = pytest.mark.skipif(reason is not None, reason=f"no tier {tier}: {reason}")
    return pytest.param(tier, id=f"tier_{tier}", marks=[missing])


def _drawn(tiers: Iterable[Tier], test: str = "") -> list[Tier]:
    """The strongest of `tiers` that works here and one of the others, or all of them; with those that do not work."""
    works, fails = [], []
    for tier in tiers:
        (fails if why_not(tier) else works).append(tier)
    if not shares.everything() and len(works) > 2:
        drawn = shares.share([f"{tier} {test}" for tier in works[1:]], len(works) - 1)
        works[1:] = [Tier(name.partition(" ")[0]) for name in drawn]
    return [*works, *fails]


def drawn_for(test: str) -> list[object]:
    """The tiers that one test runs in: every run sees every tier in some of its tests."""
    return [_param(tier) for tier in _drawn(Tier, test)]


NAMESPACED = (Tier.A, Tier.B)
"""Tiers in which an answer has files, processes and a network of its own."""
HELD = [_param(tier) for tier in _drawn((Tier.A, Tier.B, Tier.C))]
"""Tiers that hold hostile code: the strongest and one of the others; another for other commits."""
ONE = shares.share([tier for tier in (Tier.A, Tier.B, Tier.C) if why_not(tier) is None], 3)
"""One that works, for what does not depend on the tier; another for other commits."""
TIERS = [*HELD, _param(Tier.UNSAFE)]
"""Those, and that without isolation."""

if __name__ == "__main__":
    print(*(tier for tier in (Tier.A, Tier.B, Tier.C) if why_not(tier) is None))
