"""Evidence from source metrics, the submission's own tests, and its claims."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from harness.model import Claim, Criterion, Evidence, Figure, Location, Outcome, Submission
from harness.quality.claims import Truth, check_claims
from harness.quality.contract_calls import ContractCalls
from harness.quality.metrics import Metric, measure
from harness.quality.own_tests import MUTANTS, SECONDS, SuiteGrade, SuiteStatus, grade_own_tests
from harness.sandbox import Tier

GOOD_KILL_RATE = 0.9
"""Share of killed mutants that earns full credit, as some mutants have no visible effect."""
FIGURES = {
    "largest_file": "largest_file_lines",
    "complexity": "complex_code_percent",
    "function_length": "function_length_lines",
    "lint": "likely_bugs_per_100_loc",
    "documentation": "documented_and_annotated_percent",
    "duplication": "repeated_code_percent",
}
"""Unit-bearing name of each source metric's figure."""
SIZE = "largest_file"
"""Metric that lists files and lines."""
SHOWN = 5
"""Survivors and vacuous assertions named in a detail."""


def source_evidence(
    criteria: Sequence[Criterion],
    submission: Submission,
    folder: Path,
    adapters: Iterable[str] = (),
    functions: Collection[str] = (),
) -> dict[str, Evidence]:
    """Return evidence from source metrics, by criterion; see `measure`."""
    if not criteria:
        return {}
    command, programs = _read_command(submission), submission.about.programs
    report = measure(folder, submission.entries, tuple(adapters), command, programs, functions)
    size: dict[str, Figure] = {"source_files": report.files, "source_lines": report.sloc}
    found = {c.id: _judge_metric(c, report.metrics.get(c.metric or "")) for c in criteria}
    for criterion in criteria:
        seen = found[criterion.id]
        if criterion.metric == SIZE and seen.measured:
            detail = seen.detail + _describe_omissions(report.unused, "nothing imports it")
            detail += _describe_omissions(report.for_tests, "only tests or the test command lead to it")
            found[criterion.id] = seen.model_copy(update={"measured": seen.measured | size, "detail": detail})
    return found


def _describe_omissions(files: Sequence[str], reason: str) -> str:
    if not files:
        return ""
    more = f" and {len(files) - SHOWN} others" if len(files) > SHOWN else ""
    return f"; not counted in any figure, for {reason}: {', '.join(files[:SHOWN])}{more}"


def _read_command(submission: Submission) -> tuple[str, ...]:
    return tuple(submission.tests.command) if submission.tests else ()


def _judge_metric(criterion: Criterion, metric: Metric | None) -> Evidence:
    if metric is None:
        return Evidence.of(criterion, Outcome.JUDGE_ERROR, detail=f"there is no source metric {criterion.metric!r}")
    if metric.credit is None:
        return Evidence.of(criterion, Outcome.UNSUPPORTED, detail=metric.detail)
    detail = f"{metric.detail}; worst: {metric.worst}" if metric.worst else metric.detail
    measured: dict[str, Figure] = {} if metric.figure is None else {FIGURES[metric.name]: round(metric.figure, 4)}
    return _credit(criterion, metric.credit, detail, measured, metric.locations)


def own_tests_evidence(
    criteria: Sequence[Criterion],
    submission: Submission,
    folder: Path,
    tier: Tier,
    *,
    seed: int,
    mutants: int = MUTANTS,
    seconds: float = SECONDS,
    adapters: Iterable[str] = (),
    quoted: bool = True,
    contract: ContractCalls | None = None,
) -> dict[str, Evidence]:
    """Return evidence from the submission's own tests, by criterion; survivors have no text unless `quoted`."""
    if not criteria:
        return {}
    count = mutants if any(c.tests == "kill_rate" for c in criteria) else 0
    result = grade_own_tests(
        folder,
        _read_command(submission),
        tier=tier,
        entries=submission.entries,
        adapters=tuple(adapters),
        seed=seed,
        mutants=count,
        seconds=seconds,
        contract=contract,
    )
    if not quoted:
        result = replace(result, survivors=tuple(map(str, result.survivor_locations)))
    feeds = {"suite_passes": _judge_suite, "kill_rate": _judge_kill_rate, "real_assertions": _judge_assertions}
    found = {c.id: feeds[c.tests or ""](c, result) for c in criteria}
    if fault := _fault(result):
        found |= {c.id: each for c in criteria if (each := _charge_with_suite(c, criteria, result, *fault))}
    return found


def _fault(result: SuiteGrade) -> tuple[str, str] | None:
    if not result.assertions.real and result.status in (SuiteStatus.PASSED, SuiteStatus.SLOW, SuiteStatus.UNDECIDED):
        return NO_CHECK, "ends well, and " * result.passed + "no check that can fail was found in a test"
    if result.unheeded:
        return UNHEEDED, result.detail
    charged = (SuiteStatus.NONE, SuiteStatus.SLOW, SuiteStatus.FAILED, SuiteStatus.REFUSED)
    return ("", result.detail) if result.status in charged else None


def _charge_with_suite(
    criterion: Criterion, criteria: Iterable[Criterion], result: SuiteGrade, title: str, detail: str
) -> Evidence | None:
    """Charge a fault of the whole suite only once; None leaves the criterion's own rule.

    A criterion for passing tests of the same dimension and at least the same weight takes the charge, and this one is
    not run. Otherwise this one fails, so that unmeasurable tests never pay off.
    """
    heavy = (c for c in criteria if c.tests == "suite_passes" and c.severity.weight >= criterion.severity.weight)
    charged = next((c.id for c in heavy if c.dimension == criterion.dimension), None)
    if criterion.tests == "kill_rate":
        unplanted = f"no fault was planted: {detail}"
        if charged:
            return Evidence.of(criterion, Outcome.NOT_RUN, detail=unplanted)
        return _credit(criterion, 0.0, unplanted, {}, title=UNSEEN)
    without = result.status is SuiteStatus.NONE or result.collected == 0
    if criterion.tests == "real_assertions" and charged and (title or without):
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=f"`{charged}` fails: {detail}")
    return None


