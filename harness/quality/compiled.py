"""Evidence from the compiler of a submission's language."""

from collections.abc import Iterable

from harness.languages import CompilerReport, CompilerVerdict
from harness.model import UNBUILT, Criterion, Evidence, Outcome


def compiler_evidence(criteria: Iterable[Criterion], report: CompilerReport | None) -> dict[str, Evidence]:
    """Return evidence by criterion; `report` is None for uncompiled languages."""
    return {c.id: _judge(c, report) for c in criteria}


def _judge(criterion: Criterion, report: CompilerReport | None) -> Evidence:
    if report is None:
        return Evidence.of(criterion, Outcome.UNSUPPORTED, detail="answers in this language are not compiled")
    if report.ok is None:
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=report.text)
    if criterion.compiler == "compiles":
        if report.ok:
            detail = f"compiled by {report.compiler}"
            return Evidence.of(criterion, Outcome.PASSED, detail=detail, measured=dict(report.measured))
        return Evidence.of(criterion, Outcome.FAILED, detail=report.text, locations=report.locations)
    if not report.ok:
        return Evidence.of(criterion, Outcome.FAILED, detail="the submission does not build", rests_on=UNBUILT)
    return _judge_check(criterion, report.verdicts.get(criterion.compiler or ""))


def _judge_check(criterion: Criterion, verdict: CompilerVerdict | None) -> Evidence:
    if verdict is None:
        return Evidence.of(criterion, Outcome.UNSUPPORTED, detail=f"the compiler does not check `{criterion.compiler}`")
    if verdict.met is None:
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=verdict.detail)
    outcome = Outcome.PASSED if verdict.met else Outcome.FAILED
    return Evidence.of(criterion, outcome, detail=verdict.detail, measured=dict(verdict.measured))
