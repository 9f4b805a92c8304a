"""Profiles: which criteria a grade assesses, and how long it looks at each."""

from collections.abc import Collection
from enum import StrEnum

from harness.model.challenge import Challenge


class GradeProfile(StrEnum):
    """What a grade runs."""

    FULL = "full"
    """Every criterion: probes, times, source, own tests, claims."""
    CORRECTNESS = "correctness"
    """The criteria that gate marks or are part of a reward all the same, with all their drawn cases."""
    REWARD = "reward"
    """The same criteria with a fixed, small number of drawn cases, a large one of each size among them; a failure is
    neither shrunk nor explained, and where the anchor fails nothing else is run."""

    def criteria(self, challenge: Challenge, only: Collection[str] = ()) -> frozenset[str]:
        """Ids of the criteria that a grade assesses.

        Args:
            challenge: the rubric.
            only: ids of criteria asked for instead of the profile's own. The anchor is assessed in any case: without
                it no other criterion earns anything.
        """
        every = self is GradeProfile.FULL
        own = only or (c.id for c in challenge.criteria if every or c.gating or c.rewarded)
        return frozenset((*own, challenge.anchor))
