"""What a reader must know before comparing records."""

from collections.abc import Callable, Iterable, Sequence

from harness.model import Challenge, Status
from harness.report import formatting
from harness.scoring.record_summary import RecordSummary, criteria_text

SEEN = (
    f"Marked {formatting.FLAG} on the scoreboard: did in the box what honest code has no reason to do. This changes no "
    "mark; look at the findings"
)


def notes(challenges: Iterable[Challenge], records: Sequence[RecordSummary]) -> tuple[str, ...]:
    """Sentences on records that do not compare, or do not count; none when all is well."""
    rubrics = {c.id: criteria_text(criterion.id for criterion in c.criteria) for c in challenges}
    other = [r for r in records if r.challenge in rubrics and r.criteria != rubrics[r.challenge]]
    unknown = [r for r in records if r.challenge not in rubrics]
    return (
        *_differing("versions of the harness", records, lambda r: r.harness),
        *_differing("isolation tiers", records, lambda r: r.tier),
        *(
            note
            for id in dict.fromkeys(r.challenge for r in records)
            for note in _differing("devices", [r for r in records if r.challenge == id], lambda r: r.device)
        ),
        *_naming("Graded on another version of the rubric, grade again", other),
        *_naming("Left out, as their challenge is not here", unknown),
        *_naming("Not counted in ranks (seed chosen by hand, or only a part of the probes ran)",
                 [r for r in records if not r.ranked]),
        *_naming("Not graded because the harness failed", [r for r in records if r.status is Status.JUDGE_ERROR]),
        *_naming(SEEN, [r for r in records if r.integrity]),
    )  # fmt: skip


def _differing(what: str, records: Iterable[RecordSummary], trait: Callable[[RecordSummary], str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for record in records:
        groups.setdefault(trait(record), []).append(record.name)
    if len(groups) < 2:
        return []
    text = "; ".join(f"{trait}: {', '.join(sorted(groups[trait]))}" for trait in sorted(groups))
    return [f"Made with different {what}, so marks may not compare. {text}."]


def _naming(what: str, records: Iterable[RecordSummary]) -> list[str]:
    names = sorted(r.name for r in records)
    return [f"{what}: {', '.join(names)}."] if names else []
