"""The isolation that this machine offers."""

import os
from functools import cache

from harness.errors import BoxError, PrerequisiteError
from harness.model import Tier, TierChoice, UnusedCause, UnusedTier
from harness.sandbox.confinement.implementations import new_sandbox
from harness.sandbox.session.fork_server import trial

FORCED = "HARNESS_TIER"
"""Environment variable that names the tier to use, to demonstrate a weaker one."""
PERMITTED = "HARNESS_UNSAFE"
"""Environment variable that permits grading without isolation."""
CHOSEN = "HARNESS_TIER_CHOSEN"
"""Environment variable with another process's choice, as JSON."""


def detect() -> Tier:
    """Return the tier in HARNESS_TIER, or else the strongest that works.

    Raises:
        PrerequisiteError: no tier works, or the named one does not.
    """
    return choose().tier


@cache
def choose() -> TierChoice:
    """Choose a tier like `detect`, with the reason against each stronger one.

    Raises:
        PrerequisiteError: see `detect`.
    """
    if chosen := os.environ.get(CHOSEN):
        return TierChoice.model_validate_json(chosen)
    forced = os.environ.get(FORCED)
    if forced:
        return _choose_forced(forced)
    unused: list[UnusedTier] = []
    for tier in (tier for tier in Tier if tier.trusted):
        failure = unusable(tier)
        if failure is None:
            return TierChoice(tier=tier, unused=tuple(unused))
        unused.append(failure)
    if os.environ.get(PERMITTED):
        return TierChoice(tier=Tier.UNSAFE, unused=tuple(unused))
    reasons = "".join(f"  tier {one.tier}: {one.reason}\n" for one in unused)
    raise PrerequisiteError(
        f"nothing here can hold untrusted code:\n{reasons}  try: harness doctor, which says what to do; "
        "`--unsafe` grades without isolation and marks the records as untrusted"
    )


def _choose_forced(name: str) -> TierChoice:
    if name not in Tier.__members__.values():
        raise PrerequisiteError(f"{FORCED}={name!r} names no tier; they are {', '.join(Tier)}")
    tier = Tier(name)
    if reason := why_not(tier):
        raise PrerequisiteError(f"{FORCED}={name}: tier {name} does not work here: {reason}\n  try: harness doctor")
    stronger = list(Tier)[: list(Tier).index(tier)]
    return TierChoice(tier=tier, unused=tuple(_describe_not_named(one, f"{FORCED}={name}") for one in stronger))


def _describe_not_named(tier: Tier, named: str) -> UnusedTier:
    missing = new_sandbox(tier).missing()
    cause = UnusedCause.ABSENT if missing else UnusedCause.NOT_NAMED
    return UnusedTier(tier=tier, cause=cause, reason=missing or f"{named} names a weaker one")


@cache
def unusable(tier: Tier) -> UnusedTier | None:
    """Try a worker in `tier`; return why it fails, or None."""
    if missing := new_sandbox(tier).missing():
        return UnusedTier(tier=tier, cause=UnusedCause.ABSENT, reason=missing)
    try:
        trial(tier)
    except (BoxError, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return UnusedTier(tier=tier, cause=UnusedCause.FAILED, reason=reason)
    return None


def why_not(tier: Tier) -> str | None:
    """Return in one line why `tier` fails, or None."""
    failure = unusable(tier)
    return failure.reason if failure else None
