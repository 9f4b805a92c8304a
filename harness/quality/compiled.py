"""Evidence from the compiler of an answer's language: that it compiles, and what else the compiler checks."""

from collections.abc import Iterable, Mapping

from harness.languages import CompilerReport, CompilerVerdict
from harness.model import Criterion, Evidence, Figure, Outcome


def compiler_evidence(criteria: Iterable[Criterion], report: CompilerReport | None) -> dict[str, Evidence]:
    """Evidence of the criteria that the compiler feeds, by id.

    Args:
        criteria: those with a `compiler` feed.
        report: what the compiler said; None where answers are not compiled before they run.
    """
    return {c.id: _judged(c, report) for c in criteria}


def _judged(criterion: Criterion, report: CompilerReport | None) -> Evidence:
    if report is None:
        return _evidence(criterion, Outcome.UNSUPPORTED, "answers in this language are not compiled")
    if report.ok is None:
        return _evidence(criterion, Outcome.NOT_RUN, report.text)
    if criterion.compiler == "compiles":
        if report.ok:
            return _evidence(criterion, Outcome.PASSED, f"compiled by {report.compiler}", report.measured)
        return _evidence(criterion, Outcome.FAILED, report.text)
    if not report.ok:
        return _evidence(criterion, Outcome.FAILED, "the submission does not build", rests_on="build")
    return _checked(criterion, report.verdicts.get(criterion.compiler or ""))


def _checked(criterion: Criterion, verdict: CompilerVerdict | None) -> Evidence:
    if verdict is None:
        return _evidence(criterion, Outcome.UNSUPPORTED, f"the compiler does not check `{criterion.compiler}`")
    if verdict.met is None:
        return _evidence(criterion, Outcome.NOT_RUN, verdict.detail)
    return _evidence(criterion, Outcome.PASSED if verdict.met else Outcome.FAILED, verdict.detail, verdict.measured)


def _evidence(
    criterion: Criterion, outcome: Outcome, detail: str = "", measured: Mapping[str, Figure] | None = None,
    rests_on: str | None = None,
) -> Evidence:  # fmt: skip
    return Evidence(
        criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity, outcome=outcome,
        detail=detail, measured=dict(measured or {}), rests_on=rests_on,
    )  # fmt: skip
