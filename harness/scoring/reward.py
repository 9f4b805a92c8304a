"""The reward of one grade: a number between 0 and 1 for a training loop.

It is the share of severity weight met among the criteria that count, under the ceilings that failed critical criteria
and claimed options with wrong values put on the overall: at most 0.59 with one of them, 0.49 with more. What could not
be assessed counts as not met, so that nothing is gained by making a criterion impossible to run. An option that is not
claimed does not count. An answer that fails the anchor earns 0, whatever else
it meets, and so does one that does not build. Meeting one more criterion never lowers the reward.
"""

from collections.abc import Collection, Sequence

from harness.model import Challenge, Evidence, Outcome
from harness.scoring.gates import ceiling, gates
from harness.scoring.marks import ExactMark


def reward(
    challenge: Challenge, evidence: Sequence[Evidence], counted: Collection[str], *, built: bool
) -> float | None:
    """The reward of one submission.

    Args:
        challenge: the rubric.
        evidence: one entry for every criterion, in any order.
        counted: ids of the criteria that count, the anchor among them.
        built: whether the submission imported, compiled and linked, with all its functions.

    Returns:
        0 to 1; None where our side failed at a criterion that counts, or the anchor could not be assessed.
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
    return float(ExactMark.of([e for e in own if not (e.criterion in options and _unclaimed(e))]).capped(top).low / 100)


def _unclaimed(option: Evidence) -> bool:
    """Return whether an option is not claimed: only `full` asks for it then, and a claimed one has a seed."""
    return option.outcome is Outcome.NOT_OFFERED or (option.outcome is Outcome.NOT_RUN and option.seed is None)
