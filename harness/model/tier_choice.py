"""Which tier an answer is held in, and why in no stronger one."""

from collections.abc import Iterable
from enum import StrEnum

from harness.model.base import Model, Text
from harness.model.tier import Tier


class UnusedCause(StrEnum):
    """The kind of reason for which a tier is not used."""

    ABSENT = "absent"
    """The machine or the user lacks something that it needs: root, bubblewrap, a control group."""
    FAILED = "failed"
    """What it needs is there, and it does not work."""
    NOT_NAMED = "not_named"
    """Another one was named by hand."""


class UnusedTier(Model):
    """A stronger tier than the one used."""

    tier: Tier
    """Which one."""
    cause: UnusedCause
    """Why it is not used, in a word."""
    reason: Text
    """The same in a line, with the words of whatever failed."""

    @property
    def unexpected(self) -> bool:
        """Whether the machine is set up for it."""
        return self.cause is not UnusedCause.ABSENT


class TierChoice(Model):
    """The tier used on a machine, and the stronger ones that are not."""

    tier: Tier
    """The tier used."""
    unused: tuple[UnusedTier, ...] = ()
    """Every stronger one, the strongest first."""

    @property
    def warning(self) -> str:
        """What a user must be told: that the machine is set up for a stronger tier; empty where it is not."""
        found = [unused for unused in self.unused if unused.unexpected]
        return f"weaker isolation than this machine is set up for: {describe(self.tier, found)}" if found else ""


def describe(tier: Tier, unused: Iterable[UnusedTier]) -> str:
    """Return the tier and those that are not used in its place, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for one in unused:
        by_reason.setdefault(f"{one.cause.value.replace('_', ' ')}: {one.reason}", []).append(one.tier.value)
    return "; ".join((f"tier {tier}", *(f"not {' or '.join(names)} ({why})" for why, names in by_reason.items())))
