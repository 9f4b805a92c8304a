"""The tiers that tests run in; one that does not work on this machine is skipped with its reason.

`python -m tests.tiers_here` prints those that work.
"""

import pytest

from harness.model import Tier
from harness.sandbox.tiers import why_not
from tests import shares


def _param(tier: Tier) -> object:
    reason = why_not(tier)
    missing = pytest.mark.skipif(reason is not None, reason=f"no tier {tier}: {reason}")
    return pytest.param(tier, id=f"tier_{tier}", marks=[missing])


def _chosen() -> tuple[Tier, ...]:
    """The strongest with namespaces and the one without; all three in a run of everything."""
    if shares.everything():
        return Tier.A, Tier.B, Tier.C
    return (Tier.B if why_not(Tier.A) else Tier.A), Tier.C


NAMESPACED = (Tier.A, Tier.B)
"""Tiers in which an answer has files, processes and a network of its own."""
HELD = [_param(tier) for tier in _chosen()]
"""Tiers that hold hostile code."""
ONE = shares.share([tier for tier in _chosen() if why_not(tier) is None], 3)
"""One that works, for what does not depend on the tier; another for other commits."""
TIERS = [*HELD, pytest.param(Tier.UNSAFE, id="unsafe")]
"""Those, and that without isolation."""

if __name__ == "__main__":
    print(*(tier for tier in (Tier.A, Tier.B, Tier.C) if why_not(tier) is None))
