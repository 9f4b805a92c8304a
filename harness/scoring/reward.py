"""Reward of one grade for training, 0 to 1.

The met share of the severity weight of the counted criteria, under the ceiling that failed critical criteria and
claimed options with wrong values put on the overall. Unassessed criteria count as unmet, so that making one impossible
to run gains nothing. Unclaimed options do not count. A submission that fails the anchor or does not build earns 0.
Meeting one more criterion never lowers the reward.
"""

from collections.abc import Collection, Sequence

from harness.model import Challenge, Evidence, Outcome
from harness.scoring.gates import ceiling, gates
from harness.scoring.marks import ExactMark


def reward(
    challenge: Challenge, evidence: Sequence[Evidence], counted: Collection[str], *, built: bool
) -> float | None:
    """Return the reward; None if our side failed at a counted criterion, or the anchor is unassessed.

    Args:
        counted: criteria that count, including the anchor.
    """
    if not built:
        return 0.0
    own = [e for e in evidence if e.criterion in counted]
    anchor = next(e for e in own if e.criterion == challenge.anchor)
    if any(e.outcome is Outcome.JUDGE_ERROR for e in own) or not anchor.outcome.assessed:
        return None
    if anchor.satisfied == 0:
        return 0.0
    top = ceiling(gates(challenge, own, built=True), None)
    options = {c.id for c in challenge.criteria if c.capability}
    return float(ExactMark.of([e for e in own if not (e.criterion in options and _is_unclaimed(e))]).cap(top).low / 100)


def _is_unclaimed(option: Evidence) -> bool:
    # an option that did not run was claimed if it has a seed
    return option.outcome is Outcome.NOT_OFFERED or (option.outcome is Outcome.NOT_RUN and option.seed is None)
