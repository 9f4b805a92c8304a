"""A challenge and records made by hand, realistic enough to read a report by."""

from collections.abc import Mapping
from typing import Any

from harness.model import (
    UNBUILT,
    BuildFailure,
    Challenge,
    Counterexample,
    Criterion,
    Diagnosis,
    Dimension,
    Environment,
    Evidence,
    Limits,
    Outcome,
    Provenance,
    Record,
    Severity,
    Status,
)
from harness.scoring import score

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR

CRITERIA = (
    Criterion(id="first_token", dimension="correctness", severity=CRITICAL, probes=("first_token",),
              title="The first token attends to itself alone: its output is its own value row."),
    Criterion(id="causality", dimension="correctness", severity=CRITICAL, probes=("causality",),
              title="No position of a prefill sees a later one."),
    Criterion(id="prefill_then_decode", dimension="correctness", severity=CRITICAL, probes=("prefill_then_decode",),
              title="Prefill and decode agree with attention computed anew."),
    Criterion(id="softmax_laws", dimension="correctness", severity=MAJOR, probes=("softmax_laws",),
              title="The weights obey the laws of softmax."),
    Criterion(id="shapes", dimension="completeness", severity=MAJOR, probes=("shapes",),
              title="Every shape of the contract works, sizes of 1 included."),
    Criterion(id="gqa", dimension="completeness", severity=MINOR, probes=("gqa",), capability="gqa",
              title="Grouped queries read their own key and value heads."),
    Criterion(id="largest_file", dimension="code_quality", severity=MAJOR, metric="largest_file",
              title="No file is too long to read."),
    Criterion(id="lint", dimension="code_quality", severity=MAJOR, metric="lint",
              title="The source has no likely faults."),
    Criterion(id="readability", dimension="code_quality", severity=MAJOR, review="Are names and comments true?",
              title="Names and comments tell the truth."),
    Criterion(id="gpu_plan", dimension="gpu_mapping", severity=MAJOR, review="Does the plan name its limits?",
              title="The mapping to a GPU is sound."),
    Criterion(id="kill_rate", dimension="tests_demos", severity=MAJOR, tests="kill_rate",
              title="The answer's own tests notice planted faults."),
)  # fmt: skip

CHALLENGE = Challenge(
    id="kv_cache",
    title="KV cache",
    summary="Attention for autoregressive decoding that stores keys and values instead of computing them again.",
    anchor="first_token",
    contract={"functions": ("create_cache", "prefill", "decode", "release")},
    dimensions=(
        Dimension(id="correctness", title="Correctness", weight=3),
        Dimension(id="completeness", title="Completeness", weight=1),
        Dimension(id="code_quality", title="Code quality", weight=1),
        Dimension(id="gpu_mapping", title="GPU mapping", weight=0.5),
        Dimension(id="tests_demos", title="Tests and demos", weight=1),
    ),
    criteria=CRITERIA,
)

PASSED: dict[str, Any] = {"outcome": Outcome.PASSED}
NEEDS_REVIEW: dict[str, Any] = {"outcome": Outcome.NOT_RUN, "detail": "needs a review"}
NOT_OFFERED: dict[str, Any] = {"outcome": Outcome.NOT_OFFERED, "detail": "the submission does not claim this feature"}

RIGHT: dict[str, dict[str, Any]] = {
    "first_token": PASSED | {"measured": {"error_ratio": 0.0}},
    "causality": PASSED | {"measured": {"difference": 0.0}},
    "prefill_then_decode": PASSED | {"measured": {"error_ratio": 1.19}},
    "softmax_laws": PASSED | {"measured": {"error_ratio": 2.5}},
    "shapes": PASSED,
    "gqa": PASSED | {"measured": {"error_ratio": 1.4}},
    "largest_file": PASSED | {"measured": {"code_lines": 212}},
    "lint": PASSED | {"measured": {"faults_per_100_lines": 0.0}},
    "readability": NEEDS_REVIEW,
    "gpu_plan": NEEDS_REVIEW,
    "kill_rate": {"outcome": Outcome.PARTIAL, "fraction": 0.85, "measured": {"kill_rate": 0.85, "mutants": 20},
                  "detail": "17 of 20 mutants noticed"},
}  # fmt: skip

