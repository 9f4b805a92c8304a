"""Profiles: the criteria that a grade assesses, and their depth."""

from collections.abc import Collection
from enum import StrEnum

from harness.model.challenges.challenge import Challenge


class GradeProfile(StrEnum):
    """The scope of a grade."""

    FULL = "full"
    """Every criterion: probes, times, source, own tests, claims."""
    CORRECTNESS = "correctness"
    """Criteria that gate marks or enter rewards, with all their drawn cases."""
    REWARD = "reward"
    """The same criteria with few, fixed drawn cases, including a large one of each size. Failures are neither shrunk
    nor explained, and a failed anchor ends the grade."""

    def criteria(self, challenge: Challenge, only: Collection[str] = ()) -> frozenset[str]:
        """Return the ids of the criteria to assess.

        Args:
            only: ids to assess instead of the profile's own. The anchor is always assessed, since no other criterion
                earns anything without it.
        """
        every = self is GradeProfile.FULL
        own = only or (c.id for c in challenge.criteria if every or c.gating or c.rewarded)
        return frozenset((*own, challenge.anchor))