UNHEEDED = "no assertion decides how the answer's tests end"
NO_CHECK = "the answer has no test with an assertion that can fail"
UNSEEN = "whether the answer's own tests notice faults could not be seen"


def _judge_suite(criterion: Criterion, result: SuiteGrade) -> Evidence:
    measured: dict[str, Figure] = {} if result.collected is None else {"tests_collected": result.collected}
    if fault := _fault(result):
        return _credit(criterion, 0.0, fault[1], measured, title=fault[0])
    if result.passed and result.deterministic is False:
        return _credit(criterion, 0.5, "passes, but two runs go differently", measured)
    if result.status is SuiteStatus.UNDECIDED:
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=result.detail)
    if result.status is SuiteStatus.COMPILED:
        return Evidence.of(criterion, Outcome.UNSUPPORTED, detail=result.detail)
    return _credit(criterion, 1.0, "passes twice" if result.deterministic else "passes", measured)


def _judge_kill_rate(criterion: Criterion, result: SuiteGrade) -> Evidence:
    if result.kill_rate is None and result.too_slow:
        return _credit(criterion, 0.0, result.detail, {}, title=UNSEEN)
    if result.kill_rate is None:
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=result.detail)
    measured: dict[str, Figure] = {
        "mutants_planted": result.planted,
        "mutants_tried": result.tried,
        "kill_rate": round(result.kill_rate, 4),
    }
    if result.without_effect:
        measured["mutants_without_effect"] = result.without_effect
    detail, title = result.detail, UNSEEN
    if result.tried:
        title = f"{criterion.fault(in_part=result.killed > 0)}: {result.killed} of {result.tried}"
    if result.survivors:
        times = Counter(result.survivors)
        distinct = [f"{text} x{times[text]}" if times[text] > 1 else text for text in times]
        detail += f"; unnoticed: {', '.join(distinct[:SHOWN])}" + (" and others" if len(distinct) > SHOWN else "")
    credit = min(1.0, result.kill_rate / GOOD_KILL_RATE)
    return _credit(criterion, credit, detail, measured, result.survivor_locations[:SHOWN], title=title)


def _judge_assertions(criterion: Criterion, result: SuiteGrade) -> Evidence:
    seen = result.assertions
    measured: dict[str, Figure] = {"real_assertions": seen.real, "vacuous_assertions": len(seen.vacuous)}
    if seen.tests:  # checks may all stand outside functions
        measured["tests_without_check"] = len(seen.unchecked)
    if result.status is SuiteStatus.NONE:
        return _credit(criterion, 0.0, result.detail, measured)
    if not seen.real:
        return _credit(criterion, 0.0, "no assertion that can fail was found", measured, title=NO_CHECK)
    if result.unheeded:
        return _credit(criterion, 0.0, result.detail, measured, title=UNHEEDED)
    weak_tests = len(seen.vacuous) + len(seen.unchecked)
    sound = seen.real / (seen.real + weak_tests)
    weak = "; ".join(str(place) for place in (*seen.vacuous, *seen.unchecked)[:SHOWN])
    detail = f"{seen.real} assertion{'s' * (seen.real != 1)} can fail" + (f"; {weak}" if weak else "")
    places = (Location.within(place.path, place.line) for place in (*seen.vacuous, *seen.unchecked)[:SHOWN])
    faults = {"assertions cannot fail": seen.vacuous, "tests assert nothing that can be false": seen.unchecked}
    title = ", and ".join(f"{len(flaws)} of the answer's {fault}" for fault, flaws in faults.items() if flaws)
    return _credit(criterion, sound, detail, measured, chain.from_iterable(places), title=title)


def claims_evidence(
    criteria: Sequence[Criterion], claims: Sequence[Claim], figures: Mapping[str, Figure]
) -> dict[str, Evidence]:
    """Return evidence from claims: the share of measurable claims that hold."""
    return {c.id: _judge_claims(c, claims, figures) for c in criteria}


NO_FIGURE = "no figure that the answer states is listed for a comparison with what was measured"


def _judge_claims(criterion: Criterion, claims: Sequence[Claim], figures: Mapping[str, Figure]) -> Evidence:
    numbers = {n: float(v) for n, v in figures.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
    checked = check_claims(claims, numbers)
    detail = "; ".join(c.detail for c in checked)
    settled = [c for c in checked if c.truth is not Truth.UNKNOWN]
    if not settled:
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=detail or NO_FIGURE)
    right = sum(c.truth is Truth.RIGHT for c in settled)
    measured: dict[str, Figure] = {"claims_checked": len(settled), "claims_right": right}
    stated = [c.claim for c in settled if c.truth is Truth.WRONG] or [c.claim for c in settled]
    places = chain.from_iterable(claim.locations for claim in stated)
    return _credit(criterion, right / len(settled), detail, measured, places)


def _credit(
    criterion: Criterion,
    credit: float,
    detail: str,
    measured: Mapping[str, Figure],
    locations: Iterable[Location] = (),
    title: str = "",
) -> Evidence:
    credit = round(credit, 4)
    outcome = Outcome.PASSED if credit >= 1 else Outcome.PARTIAL if credit > 0 else Outcome.FAILED
    return Evidence.of(
        criterion,
        outcome,
        fraction=credit if outcome is Outcome.PARTIAL else None,
        measured=dict(measured),
        detail=detail,
        locations=tuple(dict.fromkeys(locations)),
        title=title if credit < 1 else "",
    )
