"""Warnings about comparing records."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.model import Challenge, ChallengeSuite, Status
from harness.model.challenges.suite import EVERYTHING
from harness.report import formatting
from harness.scoring.doubts import DoubtKind
from harness.scoring.ranking import APART, LEAST_COVERAGE
from harness.scoring.record_summary import RecordSummary, rubric_hash
from harness.scoring.suites import SUITES_FILE

SEEN = (
    f"Marked {formatting.FLAG} on the scoreboard: did in the box what honest code has no reason to do. This changes no "
    "mark; look at the findings"
)

SEVERAL_TURNS = (
    f"Asked in several turns, and ranked among themselves ({APART}): the model saw what was found in its earlier "
    "replies"
)

UNSIGNED = "Not signed, though this workspace has keys: who changed them cannot be told (harness sign)"


def notes(challenges: Iterable[Challenge], records: Sequence[RecordSummary]) -> tuple[str, ...]:
    """Return sentences on records that do not compare or count; empty if all do."""
    by_challenge: dict[str, list[RecordSummary]] = {}
    for record in records:
        by_challenge.setdefault(record.challenge, []).append(record)
    rubrics = {challenge.id: rubric_hash(challenge) for challenge in challenges}
    older = [
        r
        for id, own in by_challenge.items()
        if id in rubrics
        for r in own
        if r.criteria != rubrics[id] or DoubtKind.OLDER_RUBRIC in r.doubts
    ]
    unknown = [r for id, own in by_challenge.items() if id not in rubrics for r in own]
    return (
        *_differing("versions of the harness", records, lambda r: r.harness),
        *_differing("isolation tiers", records, lambda r: r.tier),
        *(note for own in by_challenge.values() for note in _differing("devices", own, lambda r: r.device)),
        *_listing("Not counted in ranks, as they were graded by an older version of the rubric; grade again", older),
        *_listing(UNSIGNED, [r for r in records if DoubtKind.UNSIGNED in r.doubts]),
        *_listing("Left out, as their challenge is not here", unknown),
        *_listing(
            "Not counted in ranks (seed chosen by hand, or only a part of the probes ran)",
            [r for r in records if not r.ranked and DoubtKind.OLDER_RUBRIC not in r.doubts],
        ),
        *_listing(SEVERAL_TURNS, [r for r in records if r.turns > 1]),
        *_listing(
            "Not graded because the harness failed",
            [r for r in records if r.status is Status.JUDGE_ERROR and not r.unread],
        ),
        *_listing("Not graded because the reply could not be read with certainty", [r for r in records if r.unread]),
        *_listing(SEEN, [r for r in records if r.integrity]),
    )


def removed_note(names: Sequence[str]) -> Iterator[str]:
    """Name the records left out because their submissions are gone, and the command that removes them."""
    if names:
        gone = f"Left out, as their submissions are no longer here: {', '.join(names)}"
        yield f"{gone}. To remove what is left of them: harness rm {' '.join(names[:3])}{' ...' if names[3:] else ''}."


def left_out_note(names: Sequence[str]) -> Iterator[str]:
    """Name the records left out as unreadable or untrusted."""
    yield from _listing("Left out, as they cannot be read or believed; a command says why", names)


def thin_note(challenges: Sequence[str]) -> Iterator[str]:
    """Name the challenges without places, and why."""
    if challenges:
        names, share = ", ".join(f"`{id}`" for id in challenges), formatting.percent(LEAST_COVERAGE)
        shown, its = ("is shown but does", "its") if len(challenges) == 1 else ("are shown but do", "each")
        yield f"{names} {shown} not count: for most models less than {share} of {its} rubric could be assessed."


def suite_notes(
    suite: ChallengeSuite | None,
    compared: Iterable[str],
    uncounted: Iterable[str],
    all_provisional: bool,
    unranked: Iterable[str] = (),
) -> Iterator[str]:
    """Describe the challenges that models are ranked over.

    Args:
        compared: ids of the challenges ranked over.
        uncounted: ids of the other challenges with marks.
        all_provisional: True if no model has a mark on all compared challenges.
        unranked: reasons why challenges of the workspace rank nobody.
    """
    over, others = ", ".join(compared), ", ".join(uncounted)
    if others and suite:
        all_of_them = f"harness scoreboard --suite {EVERYTHING} counts them"
        yield f"Ranked over the suite {suite.id}, to which these do not belong: {others}; {all_of_them}."
    elif others:
        fixed = f"A suite in {SUITES_FILE} fixes what counts."
        yield f"Ranked over {over}, which most models have answered together, and not over {others}. {fixed}"
    if all_provisional:
        yield "Every place is provisional: no model has a mark on all challenges that are ranked over."
    yield from (f"Not ranked: {reason}." for reason in unranked)


def _differing(what: str, records: Iterable[RecordSummary], trait: Callable[[RecordSummary], str]) -> list[str]:
    groups: dict[str, list[RecordSummary]] = {}
    for record in records:
        groups.setdefault(trait(record), []).append(record)
    if len(groups) < 2:
        return []
    text = "; ".join(f"{trait}: {formatting.some([r.name for r in groups[trait]])}" for trait in sorted(groups))
    return [f"Made with different {what}, so marks may not compare. {text}."]


def _listing(what: str, named: Iterable[RecordSummary | str]) -> list[str]:
    names = [each if isinstance(each, str) else each.name for each in named]
    return [f"{what}: {formatting.some(names)}."] if names else []
