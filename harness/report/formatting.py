"""Marks, figures and outcomes as plain text, not yet escaped."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from harness.model import (
    NEEDS_REVIEW,
    Challenge,
    Counterexample,
    Criterion,
    Draws,
    Environment,
    Evidence,
    Figure,
    Gate,
    Limits,
    Location,
    Outcome,
    Provenance,
    Record,
    Score,
    Status,
)
from harness.model.challenges.challenge import TEST_RUN_SECONDS
from harness.model.tier_choice import describe
from harness.scoring.doubts import DoubtKind
from harness.scoring.gates import UNMET_POINTS

NOT_ASSESSED = "not assessed"
NOT_ASKED = "not asked"
UNMARKED = "carries no mark, look at it"
"""Weight of a finding about conduct in the sandbox."""
MOST_FIGURES = 4
"""Most figures per criterion; the record holds all."""
MOST_PLACES = 5
"""Most locations per finding; the record holds all."""

FOLDER = "FOLDER"
"""Placeholder of a graded folder outside the workspace, whose path no record holds."""
FLAG = "!"
"""Suffix of a mark on the scoreboard with such a finding."""
DOUBT = "(?)"
"""Suffix of a mark whose record cannot be checked, or lacks a required signature."""

_UNITS = {"bytes": "bytes", "lines": "lines", "percent": "%", "seconds": "s"}
"""Units by the last word of a figure's name."""
NAMED = 3
"""Most records named in a note."""
_STATUS = {Status.GRADED: "graded", Status.BUILD_FAILED: "does not build", Status.JUDGE_ERROR: "could not be graded"}
_DOUBTS = {
    DoubtKind.OLDER_RUBRIC: "graded by an older version of the rubric, so that nothing can be checked: grade again",
    DoubtKind.UNSIGNED: "not signed, though this workspace has keys",
}
_OUTCOME = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.NOT_OFFERED: "not offered",
    Outcome.NOT_RUN: "not run",
    Outcome.UNSUPPORTED: "unsupported",
    Outcome.JUDGE_ERROR: "judge error",
}


def mark(value: float | None) -> str:
    """Format a mark to one decimal, half up; None is "not assessed"."""
    if value is None:
        return NOT_ASSESSED
    return f"{Decimal(repr(value)).quantize(Decimal('0.1'), ROUND_HALF_UP):f}".removesuffix(".0")


def interval(score: Score) -> str:
    """Format the ends of the mark's interval."""
    return f"[{mark(score.low)}, {mark(score.high)}]"


def ceiling(gate: Gate) -> str:
    """Format the ceiling of a gate, with the formula if it caps the overall."""
    if gate.unmet is None:
        return mark(gate.ceiling)
    highest = round(gate.ceiling - UNMET_POINTS * gate.unmet, 2)
    if gate.unmet == 1:  # be it that none was assessed
        return f"{highest:g} ({mark(gate.ceiling)} less {UNMET_POINTS}, as no critical criterion earns credit)"
    unmet = f"{100 * gate.unmet:.3g} % not met of the critical weight assessed"
    return f"{highest:g} ({mark(gate.ceiling)} less {UNMET_POINTS} times the {unmet})"


def percent(share: float) -> str:
    """Format a share in whole per cent, rounded down, so that 100 % means all."""
    return f"{math.floor(Decimal(repr(share)) * 100)} %"


def standing(score: Score) -> str:
    """Format mark, interval and coverage, as `49 [40, 53], 87 %`, without redundant parts."""
    if score.score is None:
        return NOT_ASSESSED
    if score.coverage < 1:
        return f"{mark(score.score)} {interval(score)}, {percent(score.coverage)}"
    return mark(score.score) if score.low == score.high else f"{mark(score.score)} {interval(score)}"


def dimension(challenge: Challenge, id: str, record: Record, score: Score | None) -> str:
    """Format a record's mark of a dimension as `standing` does, or why there is none."""
    return missing_mark(challenge, id, record) if score is None else standing(score)


def missing_mark(challenge: Challenge, dimension: str, record: Record) -> str:
    """Return "not asked" if no criterion of the dimension counts for a record, else "not assessed"."""
    own = {c.id for c in challenge.criteria if c.dimension == dimension}
    return NOT_ASKED if own <= record.unmarked.keys() else NOT_ASSESSED


