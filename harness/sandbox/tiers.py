"""Which isolation this machine offers, found by trying it."""

import os
from functools import cache

from harness.errors import BoxError, PrerequisiteError
from harness.model import Tier
from harness.sandbox.fork_server import trial
from harness.sandbox.implementations import new_sandbox

FORCED = "HARNESS_TIER"
"""Environment variable that names the tier to use, for showing what a weaker one does."""
PERMITTED = "HARNESS_UNSAFE"
"""Environment variable that permits grading without isolation."""


@cache
def detect() -> Tier:
    """The tier to use: the one that HARNESS_TIER names, or the strongest that works here.

    Raises:
        PrerequisiteError: none works, or the one named does not.
    """
    forced = os.environ.get(FORCED)
    if forced:
        if forced not in Tier.__members__.values():
            raise PrerequisiteError(f"{FORCED}={forced!r} names no tier; they are {', '.join(Tier)}")
        tier = Tier(forced)
        reason = why_not(tier)
        if reason:
            raise PrerequisiteError(
                f"{FORCED}={forced}: tier {forced} does not work here: {reason}\n  try: harness doctor"
            )
        return tier
    reasons = []
    for tier in (tier for tier in Tier if tier.trusted):
        reason = why_not(tier)
        if reason is None:
            return tier
        reasons.append(f"  tier {tier}: {reason}")
    if os.environ.get(PERMITTED):
        return Tier.UNSAFE
    raise PrerequisiteError(
        "nothing here can hold untrusted code:\n" + "\n".join(reasons) + "\n  try: install the package `bubblewrap`; "
        "`harness doctor` says more; `--unsafe` grades without isolation and marks the records as untrusted"
    )


@cache
def why_not(tier: Tier) -> str | None:
    """None when `tier` works here, else the reason in a line; found by starting a worker in it."""
    if missing := new_sandbox(tier).missing():
        return missing
    try:
        trial(tier)
    except (BoxError, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    return None
