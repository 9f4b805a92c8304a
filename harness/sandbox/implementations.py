"""Which implementation holds an answer in which tier."""

from collections.abc import Callable, Mapping

from harness.model import Tier
from harness.sandbox.bubblewrap import Bubblewrap
from harness.sandbox.landlock import Landlock, Unprotected
from harness.sandbox.protocol import Sandbox

_IMPLEMENTATIONS: Mapping[Tier, Callable[[], Sandbox]] = {
    Tier.A: lambda: Bubblewrap(Tier.A, grouped=True),
    Tier.B: lambda: Bubblewrap(Tier.B, grouped=False),
    Tier.C: Landlock,
    Tier.UNSAFE: Unprotected,
}


def new_sandbox(tier: Tier) -> Sandbox:
    """A sandbox of `tier`, not prepared yet."""
    return _IMPLEMENTATIONS[tier]()
