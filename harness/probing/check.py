"""`harness check`: probes against what must pass and what must not."""

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
from harness.model.submission import offers
from harness.probing.answers import Answer, SandboxedAnswer
from harness.probing.charging import anchored
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion, seed_of
from harness.probing.device import GpuAnswer
from harness.probing.mutants import Mutant, PropertyMutant, Variant
from harness.probing.null_answer import NullAnswer, NullValues
from harness.probing.opening import opened
from harness.probing.tampering import TAMPERINGS, TamperedAnswer, Tampering
from harness.sandbox import scratch


@dataclass(frozen=True)
class CheckResult:
    """How the probes treated one answer that the challenge supplies.

    Attributes:
        kind: reference, variant, mutant, wrapped, null or tampered.
        name: which.
        expected: what should have happened, in words.
        right: whether it did.
        criterion: which one must notice a mutant; empty for other kinds.
        detail: what happened otherwise, or why it does not apply.
        applies: False where the calls carry nothing that it could take away; nothing was shown then.
        not_run: why, by criterion that came out `not_run` twice; nothing was shown for it.
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
    """Run the probes of a challenge against its reference, variants, mutants, null and tampered answers.

    Args:
        code: the challenge's code.
        seed: of the run.
        progress: called with the name of what comes next.
    """
    for variant in (None, *code.variants):
        progress(variant.name if variant else "reference")
        yield check_right_answer(code, seed, variant)
    for mutant in code.mutants:
        progress(mutant.name)
        with sandboxed(code, code.source(mutant)) as answer:
            yield _killed(code, answer, seed, mutant)
    for around in code.property_mutants:
        for design in code.designs(around.criterion):
            name = design.name if design else "reference"
            progress(f"{around.name} around {name}")
            with sandboxed(code, around.wrapped(code.source(design))) as answer:
                yield _killed_around(code, answer, seed, around, name)
    with sandboxed(code, code.source()) as answer:
        for kind in NullAnswer.KINDS:
            progress(kind)
            yield _null(code, answer, seed, kind)
        for name, tampering in TAMPERINGS.items():
            progress(name)
            yield _tampered(code, answer, seed, name, tampering())


def check_right_answer(
    code: ChallengeCode, seed: int, variant: Variant | None = None, races: bool = True
) -> CheckResult:
    """Run the probes against a variant, or against the reference; those that time it against the reference if asked."""
    raced = (c.id for c in code.challenge.criteria if any(probe.races for probe in code.probes_of(c)))
    spared = frozenset(() if races else raced)
    with sandboxed(code, code.source(variant), variant.capabilities if variant else {}) as answer:
        if variant is None:
            return _silent(code, answer, seed, "reference", "reference", spared)
        return _silent(code, answer, seed, "variant", variant.name, spared | _unsupported(code, variant))


@contextmanager
def sandboxed(
    code: ChallengeCode, source: str, capabilities: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[SandboxedAnswer | GpuAnswer]:
    """A trusted answer in the sandbox, as a submission would be.

    Args:
        code: the challenge's code.
        source: of the answer.
        capabilities: what it claims.

    Raises:
        JudgeError: it does not build.
    """
    name = code.language.entry
    with scratch.folder() as folder:
        (folder / name).write_text(source, encoding="utf-8")
        with _built(code, AnswerFiles(folder, (name,), capabilities)) as answer:
            yield answer


@contextmanager
def _built(code: ChallengeCode, files: AnswerFiles) -> Iterator[SandboxedAnswer | GpuAnswer]:
    with opened(code.challenge, files) as opening:
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
    """Run the criterion of a property mutant on that fault around an answer that meets it.

    Args:
        code: the challenge's code.
        seed: of the run.
        mutant: the fault.
        name: of the answer.
        files: of the answer; the first entry defines the functions of the contract.
        adapters: files of the harness's own among them.
    """
    with scratch.folder() as folder:
        shutil.copytree(files.folder, folder, dirs_exist_ok=True)
        entry = folder / files.entries[0]
        entry.write_text(mutant.wrapped(entry.read_text(encoding="utf-8")), encoding="utf-8")
        with _built(code, dataclasses.replace(files, folder=folder)) as answer:
            return _killed_around(code, answer, seed, mutant, name, adapters)


def assess(
    code: ChallengeCode, answer: Answer, seed: int, only: str | None = None, share: float = 1.0,
    spared: Collection[str] = (),
) -> list[Evidence]:  # fmt: skip
    """Evidence of all probed criteria, or of one, with the anchor rule applied and nothing explained.

    Args:
        code: the challenge's code.
        answer: to assess.
        seed: of the run.
        only: the criterion.
        share: of the drawn cases that are run.
        spared: criteria that are left out.
    """
    probed = [c for c in code.challenge.criteria if c.probes and only in (None, c.id) and c.id not in spared]
    evidence = [probe_criterion(code, c, answer, seed_of(seed, c.id), explain=False, share=share) for c in probed]
    return anchored(evidence, code.challenge.anchor, {c.id for c in probed})


def mutant_evidence(
    code: ChallengeCode, answer: Answer, seed: int, mutant: Mutant | PropertyMutant, adapters: Collection[str] = ()
) -> Evidence:
    """Return the evidence of the criterion that a mutant must fail; the first probe that fails settles it.

    All probes of a property run: one may leave to another what that one sees.
    """
    criterion, any_fails = code.challenge.criterion(mutant.criterion), isinstance(mutant, Mutant)
    return probe_criterion(
        code, criterion, answer, seed_of(seed, criterion.id), explain=False, until_failed=any_fails, adapters=adapters
    )


def credited(code: ChallengeCode, answer: Answer, seed: int, *, loses_digits: bool = False) -> list[str]:
    """Return the probed criteria that pay an answer, or break on it.

    Where the anchor fails none is left to be asked. Nor does one count where digits are all that an answer loses and a
    critical criterion fails for it, which holds down whatever the others pay.
    """
    anchor = assess(code, answer, seed, code.challenge.anchor)
    if any(e.outcome is Outcome.FAILED for e in anchor):
        return []
    evidence = assess(code, answer, seed)
    critical = (e for e in evidence if e.severity is Severity.CRITICAL and e.outcome is Outcome.FAILED)
    if loses_digits and any(e.rests_on is None for e in critical):
        return []
    # a probe that breaks on an answer's numbers would excuse it: as good as credit
    return [e.criterion for e in evidence if e.satisfied > 0 or e.outcome is Outcome.JUDGE_ERROR]


def _unsupported(code: ChallengeCode, variant: Variant) -> frozenset[str]:
    """Criteria of capabilities that a variant does not claim, and those of cost that it does not meet."""
    optional = ((c.id, c.capability) for c in code.challenge.criteria if c.capability)
    return frozenset(id for id, name in optional if not offers(variant.capabilities, name)) | set(variant.unmet)


def _silent(
    code: ChallengeCode, answer: Answer, seed: int, kind: str, name: str, spared: frozenset[str]
) -> CheckResult:
    # what this device or run cannot tell says nothing, but one that cannot run the answer at all has shown nothing
    fine = (Outcome.PASSED, Outcome.PARTIAL, Outcome.UNSUPPORTED, Outcome.NOT_RUN)
    evidence = [_measured(code, answer, seed, e) for e in assess(code, answer, seed, spared=spared)]
    loud = [e for e in evidence if e.outcome is not Outcome.PASSED]
    worst = [e for e in loud if e.outcome not in fine or e.criterion == code.challenge.anchor]
    detail = "; ".join(f"{e.criterion}: {e.detail}" for e in worst)
    not_run = {e.criterion: e.detail for e in evidence if e.outcome is Outcome.NOT_RUN}
    return CheckResult(kind, name, "every criterion passes", not worst, detail=detail, not_run=not_run)


def _measured(code: ChallengeCode, answer: Answer, seed: int, evidence: Evidence) -> Evidence:
    """The evidence, or that of a second run where the first was not run: the machine may have been busy."""
    return evidence if evidence.outcome is not Outcome.NOT_RUN else assess(code, answer, seed, evidence.criterion)[0]


def _killed(
    code: ChallengeCode, answer: Answer, seed: int, mutant: Mutant | PropertyMutant, adapters: Collection[str] = ()
) -> CheckResult:
    if not any(c.id == mutant.criterion and c.probes for c in code.challenge.criteria):
        return CheckResult(
            "mutant", mutant.name, "killed", False, mutant.criterion, f"no probe feeds `{mutant.criterion}`"
        )
    evidence = mutant_evidence(code, answer, seed, mutant, adapters)
    if evidence.outcome is Outcome.NOT_RUN:  # as in `_measured`
        evidence = mutant_evidence(code, answer, seed, mutant, adapters)
    # a call that fails says nothing of a property
    killed = evidence.outcome is Outcome.FAILED and not (isinstance(mutant, PropertyMutant) and evidence.obstacle)
    detail = "" if killed else f"`{mutant.criterion}` is {evidence.outcome.value}{_seen(evidence)}"
    return CheckResult("mutant", mutant.name, "killed", killed, mutant.criterion, detail)


def _killed_around(
    code: ChallengeCode, answer: Answer, seed: int, mutant: PropertyMutant, design: str, adapters: Collection[str] = ()
) -> CheckResult:
    killed = _killed(code, answer, seed, mutant, adapters)
    return dataclasses.replace(killed, kind="wrapped", name=f"{mutant.name} around {design}")


def _seen(evidence: Evidence) -> str:
    """What the probes saw where no case failed: their figures, how many cases were drawn, why one was not run."""
    draws = evidence.draws
    seen = [f"{name} = {figure:.3g}" if isinstance(figure, float) else f"{name} = {figure}"
            for name, figure in evidence.measured.items()]  # fmt: skip
    seen += [f"{draws.failed} of {draws.tried} drawn cases failed"] if draws else []
    seen += [evidence.detail] if evidence.detail else []
    return f" ({'; '.join(seen)})" if seen else ": no case of its probes failed"


def _null(code: ChallengeCode, answer: Answer, seed: int, kind: str) -> CheckResult:
    """Say whether the anchor fails a right answer whose results become worthless, and by the results: no call fails."""
    answer.fresh()
    null = TamperedAnswer(answer, NullValues(kind))
    (anchor,) = assess(code, null, seed, code.challenge.anchor)
    if anchor.outcome is not Outcome.FAILED:
        return _worthless(code, null, seed, "null", kind)
    called = anchor.obstacle is not Obstacle.CALL
    detail = "" if called else f"`{anchor.criterion}` fails for a call, not for its results: {anchor.detail}"
    return CheckResult("null", kind, "no credit", called, detail=detail)


def _tampered(code: ChallengeCode, answer: Answer, seed: int, name: str, tampering: Tampering) -> CheckResult:
    answer.fresh()
    tampered = TamperedAnswer(answer, tampering)
    verdict = _worthless(code, tampered, seed, "tampered", name, loses_digits=tampering.loses_digits)
    if tampering.applied:
        return verdict
    return dataclasses.replace(verdict, right=True, detail="it changes nothing that a call carries", applies=False)


def _worthless(
    code: ChallengeCode, answer: Answer, seed: int, kind: str, name: str, *, loses_digits: bool = False
) -> CheckResult:
    earned = credited(code, answer, seed, loses_digits=loses_digits)
    detail = f"credited or excused by {', '.join(earned)}" if earned else ""
    return CheckResult(kind, name, "no credit", not earned, detail=detail)
