"""Checks of a challenge's probes on right and wrong answers (`harness check`)."""

import dataclasses
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from harness.errors import JudgeError
from harness.languages import AnswerFiles
from harness.model import Evidence, Obstacle, Outcome, Severity
from harness.model.submissions.submission import offers
from harness.mutation.checks.null_answer import NullAnswer, NullValues
from harness.mutation.checks.tampering import TAMPERINGS, TamperedAnswer, Tampering
from harness.probing.answers import Answer, SandboxedAnswer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.mutants import Mutant, PropertyMutant, Variant
from harness.probing.evidence.charging import apply_anchor
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.submissions.device import GpuAnswer
from harness.probing.submissions.opening import open_answer
from harness.sandbox.confinement import scratch


@dataclass(frozen=True)
class CheckResult:
    """The verdict of the probes on one answer of the challenge.

    Attributes:
        kind: reference, variant, mutant, wrapped, null or tampered.
        expected: expected verdict, in words.
        criterion: criterion that must notice a mutant; else empty.
        detail: deviation, or reason why the check does not apply.
        applies: false if the calls carry no values to tamper with.
        not_run: reason by criterion that came out `not_run` twice and stays unchecked.
    """

    kind: str
    name: str
    expected: str
    right: bool
    criterion: str = ""
    detail: str = ""
    applies: bool = True
    not_run: Mapping[str, str] = field(default_factory=dict)


def check(code: ChallengeCode, seed: int, progress: Callable[[str], None] = lambda name: None) -> Iterator[CheckResult]:
    """Run the probes of a challenge on its reference, variants, mutants, null and tampered answers.

    Args:
        progress: callback with the name of the next answer.
    """
    for variant in (None, *code.variants):
        progress(variant.name if variant else "reference")
        yield check_right_answer(code, seed, variant)
    for mutant in code.mutants:
        progress(mutant.name)
        with open_in_sandbox(code, code.source(mutant)) as answer:
            yield _check_kill(code, answer, seed, mutant)
    for around in code.property_mutants:
        for design in code.designs(around.criterion):
            name = design.name if design else "reference"
            progress(f"{around.name} around {name}")
            with open_in_sandbox(code, around.wrapped(code.source(design))) as answer:
                yield _check_kill_around(code, answer, seed, around, name)
    with open_in_sandbox(code, code.source()) as answer:
        for kind in NullAnswer.KINDS:
            progress(kind)
            yield _check_null(code, answer, seed, kind)
        for name, tampering in TAMPERINGS.items():
            progress(name)
            yield _check_tampering(code, answer, seed, name, tampering())


def check_right_answer(
    code: ChallengeCode, seed: int, variant: Variant | None = None, races: bool = True
) -> CheckResult:
    """Run the probes on a variant or the reference; `races` includes those that race it."""
    raced = (c.id for c in code.challenge.criteria if any(probe.races for probe in code.probes_of(c)))
    spared = frozenset(() if races else raced)
    with open_in_sandbox(code, code.source(variant), variant.capabilities if variant else {}) as answer:
        if variant is None:
            return _check_silent(code, answer, seed, "reference", "reference", spared)
        return _check_silent(
            code, answer, seed, "variant", variant.name, spared | _list_inapplicable_criteria(code, variant)
        )


