"""The choice of a tier, with the reasons against stronger ones."""

from collections.abc import Iterable
from enum import StrEnum

from harness.model.base import Model, Text
from harness.model.tier import Tier


class UnusedCause(StrEnum):
    """The kind of reason against a tier."""

    ABSENT = "absent"
    """The machine or user lacks a prerequisite: root, bubblewrap, a control group."""
    FAILED = "failed"
    """The prerequisites are there, but it does not work."""
    NOT_NAMED = "not_named"
    """The user named another tier."""


class UnusedTier(Model):
    """A stronger tier than the one in use."""

    tier: Tier
    """The unused tier."""
    cause: UnusedCause
    """Kind of reason."""
    reason: Text
    """Reason in a line, with the original error message."""

    @property
    def unexpected(self) -> bool:
        """True if the machine is set up for it."""
        return self.cause is not UnusedCause.ABSENT


class TierChoice(Model):
    """The tier in use on a machine, and the stronger ones that are not."""

    tier: Tier
    """Tier in use."""
    unused: tuple[UnusedTier, ...] = ()
    """Stronger tiers, strongest first."""

    @property
    def warning(self) -> str:
        """Warning that the machine is set up for a stronger tier, or empty."""
        found = [unused for unused in self.unused if unused.unexpected]
        return f"weaker isolation than this machine is set up for: {describe(self.tier, found)}" if found else ""


def describe(tier: Tier, unused: Iterable[UnusedTier]) -> str:
    """Describe the tier and the unused ones, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for one in unused:
        by_reason.setdefault(f"{one.cause.value.replace('_', ' ')}: {one.reason}", []).append(one.tier.value)
    return "; ".join((f"tier {tier}", *(f"not {' or '.join(names)} ({why})" for why, names in by_reason.items())))