def standing_lines(score: Score) -> tuple[str, ...]:
    """Return `standing` in lines: mark with coverage, then interval."""
    if score.score is None:
        return (NOT_ASSESSED,)
    open = score.coverage < 1
    first = f"{mark(score.score)}, {percent(score.coverage)}" if open else mark(score.score)
    return (first, interval(score)) if open or score.low != score.high else (first,)


def whole(value: float | None) -> str:
    """Format a mean of marks in whole points, half up."""
    return NOT_ASSESSED if value is None else str(Decimal(repr(float(value))).quantize(Decimal(1), ROUND_HALF_UP))


def doubts(kinds: Iterable[DoubtKind]) -> str:
    """Describe doubts about a record; empty without any."""
    return "; ".join(_DOUBTS[kind] for kind in kinds)


def some(names: Iterable[str]) -> str:
    """List the first three of `names` in order, and count the others."""
    first, rest = (every := sorted(names))[:NAMED], every[NAMED:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def points(lead: Fraction) -> str:
    """Format a difference of marks."""
    text = mark(float(lead))
    return f"{text} point{'' if text == '1' else 's'}"


def number(value: Figure) -> str:
    """Format a figure briefly."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("infinite" if value > 0 else "minus infinite")
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e7):
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 1000 or abs(value) >= 1e7 else f"{value:,.0f}"


def precise(value: Figure | None) -> str:
    """Format a figure to nine digits; None is empty."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.9g}"
    return "" if value is None else number(value)


def expected_and_got(example: Counterexample) -> tuple[str, str]:
    """Format a counterexample's two values with enough digits to differ; absent ones are empty."""
    pair = example.expected, example.got
    if any(isinstance(value, float) for value in pair) and all(map(_is_number, pair)):
        # loaded here: a page without such a pair needs no numpy
        from harness.numerics import distinct

        return distinct(*pair)
    return precise(example.expected), precise(example.got)


def _is_number(value: Figure | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def figures(measured: Mapping[str, Figure]) -> str:
    """Format figures by name, with units from the names."""
    shown = [_figure(name, value) for name, value in list(measured.items())[:MOST_FIGURES]]
    more = len(measured) - len(shown)
    return ", ".join([*shown, *([f"{more} more in the record"] if more else [])])


def _figure(name: str, value: Figure) -> str:
    quantity, _, unit = name.rpartition("_")
    if not quantity or unit not in _UNITS or quantity[-1].isdigit():
        return f"{name.replace('_', ' ')} {number(value)}"
    return f"{quantity.replace('_', ' ')} {number(value)} {_UNITS[unit]}"


def measured(evidence: Evidence, sure: bool = True) -> str:
    """Format a criterion's figures, drawn cases and left-out functions.

    Args:
        sure: True to state how rare a fault the drawn cases miss.
    """
    drawn = (draws if sure else drawn_cases)(evidence.draws) if evidence.draws else ""
    return "; ".join(filter(None, (figures(evidence.measured), drawn, left_out(evidence.unserved))))


def left_out(functions: Iterable[str]) -> str:
    """Name functions whose calls were left out, if any."""
    named = ", ".join(f"`{name}`" for name in functions)
    return f"without calls of {named} that our adapter does not serve" if named else ""


def draws(seen: Draws) -> str:
    """Format the number of drawn cases, and the rarest fault that they would reveal."""
    rare = f"{seen.missable:.1%}".replace("%", " %")
    missed = "" if seen.failed else f" (a fault in {rare} of such cases would be missed once in 20 times)"
    return drawn_cases(seen) + missed


def drawn_cases(seen: Draws) -> str:
    """Format the number of drawn cases, and of wrong ones."""
    if seen.failed:
        return f"wrong in {seen.failed} of {seen.tried} drawn cases"
    left = seen.planned - seen.tried
    return f"{seen.tried} drawn cases right" + (f", {left} more not tried" if left else "")


def sizes(example: Counterexample) -> str:
    """Format the sizes and settings of a counterexample."""
    return ", ".join(f"{name} = {precise(value)}" for name, value in example.case.items())


def values(example: Counterexample) -> str:
    """Format a counterexample's place, expected and actual value."""
    texts = zip(("expected", "got"), expected_and_got(example), strict=True)
    parts = [f"{name} {text}" for name, text in texts if text]
    return f"{example.where}: {', '.join(parts)}" if example.where and parts else example.where or ", ".join(parts)


def places(locations: Iterable[Location]) -> str:
    """Format locations in a submission, as `kv_cache.py:93`."""
    named = list(map(str, locations))
    more = len(named) - MOST_PLACES
    return ", ".join([*named[:MOST_PLACES], *([f"{more} more in the record"] if more > 0 else [])])


def unassessed(criterion: Criterion | None, evidence: Evidence) -> str:
    """Return why a criterion was not assessed."""
    return NEEDS_REVIEW if criterion is not None and evidence.needs_review(criterion) else evidence.detail


def when(made: datetime) -> str:
    """Format a point in time, in UTC."""
    return f"{made.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def isolation(where: Environment) -> str:
    """Format the tier, with recorded reasons against stronger ones."""
    return describe(where.tier, where.unused_tiers or ())


def device(where: Environment) -> str:
    """Name the device that ran the kernels, and the unused GPU."""
    return f"{where.device} (not {where.passed_over})" if where.passed_over else where.device


def took(seconds: Mapping[str, float]) -> str:
    """Format the seconds of each stage."""
    stages = [f"{stage.replace('_', ' ')} {spent:.1f} s" for stage, spent in seconds.items() if stage != "box"]
    return ", ".join(stages) + (f" (in the box: {seconds['box']:.1f} s)" if "box" in seconds else "")


def limits(limits: Limits) -> str:
    """Format the limits on a submission."""
    longer = "".join(f" ({seconds:g} s of `{name}`)" for name, seconds in sorted(limits.function_seconds.items()))
    build = "" if limits.build_seconds == Limits().build_seconds else f"{limits.build_seconds:g} s a compiler, "
    return (
        f"{build}{limits.start_seconds:g} s to start, {limits.call_seconds:g} s a call{longer}, "
        f"{limits.probes_seconds:g} s for all probes, {TEST_RUN_SECONDS:g} s of processor time for its own tests as "
        f"they are, {limits.tests_seconds:g} s for all their runs, {limits.memory_mib} MiB of memory"
    )


def outcome(evidence: Evidence) -> str:
    """Format the outcome of a criterion in a word or two."""
    if evidence.outcome is Outcome.PARTIAL:
        return f"{percent(evidence.satisfied)} met"
    if evidence.rests_on and evidence.outcome is Outcome.FAILED:
        return "no credit"
    return _OUTCOME[evidence.outcome]


def seen(evidence: Evidence) -> str:
    """Format the outcome of a criterion, with its faults."""
    titles = dict.fromkeys((evidence.title, *(further.title for further in evidence.also)))
    return ": ".join(filter(None, (outcome(evidence), "; ".join(titles))))


def uncredited(evidence: Evidence) -> str:
    """Describe the own outcome of a criterion without credit."""
    if evidence.outcome is Outcome.NOT_RUN:
        return "Not told apart"
    if evidence.own_outcome is None:
        return "Not run, and counts as 0"
    if evidence.own_outcome in (Outcome.UNSUPPORTED, Outcome.NOT_RUN):
        return "Not measured, and counts as 0"
    if evidence.own_outcome is Outcome.FAILED:
        return "Not seen to hold, and earns nothing"
    return "Held in part, but earns nothing" if evidence.own_outcome is Outcome.PARTIAL else "Held, but earns nothing"


def again(record: Record, criterion: str, place: str = FOLDER) -> str:
    """Return the command that repeats a criterion with a record's inputs.

    Args:
        place: arguments that name a submission outside the workspace.
    """
    if record.outside:
        return f"harness grade {place} --challenge {record.challenge} --criterion {criterion} --seed {record.seed}"
    return f"harness replay {record.name} {criterion}"


def status(status: Status) -> str:
    """Format the status of a grade."""
    return _STATUS[status]


def provenance(provenance: Provenance) -> str:
    """Format a submission's provenance."""
    return "baseline, not ranked" if provenance is Provenance.BASELINE else provenance.value.replace("-", " ")


def provenances(all: Iterable[Provenance]) -> str:
    """Format the provenances of several submissions."""
    return ", ".join(provenance(each) for each in all)


def score(won: float, lost: float) -> str:
    """Format challenges won and lost, as 2.5-0.5."""
    return f"{won:g}-{lost:g}"


def pair_page(left: str, right: str) -> str:
    """Return the path of a pair's page below the reports."""
    first, second = sorted((left, right))
    return f"head_to_head/{first}_vs_{second}.md"
