"""Results of duels in words."""

from collections.abc import Mapping
from types import MappingProxyType

from harness.model import Score
from harness.numerics.rounding import exact
from harness.report import formatting
from harness.scoring.duels import Duel


def describe_duel(duel: Duel, overalls: Mapping[str, Score] = MappingProxyType({})) -> str:
    """Say who wins, by how much, and on which criteria.

    Args:
        overalls: overalls by model, named where they are not the marks compared.
    """
    if duel.left_mark is None or duel.right_mark is None:
        return "nothing was assessed on both: there is no winner"
    sides = [(duel.left, duel.left_mark, duel.attempts[0]), (duel.right, duel.right_mark, duel.attempts[1])]
    (leader, most, tries), (other, least, fewer) = sides if duel.lead >= 0 else sides[::-1]
    lead = formatting.points(exact(most) - exact(least))
    basis = ""
    if duel.criteria:
        basis = f": {formatting.mark(most)} to {formatting.mark(least)}"
        basis += f" (means of {tries} and {fewer} attempts)" if duel.attempts != (1, 1) else ""
        basis += f" on the {duel.criteria} criteria both were assessed on"
        named = [formatting.mark(overalls[model].score) for model in (leader, other) if model in overalls]
        differ = named and named != [formatting.mark(most), formatting.mark(least)]
        basis += f" (overalls: {' and '.join(named)})" if differ else ""
    if duel.winner:
        return f"{leader} wins by {lead}{f' against {other}' if basis else ''}{basis}"
    if duel.missed:
        verb = f"{leader} misses {formatting.some(sorted(duel.missed))} (critical), where {other} was not assessed"
        basis += f"; {verb}, so its lead is no win"
    elif abs(duel.lead) > duel.noise:
        basis += f"; with the attempts drawn anew, {leader} leads in {formatting.percent(duel.ahead)} of the draws only"
    elif duel.noise:
        basis += f"; a lead of up to {formatting.points(exact(duel.noise))} counts as none"
    return f"a split between {leader} and {other}, {lead} apart{basis}"


def duel_sentence(duel: Duel, overalls: Mapping[str, Score]) -> str:
    """Return `describe_duel` as a sentence."""
    words = describe_duel(duel, overalls)
    return f"{words if duel.winner else words[0].upper() + words[1:]}."
