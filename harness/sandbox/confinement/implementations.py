"""The sandbox implementation of each tier."""

from collections.abc import Callable, Mapping

from harness.model import Tier
from harness.sandbox.confinement.bubblewrap import Bubblewrap
from harness.sandbox.confinement.landlock import Landlock, Unprotected
from harness.sandbox.confinement.protocol import Sandbox

_IMPLEMENTATIONS: Mapping[Tier, Callable[[], Sandbox]] = {
    Tier.A: lambda: Bubblewrap(Tier.A, grouped=True),
    Tier.B: lambda: Bubblewrap(Tier.B, grouped=False),
    Tier.C: Landlock,
    Tier.UNSAFE: Unprotected,
}


def new_sandbox(tier: Tier) -> Sandbox:
    """Return an unprepared sandbox of `tier`."""
    return _IMPLEMENTATIONS[tier]()
