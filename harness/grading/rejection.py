"""Records of folders that cannot be graded at all."""

import hashlib
from pathlib import Path

from harness.errors import HarnessError, SpecError
from harness.grading.options import Options
from harness.grading.submission_grade import make_unrun_evidence, now
from harness.model import (
    UNBUILT,
    About,
    BuildFailure,
    Challenge,
    Criterion,
    Evidence,
    Limits,
    Outcome,
    Provenance,
    Record,
    Score,
    Status,
)
from harness.sandbox.session.tiers import choose
from harness.scoring import score
from harness.store.content_key import environment
from harness.workspace import Workspace

UNKNOWN = "unknown"
"""Challenge or model of a folder that does not state it."""


def record_rejection(
    workspace: Workspace, folder: Path, error: HarnessError, options: Options, challenge: str | None = None
) -> Record:
    """Return the record of a refused folder.

    A fault of its files (a link, too many bytes, no entry) counts as a failed build with a reward of 0. Other faults
    are judge errors without a reward.
    """
    about = _read_about(workspace, folder)
    rubric = _find_rubric(workspace, challenge or (about.challenge if about else None))
    own_fault = (
        isinstance(error, SpecError) and folder.is_dir() and rubric is not None
        and not _is_of_challenge(workspace, rubric.id, error.path)
    )  # fmt: skip
    text, unbuilt = str(error), "the submission cannot be read"
    common = {
        "model": about.model if about else UNKNOWN,
        "provenance": about.provenance if about else Provenance.MODEL_OUTPUT,
        "ranked": False, "made": now(), "seconds": {}, "seed": options.seed or 0,
        "profile": options.profile, "only": options.only,
        "key": hashlib.sha256(f"{folder}: {text}".encode(errors="replace")).hexdigest(),
        "environment": environment(choose()),
    }  # fmt: skip
    if rubric is None:
        nothing = Score(score=None, low=0, high=100, coverage=0)
        return Record(
            challenge=challenge or UNKNOWN, status=Status.JUDGE_ERROR, error=text, limits=Limits(), overall=nothing,
            dimensions={}, gates=(), evidence=(), **common,
        )  # fmt: skip
    evidence = [_make_unread(c, unbuilt) if own_fault else make_unrun_evidence(c, text) for c in rubric.criteria]
    scored = score(rubric, evidence, built=not own_fault)
    return Record(
        challenge=rubric.id, limits=rubric.limits, evidence=tuple(evidence), overall=scored.overall,
        dimensions=scored.dimensions, gates=scored.gates, reward=0.0 if own_fault else None,
        status=Status.BUILD_FAILED if own_fault else Status.JUDGE_ERROR, error=None if own_fault else text,
        build=BuildFailure(stage="files", text=text) if own_fault else None, **common,
    )  # fmt: skip


def _read_about(workspace: Workspace, folder: Path) -> About | None:
    try:
        return workspace.submission(folder).about
    except HarnessError:
        return None


def _find_rubric(workspace: Workspace, challenge: str | None) -> Challenge | None:
    try:
        return workspace.challenge(challenge) if challenge else None
    except HarnessError:
        return None


def _is_of_challenge(workspace: Workspace, challenge: str, path: Path) -> bool:
    return any(path.is_relative_to(place) for place in workspace.folders_of_challenge(challenge).values())


def _make_unread(criterion: Criterion, why: str) -> Evidence:
    if criterion.review:
        return Evidence.await_review(criterion)
    return Evidence.of(criterion, Outcome.FAILED, detail=why, rests_on=UNBUILT)