FUTURE: dict[str, Any] = {
    "outcome": Outcome.FAILED,
    "title": "looks into the future",
    "detail": "out[0, 0, 0, 1] is 0.518 instead of 0.25: changed the last token",
    "measured": {"difference": 1.07},
    "counterexample": Counterexample(
        probe="causality", case={"B": 1, "H": 1, "S": 2, "D": 1}, where="out[0, 0, 0, 1]", expected=0.25, got=0.518
    ),
    "diagnosis": Diagnosis(
        words="agrees with `mask forgotten` to 1e-12 on the same inputs: every position sees all",
        established="agreement",
        mutant="mask forgotten",
    ),
}
NON_CAUSAL = RIGHT | {
    "causality": FUTURE,
    "gqa": NOT_OFFERED,
    "kill_rate": {"outcome": Outcome.FAILED, "detail": "no mutant noticed", "measured": {"kill_rate": 0.0}},
}


def evidence(outcomes: Mapping[str, Mapping[str, Any]], criteria: tuple[Criterion, ...] = CRITERIA) -> list[Evidence]:
    return [
        Evidence.of(
            c, seed=7 if c.probes and outcomes[c.id] != NOT_OFFERED else None, **outcomes[c.id],
        )
        for c in criteria
    ]  # fmt: skip


def record(
    model: str = "glm-5",
    outcomes: Mapping[str, Mapping[str, Any]] = NON_CAUSAL,
    *,
    challenge: Challenge = CHALLENGE,
    built: bool = True,
    environment: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Record:
    """The record of one grade, scored by the harness's own rules."""
    seen = evidence(outcomes, challenge.criteria)
    scored = score(challenge, seen, built=built)
    where = {
        "tier": "B", "device": "cpu", "cpu": "some processor", "platform": "Linux x86_64", "python": "3.11.9",
        "packages": {"numpy": "2.4.6", "ruff": "0.17.5"}, "harness": "0.1.0",
    }  # fmt: skip
    fields: dict[str, Any] = {
        "model": model,
        "challenge": challenge.id,
        "provenance": Provenance.RECONSTRUCTION,
        "status": Status.GRADED if built else Status.BUILD_FAILED,
        "key": "0f" * 16,
        "seed": 20_260_422,
        "ranked": True,
        "made": "2026-11-20T12:00:00Z",
        "seconds": {"build": 0.2, "probe": 1.1},
        "environment": Environment(**where | (environment or {})),
        "limits": Limits(),
        "overall": scored.overall,
        "dimensions": scored.dimensions,
        "gates": scored.gates,
        "evidence": tuple(seen),
    }
    return Record.model_validate(fields | changes)


def changed(record: Record, criterion: str, **fields: Any) -> Record:
    """The record with fields of one criterion's evidence replaced, unchecked."""
    return record.model_copy(update={
        "evidence": tuple(e.model_copy(update=fields) if e.criterion == criterion else e for e in record.evidence)
    })  # fmt: skip


def cause(words: str) -> Diagnosis:
    """A diagnosis in these words."""
    return Diagnosis(words=words, established="observation")


def baseline(**changes: Any) -> Record:
    return record("baseline", RIGHT, provenance=Provenance.BASELINE, **changes)


def unbuilt(words: str = "SyntaxError: invalid syntax (answer.py, line 3)", **changes: Any) -> Record:
    """A submission that does not import: every criterion fails with the interpreter's words."""
    unmet = {"outcome": Outcome.FAILED, "detail": "the submission does not build", "rests_on": UNBUILT}
    lost = {c.id: unmet for c in CRITERIA if not c.review}
    reviewed = {c.id: NEEDS_REVIEW for c in CRITERIA if c.review}
    return record("broken", lost | reviewed, built=False, build=BuildFailure(stage="import", text=words), **changes)