@contextmanager
def open_in_sandbox(
    code: ChallengeCode, source: str, capabilities: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[SandboxedAnswer | GpuAnswer]:
    """Open trusted source in the sandbox, like a submission that claims `capabilities`.

    Raises:
        JudgeError: the source does not build.
    """
    name = code.language.entry
    with scratch.folder() as folder:
        (folder / name).write_text(source, encoding="utf-8")
        with _build(code, AnswerFiles(folder, (name,), capabilities)) as answer:
            yield answer


@contextmanager
def _build(code: ChallengeCode, files: AnswerFiles) -> Iterator[SandboxedAnswer | GpuAnswer]:
    with open_answer(code.challenge, files) as opening:
        if opening.answer is None or opening.fault:
            raise JudgeError(f"an answer of the challenge does not build: {opening.fault or opening.unsupported}")
        yield opening.answer


def check_around(
    code: ChallengeCode,
    seed: int,
    mutant: PropertyMutant,
    name: str,
    files: AnswerFiles,
    adapters: Collection[str] = (),
) -> CheckResult:
    """Run the criterion of a property mutant on that fault, wrapped around a right answer.

    Args:
        files: files of the answer; the first entry defines the functions of the contract.
        adapters: files among them that belong to the harness.
    """
    with scratch.folder() as folder:
        shutil.copytree(files.folder, folder, dirs_exist_ok=True)
        entry = folder / files.entries[0]
        entry.write_text(mutant.wrapped(entry.read_text(encoding="utf-8")), encoding="utf-8")
        with _build(code, dataclasses.replace(files, folder=folder)) as answer:
            return _check_kill_around(code, answer, seed, mutant, name, adapters)


def assess(
    code: ChallengeCode,
    answer: Answer,
    seed: int,
    only: str | None = None,
    share: float = 1.0,
    spared: Collection[str] = (),
) -> list[Evidence]:
    """Return the evidence of all probed criteria under the anchor rule, without diagnoses.

    Args:
        only: single criterion to assess.
        share: fraction of the drawn cases to run.
        spared: criteria to leave out.
    """
    probed = [c for c in code.challenge.criteria if c.probes and only in (None, c.id) and c.id not in spared]
    evidence = [probe_criterion(code, c, answer, seed_of(seed, c.id), explain=False, share=share) for c in probed]
    return apply_anchor(evidence, code.challenge.anchor, {c.id for c in probed})


def mutant_evidence(
    code: ChallengeCode, answer: Answer, seed: int, mutant: Mutant | PropertyMutant, adapters: Collection[str] = ()
) -> Evidence:
    """Return the evidence of the criterion that must notice a mutant.

    The first failed probe decides, but all probes of a property run, because one may leave a failure to another.
    """
    criterion, any_fails = code.challenge.criterion(mutant.criterion), isinstance(mutant, Mutant)
    return probe_criterion(
        code, criterion, answer, seed_of(seed, criterion.id), explain=False, until_failed=any_fails, adapters=adapters
    )


def list_crediting_criteria(code: ChallengeCode, answer: Answer, seed: int, *, loses_digits: bool = False) -> list[str]:
    """Return the probed criteria that credit a worthless answer, or break on it.

    The list is empty if the anchor fails, or if the answer only loses digits and a critical criterion caps its grade.
    """
    anchor = assess(code, answer, seed, code.challenge.anchor)
    if any(e.outcome is Outcome.FAILED for e in anchor):
        return []
    evidence = assess(code, answer, seed)
    critical = (e for e in evidence if e.severity is Severity.CRITICAL and e.outcome is Outcome.FAILED)
    if loses_digits and any(e.rests_on is None for e in critical):
        return []
    # a probe that breaks excuses the answer, which is as good as credit
    return [e.criterion for e in evidence if e.satisfied > 0 or e.outcome is Outcome.JUDGE_ERROR]


def _list_inapplicable_criteria(code: ChallengeCode, variant: Variant) -> frozenset[str]:
    optional = ((c.id, c.capability) for c in code.challenge.criteria if c.capability)
    return frozenset(id for id, name in optional if not offers(variant.capabilities, name)) | set(variant.unmet)


def _check_silent(
    code: ChallengeCode, answer: Answer, seed: int, kind: str, name: str, spared: frozenset[str]
) -> CheckResult:
    # an unsupported or skipped criterion is no objection, but the anchor must have run
    fine = (Outcome.PASSED, Outcome.PARTIAL, Outcome.UNSUPPORTED, Outcome.NOT_RUN)
    evidence = [_retry_if_not_run(code, answer, seed, e) for e in assess(code, answer, seed, spared=spared)]
    loud = [e for e in evidence if e.outcome is not Outcome.PASSED]
    worst = [e for e in loud if e.outcome not in fine or e.criterion == code.challenge.anchor]
    detail = "; ".join(f"{e.criterion}: {e.detail}" for e in worst)
    not_run = {e.criterion: e.detail for e in evidence if e.outcome is Outcome.NOT_RUN}
    return CheckResult(kind, name, "every criterion passes", not worst, detail=detail, not_run=not_run)


def _retry_if_not_run(code: ChallengeCode, answer: Answer, seed: int, evidence: Evidence) -> Evidence:
    """Return the evidence, or that of a second run: the machine may have been busy."""
    return evidence if evidence.outcome is not Outcome.NOT_RUN else assess(code, answer, seed, evidence.criterion)[0]


def _check_kill(
    code: ChallengeCode, answer: Answer, seed: int, mutant: Mutant | PropertyMutant, adapters: Collection[str] = ()
) -> CheckResult:
    if not any(c.id == mutant.criterion and c.probes for c in code.challenge.criteria):
        return CheckResult(
            "mutant", mutant.name, "killed", False, mutant.criterion, f"no probe feeds `{mutant.criterion}`"
        )
    evidence = mutant_evidence(code, answer, seed, mutant, adapters)
    if evidence.outcome is Outcome.NOT_RUN:  # as in `_retry_if_not_run`
        evidence = mutant_evidence(code, answer, seed, mutant, adapters)
    # a failed call is no evidence of a broken property
    killed = evidence.outcome is Outcome.FAILED and not (isinstance(mutant, PropertyMutant) and evidence.obstacle)
    detail = "" if killed else f"`{mutant.criterion}` is {evidence.outcome.value}{_describe_observations(evidence)}"
    return CheckResult("mutant", mutant.name, "killed", killed, mutant.criterion, detail)


def _check_kill_around(
    code: ChallengeCode, answer: Answer, seed: int, mutant: PropertyMutant, design: str, adapters: Collection[str] = ()
) -> CheckResult:
    killed = _check_kill(code, answer, seed, mutant, adapters)
    return dataclasses.replace(killed, kind="wrapped", name=f"{mutant.name} around {design}")


def _describe_observations(evidence: Evidence) -> str:
    draws = evidence.draws
    seen = [
        f"{name} = {figure:.3g}" if isinstance(figure, float) else f"{name} = {figure}"
        for name, figure in evidence.measured.items()
    ]
    seen += [f"{draws.failed} of {draws.tried} drawn cases failed"] if draws else []
    seen += [evidence.detail] if evidence.detail else []
    return f" ({'; '.join(seen)})" if seen else ": no case of its probes failed"


def _check_null(code: ChallengeCode, answer: Answer, seed: int, kind: str) -> CheckResult:
    """Check that the anchor fails a right answer for its worthless results, not for a call."""
    answer.fresh()
    null = TamperedAnswer(answer, NullValues(kind))
    (anchor,) = assess(code, null, seed, code.challenge.anchor)
    if anchor.outcome is not Outcome.FAILED:
        return _check_worthless(code, null, seed, "null", kind)
    called = anchor.obstacle is not Obstacle.CALL
    detail = "" if called else f"`{anchor.criterion}` fails for a call, not for its results: {anchor.detail}"
    return CheckResult("null", kind, "no credit", called, detail=detail)


def _check_tampering(code: ChallengeCode, answer: Answer, seed: int, name: str, tampering: Tampering) -> CheckResult:
    answer.fresh()
    tampered = TamperedAnswer(answer, tampering)
    verdict = _check_worthless(code, tampered, seed, "tampered", name, loses_digits=tampering.loses_digits)
    if tampering.applied:
        return verdict
    return dataclasses.replace(verdict, right=True, detail="it changes nothing that a call carries", applies=False)


def _check_worthless(
    code: ChallengeCode, answer: Answer, seed: int, kind: str, name: str, *, loses_digits: bool = False
) -> CheckResult:
    earned = list_crediting_criteria(code, answer, seed, loses_digits=loses_digits)
    detail = f"credited or excused by {', '.join(earned)}" if earned else ""
    return CheckResult(kind, name, "no credit", not earned, detail=detail)
