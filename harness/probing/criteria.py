"""From probes to evidence: runs what feeds a criterion, names the fault, and applies the anchor rule."""

import zlib
from collections.abc import Iterable, Sequence

from harness.errors import HarnessError
from harness.model import Criterion, Evidence, Outcome, Submission
from harness.probing.answers import Answer
from harness.probing.code import ChallengeCode
from harness.probing.diagnosis import diagnose
from harness.probing.failures import NotMeasurable, NotRun
from harness.probing.probe import Probe, ProbeResult, run


def seed_of(run_seed: int, criterion: str) -> int:
    """The seed of one criterion's inputs."""
    return (run_seed ^ zlib.crc32(criterion.encode()) * 0x9E3779B97F4A7C15) % 2**63


def probe_criterion(
    code: ChallengeCode, criterion: Criterion, answer: Answer, seed: int, *, submission: Submission | None = None,
    explain: bool = True,
) -> tuple[Evidence, str]:  # fmt: skip
    """Run the probes of one criterion.

    Args:
        code: the challenge's code.
        criterion: what to assess.
        answer: whom.
        seed: of the criterion, as `seed_of` gives it.
        submission: what the answer claims of itself; without it every capability counts as claimed.
        explain: whether to look for smaller counterexamples and for the fault's name.

    Returns:
        The evidence, and the fault in a phrase (empty when there is none).
    """
    base = Evidence(
        criterion=criterion.id,
        dimension=criterion.dimension,
        severity=criterion.severity,
        outcome=Outcome.PASSED,
        seed=seed,
    )
    if criterion.capability and submission is not None and not submission.offers(criterion.capability):
        return _with(base, outcome=Outcome.FAILED, seed=None, detail="not offered"), "is not offered"
    try:
        outcomes, unassessed = _run(code.probes_of(criterion), answer, seed, explain)
        if unassessed and all(o.passed for o in outcomes):
            outcome = Outcome.NOT_RUN if any(isinstance(e, NotRun) for e in unassessed) else Outcome.UNSUPPORTED
            return _with(base, outcome=outcome, detail="; ".join(dict.fromkeys(map(str, unassessed)))), ""
        return _evidence(code, base, outcomes, answer, seed, explain)
    except HarnessError:
        raise
    except Exception as error:  # a probe of ours that fails says nothing about the answer
        detail = f"the probe failed: {type(error).__name__}: {error}"
        return _with(base, outcome=Outcome.JUDGE_ERROR, detail=detail), ""


def _run(
    probes: Iterable[Probe], answer: Answer, seed: int, explain: bool
) -> tuple[list[ProbeResult], list[Exception]]:
    """What the probes showed, and why some could not show anything."""
    outcomes: list[ProbeResult] = []
    unassessed: list[Exception] = []
    for probe in probes:
        answer.fresh()  # what one probe made an answer keep is no help in the next
        try:
            outcomes.append(run(probe, answer, seed, shrink=explain))
        except (NotMeasurable, NotRun) as reason:
            unassessed.append(reason)
    return outcomes, unassessed


def _evidence(
    code: ChallengeCode, base: Evidence, outcomes: Sequence[ProbeResult], answer: Answer, seed: int, explain: bool
) -> tuple[Evidence, str]:
    measured = {name: value for outcome in outcomes for name, value in outcome.figures.items()}
    failed = [o for o in outcomes if not o.passed]
    if not failed:
        fraction = min(o.fraction for o in outcomes)
        detail = "; ".join(o.detail for o in outcomes if o.detail)
        partial = {"outcome": Outcome.PARTIAL, "fraction": fraction} if fraction < 1 else {}
        return _with(base, measured=measured, detail=detail, **partial), ""
    first = failed[0]
    detail, *also = dict.fromkeys(f"{o.title}: {o.detail}" if o.detail else o.title for o in failed)
    probe = code.probes[first.probe]
    diagnosis = first.diagnosis or (diagnose(code, probe, first, answer, seed) if explain else None)
    evidence = _with(
        base, outcome=Outcome.FAILED, measured=measured, detail=detail, also=also,
        counterexample=first.counterexample, diagnosis=diagnosis,
    )  # fmt: skip
    return evidence, first.title


def anchored(evidence: Iterable[Evidence], anchor: str, probed: set[str]) -> list[Evidence]:
    """Take the credit of probed criteria that passed although the anchor failed.

    Relations between an answer's own outputs can hold for an answer that is wrong everywhere (zeros are linear); such
    a criterion earns nothing, and gates nothing either. Nor does one that no device here could assess: to be measured
    must not cost an answer anything.
    """
    items = list(evidence)
    failed = any(e.criterion == anchor and e.outcome is Outcome.FAILED for e in items)
    if not failed:
        return items
    stripped = {"outcome": Outcome.FAILED, "fraction": None, "rests_on": anchor}
    reasons = {True: "held, but earns nothing", False: "was not assessed, and could earn nothing"}
    excused = (Outcome.UNSUPPORTED, Outcome.NOT_RUN)

    def settled(e: Evidence) -> Evidence:
        if e.criterion not in probed or (e.satisfied == 0 and e.outcome not in excused):
            return e
        return _with(e, **stripped, detail=f"{reasons[e.satisfied > 0]} while `{anchor}` fails")

    return [settled(e) for e in items]


def _with(evidence: Evidence, **changes: object) -> Evidence:
    return Evidence.model_validate({**evidence.model_dump(), **changes})
