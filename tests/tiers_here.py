"""The tiers that tests run in: every one that works on this machine; what does not is skipped with its reason."""

import pytest

from harness.box.tiers import Tier, why_not


def _param(tier: Tier) -> object:
    reason = why_not(tier)
    missing = pytest.mark.skipif(reason is not None, reason=f"no tier {tier}: {reason}")
    return pytest.param(tier, id=f"tier_{tier}", marks=[missing])


HELD = [_param(tier) for tier in (Tier.A, Tier.B, Tier.C)]
"""The tiers that hold hostile code."""
TIERS = [*HELD, pytest.param(Tier.UNSAFE, id="unsafe")]
"""All of them, that without isolation included."""
